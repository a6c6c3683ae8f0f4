"""The finding in plain language, from the figures of an audit and nothing else.

It says what was measured, on how many people, with what certainty, and what could not be
compared. It never says "fair".
"""

from __future__ import annotations

from likeforlike._text import figure, null_words, p_text
from likeforlike.auditing._smooth_findings import (
    coarser_words,
    listed,
    smooth_cautions,
    smooth_sentences,
)
from likeforlike.document._names import OTHER_LEVELS, amount, mean_name, score_words
from likeforlike.document._request import Roles
from likeforlike.document._results import (
    AuditDocument,
    ContrastAudit,
    DataSummary,
    EstimateResult,
    Finding,
    GapResult,
    LossTest,
    LostRows,
    ParityTest,
)

# A p-value up to this is called evidence.
_ENOUGH = 0.05
# Levels with fewer rows of a group than this may show what single people score.
_FEW_PEOPLE = 10
# A column of numbers with more different values than this is probably meant to be cut into bins.
_MANY_VALUES = 50

_COMPONENTS = {
    "gap": "the means",
    "ranks": "the ranks of the scores",
    "spread": "how widely the scores are spread",
    "distance": "the distances inside the levels",
    "level": "single levels",
}


def finding(document: AuditDocument) -> Finding:
    """Headline, sentences and cautions about an audit: one finding over all its contrasts."""
    contrast = document.contrasts[0]
    return Finding(
        headline=_headline(document),
        sentences=tuple(_sentences(document, contrast)),
        cautions=(
            *_who_was_not_compared(document, contrast),
            *_what_intervals_cannot_say(contrast),
            *_how_it_was_made(document),
            *_who_might_be_seen(document),
            *smooth_cautions(document, contrast),
        ),
    )


def _equals(document: AuditDocument) -> str:
    """Who is compared: equals, or those of them who could be, where these are few."""
    roles, coverage = document.roles, document.contrasts[0].coverage
    if not roles.legitimate:
        return "Overall"
    equal, least = f"people with equal {listed(roles.legitimate)}", min(coverage.values())
    if least >= document.settings.min_coverage:
        return f"Among {equal}"
    return f"Among the {100.0 * least:.2g}% who could be compared with {equal}"


def is_evidence(contrast: ContrastAudit) -> bool:
    """Whether the test or the interval of a contrast speaks against equal treatment.

    A gate that fails looks at the lower end of the interval, so the finding does too: the two never
    contradict each other.
    """
    if contrast.p_value is None:
        return False
    estimate = contrast.estimate
    low = None if estimate is None else estimate.interval[0]
    return contrast.p_value <= _ENOUGH or (low is not None and low > 0.0)


def _headline(document: AuditDocument) -> str:
    roles, contrasts = document.roles, document.contrasts
    first, second = contrasts[0].groups
    where, score, decided = _equals(document), roles.score, document.data.kind == "decision"
    what = f"rate of {score}" if decided else f"distribution of {score}"
    if contrasts[0].p_value is None:
        size = amount(document, contrasts[0].conditional.value)
        both = f"{'rates' if decided else 'distributions'} of {score} for {first} and {second}"
        return f"{where}, the {both} are {size} apart (not tested)."
    clear = [contrast for contrast in contrasts if is_evidence(contrast)]
    if clear:
        others = len(clear) - 1
        differ = "differs" if others == 1 else "differ"
        more = f"; {_counted(others, 'other pair')} of groups {differ}, too" if others else ""
        return f"{where}, {_difference(document, clear[0])}{more}."
    omnibus = document.omnibus
    if omnibus is not None and omnibus.p_value <= _ENOUGH:
        groups = f"among the {omnibus.groups} groups"
        return f"{where}, the {what} differs {groups}; no pair stands out."
    none = f"{where}, no difference in {f'the {what}' if decided else score}"
    if len(contrasts) > 1:
        return f"{none} was detected in any of {_counted(len(contrasts), 'pair')} of groups."
    return f"{none} between {first} and {second} was detected."


def _difference(document: AuditDocument, contrast: ContrastAudit) -> str:
    """By how much one group has less than another; where that is not clear, that they differ."""
    gap, (first, second) = contrast.gap, contrast.groups
    if gap.interval is None or gap.interval[0] <= 0.0 <= gap.interval[1]:
        what = "rate" if document.data.kind == "decision" else "distribution"
        return f"the {what} of {document.roles.score} differs between {first} and {second}"
    return f"the {mean_name(document)} is {_lower(document, contrast, gap.value, 2)}"


