"""All words about pay, in one place, so that another language is another file like this one.

Readers work in human resources: pay, category, women and men; no words of statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likeforlike.payroll._results import PayCategory, PayDocument, PayGap, PayRequest

NOTES = {
    "one sex": "there are only women, or only men",
    "no pay": "the figure of men is 0, so that there is no percentage of it",
    "few": "fewer than 8 women or 8 men: too few to say how far chance could move it",
    "nothing": "too many receive nothing to say how far chance could move it",
    "same": "nearly all are paid the same, so that nothing can be said about chance",
    "one person": "rests on the pay of one person more than on all others; the median is safer",
    "hidden": "not shown: about too few people",
}
"""Why a figure is missing, or what to know about it."""

ARTICLES = {
    ("total", "mean"): "9(1)(a)",
    ("variable", "mean"): "9(1)(b)",
    ("total", "median"): "9(1)(c)",
    ("variable", "median"): "9(1)(d)",
}
RECEIVING, BANDS, CATEGORY = "9(1)(e)", "9(1)(f)", "9(1)(g)"
PARTS = {"total": "total pay", "base": "base pay", "variable": "variable pay"}
AVERAGES = {"mean": "average", "median": "median"}
QUARTERS = ("lowest-paid quarter", "second quarter", "third quarter", "highest-paid quarter")
FIFTHS = ("lowest-paid fifth", "second fifth", "middle fifth", "fourth fifth", "highest-paid fifth")
OTHER, NONE = "other", "–"
LEGAL = (
    "Figures follow Directive (EU) 2023/970, Articles 9 and 10, as commonly read; each "
    "country may ask for others. This page is arithmetic and gives no legal advice."
)


def percent(value: float | None, places: int = 1) -> str:
    """Write a percentage with its sign, or a dash."""
    if value is None:
        return NONE
    text = f"{value:,.{places}f}%"
    bare = text.lstrip("-")
    return f"−{bare}" if text != bare and bare.strip("0.%") else bare


def trigger(request: PayRequest) -> str:
    """Write the trigger as it was given."""
    return f"{request.trigger:g}%"


def money(value: float | None, currency: str = "") -> str:
    """Write money without fractions from 1,000 on, with its currency."""
    if value is None:
        return NONE
    return f"{value:,.{0 if abs(value) >= 1000.0 or value == 0.0 else 2}f} {currency}".strip()


def between(gap: PayGap) -> str:
    """Write the range of a gap."""
    return NONE if gap.interval is None else " to ".join(percent(end) for end in gap.interval)


def name_gap(gap: PayGap) -> str:
    """Name a gap: average total pay per year."""
    of = " of those who receive it" if gap.receivers else ""
    return f"{AVERAGES[gap.average].capitalize()} {PARTS[gap.part]} per {gap.per}{of}"


def article(gap: PayGap) -> str:
    """Find the letter of Article 9(1) that asks for a gap; none asks for those who receive it."""
    return "" if gap.receivers else ARTICLES.get((gap.part, gap.average), "")


def standing(category: PayCategory) -> str:
    """Say whether a category reaches the trigger, and whether chance explains it."""
    words = {
        "beyond chance": "at or above, more than chance",
        "within chance": "at or above, could be chance",
        "below the trigger": "below",
        "not compared": "too few to tell",
    }
    return words[category.standing]


def chance(p_value: float | None) -> str:
    """Write how often chance alone gives a difference as large."""
    if p_value is None:
        return NONE
    if p_value >= 0.095:
        return f"{round(10.0 * p_value):d} in 10"
    times = 100 if p_value >= 0.0095 else 1000
    return (
        f"{round(times * p_value):d} in {times:,}"
        if times * p_value >= 0.95
        else "below 1 in 1,000"
    )


def headline(document: PayDocument) -> str:
    """Say the gap in one sentence."""
    gap, within = _main(document), document.within
    if gap.percent is None:
        return "The pay of women and men cannot be compared as a percentage."
    if abs(gap.percent) < 0.05:
        return f"Women and men are paid the same per {gap.per} on average."
    less = "less" if gap.percent >= 0.0 else "more"
    first = f"Women are paid {percent(abs(gap.percent))} {less} per {gap.per} than men"
    if within is None:
        return f"{first}."
    if within * gap.percent < 0.0:
        return f"{first}; within the same category it is the other way round."
    return f"{first}; within the same category the difference is {percent(abs(within))}."


def sentences(document: PayDocument) -> tuple[str, ...]:
    """Say what was found."""
    request, gap = document.request, _main(document)
    said = []
    if gap.interval is not None:
        certain = f"{100.0 * request.confidence:.4g} of 100"
        said.append(
            f"Had other people been hired on the same terms, chance alone could have moved this "
            f"figure: a range that is right in about {certain} such cases goes from "
            f"{between(gap)}."
        )
    if document.categories or document.unlisted_categories:
        said.append(_trigger_sentence(document))
    if document.within is not None and document.between is not None:
        said.append(
            f"{percent(document.within)} of men's average pay is a difference between women and "
            f"men of the same category, and {percent(document.between)} comes from women and men "
            "being in different categories."
        )
    if document.raised:
        said.append(
            f"To bring every category that is shown to at most {trigger(request)} by "
            f"raises alone takes at least {money(document.cost, request.currency)} per year."
        )
    return tuple(said)


def _trigger_sentence(document: PayDocument) -> str:
    reached = [c for c in document.categories if c.standing in ("beyond chance", "within chance")]
    beyond = [c for c in reached if c.standing == "beyond chance"]
    few = sum(c.standing == "not compared" for c in document.categories)
    few += document.unlisted_categories
    text = (
        f"{len(reached)} of {len(document.categories)} categories shown have a gap of "
        f"{trigger(document.request)} or more"
    )
    if reached:
        text += f"; in {len(beyond)} of them it is more than chance would explain"
    return (
        f"{text}. {few} could not be compared because they have too few women or men."
        if few
        else f"{text}."
    )


def cautions(document: PayDocument) -> tuple[str, ...]:
    """Say what to keep in mind."""
    request, staff = document.request, document.staff
    said = []
    if request.hours is None:
        said.append(
            "No hours were given, so that part-time and full-time work are compared by the year: "
            "name the column of hours to compare pay per hour."
        )
    if _main(document).note == NOTES["one person"]:
        said.append(f"Average pay {_main(document).note}.")
    if request.suppress_below is not None:
        said.append(
            f"Nothing is shown about fewer than {request.suppress_below} people, and figures are "
            "rounded so that no one's pay follows from two editions of this page. For the exact "
            "figures, for your own eyes and for the authority, show everything."
        )
    else:
        said.append("Figures are exact and may tell what single people earn: do not pass them on.")
    lost = [
        (staff.unknown, "have no gender in the file and are in none of the comparisons"),
        (staff.unpaid, "have no pay and were left out"),
        (staff.no_category, "have no category and are compared over all staff only"),
        (staff.no_hours, "have no hours and are not in pay per hour"),
        (staff.no_variable, "have an empty variable pay, which was read as none"),
    ]
    said += [f"{number:,} people {what}." for number, what in lost if number]
    said.append(
        "A category should hold work of equal value. That a gap is more than chance does not say "
        "why it is there; objective reasons may explain it, and have to be named (Article 10)."
    )
    return tuple(said)


def _main(document: PayDocument) -> PayGap:
    per = "hour" if document.request.hours else "year"
    return next(g for g in document.gaps if (g.part, g.per, g.average) == ("total", per, "mean"))