def _lower(document: AuditDocument, contrast: ContrastAudit, gap: float, digits: int = 3) -> str:
    """The size of a gap, and who is lower."""
    low, high = contrast.groups if gap > 0.0 else contrast.groups[::-1]
    return f"{amount(document, abs(gap), digits)} lower for {low} than for {high}"


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _sentences(document: AuditDocument, contrast: ContrastAudit) -> list[str]:
    test, distance = contrast.test, contrast.estimate
    sentences = [_gap_sentence(document, contrast, contrast.gap)]
    if distance is not None:
        sentences.append(_distance_sentence(document, distance))
    if test is not None:
        sentences.append(_evidence_sentence(document, contrast, test))
    if test is not None and test.detectable is not None:
        sentences.append(
            f"A shift of {amount(document, test.detectable, 2)} in every level would have been "
            "detected in 80% of samples like this one."
        )
    if contrast.smooth is not None:
        sentences += smooth_sentences(document, contrast, contrast.smooth)
    if document.roles.legitimate:
        sentences.append(_overall(document, contrast))
    return sentences


def _gap_sentence(document: AuditDocument, contrast: ContrastAudit, gap: GapResult) -> str:
    (first, second), rows = contrast.groups, contrast.rows
    sample = (
        f"from {rows[0]:,} rows of {first} and {rows[1]:,} of {second} in "
        f"{_counted_levels(contrast)}"
    )
    if figure(abs(gap.value)) == "0":
        said = f"The {mean_name(document)} of {first} and {second} is the same"
    else:
        said = f"The {mean_name(document)} is {_lower(document, contrast, gap.value)}"
    if gap.interval is None:
        return f"{said}, {sample}; the data give no interval for it."
    low, high = gap.interval
    if gap.value < 0.0:
        low, high = -high, -low
    ends = f"{amount(document, low, bare=True)} to {amount(document, high)}"
    return f"{said} ({100 * gap.confidence:.4g}% interval {ends}), {sample}."


def _counted_levels(contrast: ContrastAudit) -> str:
    names = [level.name for level in contrast.levels]
    alone = [name for name in names if name != OTHER_LEVELS]
    if not alone:
        return "levels that are not shown one by one"
    others = " and others" if len(alone) < len(names) else ""
    return f"{_counted(len(alone), 'level')}{others}"


def _distance_sentence(document: AuditDocument, distance: EstimateResult) -> str:
    low, high = distance.interval
    ends = f"{amount(document, low or 0.0)} or more, with no upper end"
    if high is not None:
        ends = f"{amount(document, low or 0.0, bare=True)} to {amount(document, high)}"
    within = f"{100 * distance.confidence:.4g}% interval"
    scores = score_words(document)
    if distance.value is None:
        return (
            f"How far apart the {scores} are, whatever the direction, cannot be estimated; the "
            f"{within} is {ends}."
        )
    return (
        f"Whatever the direction, the {scores} are {amount(document, distance.value)} apart "
        f"({within} {ends}); differences of opposite sign do not cancel here."
    )


def _evidence_sentence(document: AuditDocument, contrast: ContrastAudit, test: ParityTest) -> str:
    chance, p_value = test.null_distance, contrast.p_value
    observed = (
        ""
        if chance is None
        else f"The observed average distance is {amount(document, contrast.conditional.value)}; "
        f"chance alone would give about {amount(document, chance, 2)}. "
    )
    # Not every pair need be shown, but all were tested.
    several = contrast.gap.confidence > document.settings.confidence
    adjusted = ", adjusted for all pairs" if several else ""
    leading = _COMPONENTS.get(test.leading_component or "")
    evidence = is_evidence(contrast)
    because = f"; clearest in {leading}" if evidence and leading is not None else ""
    verb = "is" if evidence else "is not"
    known = f"{p_text(p_value or 0.0, test.permutations)}{adjusted}{because}"
    return f"{observed}The difference {verb} more than chance explains ({known})."


def _overall(document: AuditDocument, contrast: ContrastAudit) -> str:
    plain = _ignoring(document, contrast, contrast.unconditional.gap, "levels")
    if contrast.paradox == "none":
        return plain
    # A paradox is about those who are compared, who may be fewer.
    compared = contrast.compared_gap
    if compared is not None and figure(compared) != figure(contrast.unconditional.gap):
        inside = _ignoring(document, contrast, compared, "levels among those who are compared")
        plain = f"{plain} {inside}"
    does = "hides the difference" if contrast.paradox == "masked" else "points the wrong way"
    return f"{plain} A comparison that ignores levels {does} (Simpson's paradox)."


def _ignoring(document: AuditDocument, contrast: ContrastAudit, gap: float, what: str) -> str:
    decided = document.data.kind == "decision"
    if figure(abs(gap)) == "0":
        return f"Ignoring {what}, the {'rates' if decided else 'means'} do not differ."
    return f"Ignoring {what}, the {mean_name(document)} is {_lower(document, contrast, gap)}."


def _who_was_not_compared(document: AuditDocument, contrast: ContrastAudit) -> list[str]:
    cautions = [
        f"{listed(each.groups)} could not be compared: {each.reason} "
        f"({', '.join(f'{name}: {rows:,} rows' for name, rows in each.rows.items())})"
        for each in document.unexamined
    ]
    cautions += [
        f"{1 - share:.1%} of {group} could not be compared: they lack a value, or their levels "
        "lack the other group."
        for group, share in contrast.coverage.items()
        if share < 0.9995
    ]
    cautions += [
        f"{share:.1%} of {group} are in levels with fewer than "
        f"{document.settings.min_cell} rows of a group{_or_hidden(contrast)}; such levels "
        "say little on their own."
        for group, share in contrast.thin_share.items()
        if share > 0.0005
    ]
    return cautions + _lost_sentences(document.data, document.roles)


def _or_hidden(contrast: ContrastAudit) -> str:
    hidden = any(level.name == OTHER_LEVELS for level in contrast.levels)
    return ", or in levels that are shown together" if hidden else ""


def _lost_sentences(data: DataSummary, roles: Roles) -> list[str]:
    """Rows that lack a value. Several sensitive columns need not all be known."""
    several = roles.also_sensitive
    optional = [roles.sensitive, *several] if several else []
    unknown = [
        f"{part.lost:,} of {data.rows:,} rows have no known {part.columns[0]}, and are in "
        "no group of it."
        for part in data.lost
        if part.group is None and part.columns[0] in optional and len(part.columns) == 1
    ]
    dropped = data.rows - data.used
    if not dropped:
        return unknown
    lacking = ", ".join(
        f"{name}: {count:,}"
        for name, count in data.missing.items()
        if count and name not in optional
    )
    by_group = ", ".join(
        _lost_words(part)
        for part in data.lost
        if part.lost and len(part.columns) == 1 and not (several and part.group is None)
    )
    counted = f"{dropped:,} of {data.rows:,} rows were left out for missing values ({lacking})."
    words = [f"Read as missing values: {null_words(data.nulls)}."] if data.nulls else []
    uneven = [
        f"{_lost_shares(data, test)} ({p_text(test.p_value)}): those who are compared may "
        "not stand for the others."
        for test in data.loss_tests
        if test.p_value <= _ENOUGH and len(test.columns) == 1
    ]
    whole = f"{counted} By group: {by_group}." if by_group else counted
    return [whole, *uneven, *unknown, *words]


def _lost_shares(data: DataSummary, test: LossTest) -> str:
    """Who lost the largest and who the smallest share of rows."""
    shares = {
        part.group: part.lost / part.rows
        for part in data.lost
        if part.columns == test.columns and part.group is not None
    }
    most, least = max(shares, key=lambda g: shares[g]), min(shares, key=lambda g: shares[g])
    return (
        f"Missing values are not spread evenly: {most} lost {shares[most]:.1%} of their rows, "
        f"{least} {shares[least]:.1%}"
    )


def _lost_words(part: LostRows) -> str:
    if part.group is None:
        return f"{part.lost:,} of unknown group"
    return f"{part.lost:,} of {part.rows:,} {part.group}"


def _what_intervals_cannot_say(contrast: ContrastAudit) -> list[str]:
    distance = contrast.estimate
    reasons = [contrast.gap.reason, None if distance is None else distance.reason]
    return list(dict.fromkeys(reason for reason in reasons if reason is not None))


def _how_it_was_made(document: AuditDocument) -> list[str]:
    data = document.data
    cautions = [*data.notes] + [
        f"{column} has {values:,} different values, and only people with exactly the same "
        f"{column} are compared; {coarser_words(document, column)}."
        for column, values in data.values.items()
        if values > _MANY_VALUES
    ]
    cut = [*data.edges, *(c for c, part in data.calendar.items() if part != "day")]
    if cut:
        cautions.append(
            f"{listed(cut)} was cut into bins; people in one bin are not quite "
            "equal, and a test inside bins can mistake that for unequal treatment."
        )
    if data.resolution:
        cautions.append(
            f"Scores were rounded to bins of width {figure(data.resolution, 6)}; both ends of "
            "every interval of a distance allow for it."
        )
    if data.snapped:
        cautions.append(
            f"Scores that differ by less than {data.snapped_within:.0e} of their range were "
            f"taken as equal ({_counted(data.snapped, 'value')})."
        )
    return cautions


def _who_might_be_seen(document: AuditDocument) -> list[str]:
    """What was done for single people, or what should be before others read this."""
    limit = document.settings.suppress_below
    if limit is not None:
        done = (
            f"Nothing is shown about fewer than {limit} people: smaller levels are put together, "
            f"counts are rounded to multiples of {limit}, and averages to half their standard "
            "error."
        )
        return [done]
    small = any(
        rows < _FEW_PEOPLE
        for contrast in document.contrasts
        for counted in (*(level.rows for level in contrast.levels), *_alone(contrast))
        for rows in counted.values()
    )
    advice = (
        f"Some figures are about fewer than {_FEW_PEOPLE} people, and may tell what one of them "
        f"scores. Before others read this, hide them: suppress_below={_FEW_PEOPLE} "
        f"(--suppress-below {_FEW_PEOPLE})."
    )
    return [advice] if small else []


def _alone(contrast: ContrastAudit) -> list[dict[str, int]]:
    """Rows in levels that hold one group only; no rows are not few."""
    return [
        {group: rows for group, rows in counted.items() if rows}
        for counted in contrast.excluded.values()
    ]
