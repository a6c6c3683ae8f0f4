"""One call from a table of staff to the figures that employers report about pay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._settings import Engine, real
from likeforlike._text import values_hidden
from likeforlike.auditing import provenance
from likeforlike.document import Finding
from likeforlike.errors import InputError
from likeforlike.payroll import _words as words
from likeforlike.payroll._categories import (
    close_gap,
    compare_categories,
    fifth_gaps,
    split_gap,
)
from likeforlike.payroll._gaps import FEWEST, Ends, mean_gap, median_gap
from likeforlike.payroll._report import PayReport
from likeforlike.payroll._results import (
    HoursUnit,
    Part,
    PayBands,
    PayCategory,
    PayDocument,
    PayGap,
    PayRequest,
    Per,
    Standing,
)
from likeforlike.payroll._staff import read_staff
from likeforlike.payroll._suppression import suppress

if TYPE_CHECKING:
    import polars as pl

_EVIDENCE, _ONE_PERSON = 0.05, 0.5
# Of fifths within categories: women and men in each of them, and in all.
_FEW_IN_CATEGORY, _FEW_IN_ALL = 5, 50
Pays = tuple[FloatArray, FloatArray]


def pay(
    data: Any,  # noqa: ANN401
    *,
    base: str,
    sensitive: str,
    variable: str | None = None,
    category: str | None = None,
    hours: str | None = None,
    hours_unit: HoursUnit = "year",
    full_time: float | None = None,
    id: str | None = None,  # noqa: A002
    women: str | None = None,
    men: str | None = None,
    trigger: float | str = "5%",
    confidence: float = 0.95,
    permutations: int = 1999,
    suppress_below: int | None = 10,
    random_state: int = 0,
    currency: str = "EUR",
    engine: Engine = "auto",
    csv: Mapping[str, object] | None = None,
) -> PayReport:
    """Compute what employers report about the pay of women and men.

    All figures of Article 9(1)(a) to (g) of Directive (EU) 2023/970 as commonly read, and those of
    the British report: gaps of mean and median pay in percent of men's pay, positive where men are
    paid more; who receives variable pay; quarters by pay; and every category of workers. With each
    gap comes the range that chance alone gives it; categories at or above the trigger are tested
    for more than chance, which is adjusted for their number.

    Parameters
    ----------
    data : a table, or the path of a .xlsx, .csv or .parquet file, one row per contract.
    base, variable : columns of base pay and of variable pay per year.
    sensitive : column that says who is a woman and who is a man; other genders are counted.
    category : column of categories of workers, whose work is of equal value.
    hours, hours_unit, full_time : column of hours per `"year"`, `"month"` or `"week"`, or of shares
        of a full-time job (`"full-time"`), which has `full_time` hours per year.
    id : column that says which rows are contracts of the same person; they are added up.
    women, men : their values in `sensitive`, where these are no words for them.
    trigger : of Article 10, as `"5%"` or 0.05.
    confidence : of the ranges.
    permutations, random_state : of the test.
    suppress_below : nothing is shown about fewer people; `None` shows everything, to be filed or
        for your own eyes.
    currency : of the pay.
    engine, csv : how a file is read, as by `audit`.

    Returns
    -------
    The report: `print` it, or take `to_html()`, `to_json()`, `to_csv(path)`, `to_xlsx(path)` and
    `to_egapro(path)`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_staff
    >>> report = lfl.pay(
    ...     make_staff().frame, base="salary", variable="bonus", sensitive="sex",
    ...     category="grade", hours="hours",
    ... )
    >>> [(each.name, each.standing) for each in report.categories][:2]
    [('1 assistant', 'below the trigger'), ('2 clerk', 'below the trigger')]
    """
    request = PayRequest(
        base=base,
        variable=variable,
        sensitive=sensitive,
        category=category,
        hours=hours,
        id=id,
        hours_unit=hours_unit,
        full_time=full_time,
        women=None if women is None else str(women),
        men=None if men is None else str(men),
        trigger=_read_trigger(trigger),
        confidence=confidence,
        permutations=permutations,
        suppress_below=suppress_below,
        random_state=random_state,
        currency=currency,
    )
    _check(request)
    with values_hidden(hidden=suppress_below is not None):
        people, staff, notes = read_staff(data, request, engine=engine, csv=csv)
    made = provenance("")
    found = PayDocument("likeforlike.pay", 1, request, staff, made.versions, made.created)
    document = _examine(people, found)
    if suppress_below is not None:
        document = suppress(document, people, suppress_below)
    finding = Finding(
        words.headline(document),
        words.sentences(document),
        (*(each[:1].upper() + each[1:] for each in notes), *words.cautions(document)),
    )
    return PayReport(replace(document, finding=finding))


def _read_trigger(trigger: float | str) -> float:
    """Read a trigger as percent."""
    text = trigger.strip() if isinstance(trigger, str) else ""
    try:
        value = float(text[:-1]) if text.endswith("%") else 100.0 * real(trigger)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value < 100.0:
        raise InputError(f"trigger must be a percentage such as '5%', or 0.05, not {trigger!r}.")
    return value


def _check(request: PayRequest) -> None:
    if request.hours_unit not in get_args(HoursUnit):
        raise InputError(
            f"hours_unit must be one of {get_args(HoursUnit)}, not {request.hours_unit!r}."
        )
    if request.hours and request.hours_unit == "full-time" and not (request.full_time or 0.0) > 0.0:
        raise InputError(
            "hours_unit='full-time' needs full_time, the hours of a full-time year, such as 1820."
        )
    if not 0.5 <= request.confidence < 1.0:
        raise InputError(f"confidence must lie in [0.5, 1), not {request.confidence}.")
    limit = request.suppress_below
    if limit is not None and limit < 2:
        raise InputError(
            f"suppress_below must be a whole number from 2 on, or None to show all, not {limit!r}."
        )
    if request.permutations < 99:
        raise InputError(f"permutations must be 99 or more, not {request.permutations}.")


def take_pay(people: pl.DataFrame, part: Part, per: Per, sex: str) -> FloatArray:
    """Take the pay of one sex; per hour of those whose hours are known."""
    import polars as pl

    rows = people.filter(pl.col("sex") == sex)
    if per == "hour":
        rows = rows.drop_nulls("hours")
        return (rows[part] / rows["hours"]).to_numpy()
    return rows[part].to_numpy()


def _make_gap(
    people: pl.DataFrame,
    part: Part,
    per: Per,
    confidence: float,
    *,
    median: bool = False,
    receivers: bool = False,
    other: str = "women",
) -> PayGap:
    """Compute one gap."""
    pays = tuple(take_pay(people, part, per, sex) for sex in (other, "men"))
    if receivers:
        pays = tuple(each[each > 0.0] for each in pays)
    average: Callable[[FloatArray], Any] = np.median if median else np.mean
    found, ends, reason = (median_gap if median else mean_gap)(pays[0], pays[1], confidence)
    if reason is None and not median and any(map(_rests_on_one, pays)):
        reason = "one person"
    return PayGap(
        part=part,
        per=per,
        average="median" if median else "mean",
        receivers=receivers,
        people=(pays[0].size, pays[1].size),
        pay=(float(average(pays[0])), float(average(pays[1])))
        if pays[0].size and pays[1].size
        else None,
        percent=found,
        interval=ends,
        note=None if reason is None else words.NOTES[reason],
    )


def _rests_on_one(pay: FloatArray) -> bool:
    """Whether one person has more than half of the sum of squared deviations."""
    squares = (pay - pay.mean()) ** 2
    return bool(pay.size > FEWEST and squares.max() > _ONE_PERSON * squares.sum() > 0.0)


def _examine(people: pl.DataFrame, document: PayDocument) -> PayDocument:
    """Compute all figures, exactly."""
    import polars as pl

    request = document.request
    pers: list[Per] = ["year", "hour"] if request.hours else ["year"]
    parts: list[Part] = ["total", "variable"] if request.variable else ["total"]
    gaps = [
        _make_gap(people, part, per, request.confidence, median=median, receivers=receivers)
        for part in parts
        for receivers in ((False, True) if part == "variable" else (False,))
        for median in (False, True)
        for per in pers
    ]
    main = pers[-1]
    others = {
        sex: _make_gap(people, "total", main, request.confidence, other=sex)
        for sex in document.staff.others
    }
    receiving = None
    if request.variable:
        women, men = (take_pay(people, "variable", "year", sex) for sex in ("women", "men"))
        receiving = 100.0 * float((women > 0.0).mean()), 100.0 * float((men > 0.0).mean())
    document = replace(
        document,
        gaps=tuple(gaps),
        receiving=receiving,
        bands=tuple(_make_bands(people, per) for per in pers),
        others=others,
    )
    if request.category is None:
        return document
    rows = people.filter(pl.col("sex").is_in(["women", "men"]))
    known = rows if main == "year" else rows.drop_nulls("hours")
    each = {str(name): part for (name,), part in known.drop_nulls("category").group_by("category")}
    pays = {name: _both(part, main) for name, part in sorted(each.items())}
    compared = {name: pair for name, pair in pays.items() if min(map(len, pair))}
    outside = _both(known.filter(pl.col("category").is_null()), main)
    within, between = split_gap([*pays.values(), outside])
    mens = float(np.concatenate([pair[1] for pair in (*pays.values(), outside)]).mean())
    categories = _compare(each, compared, document, pers)
    return replace(
        document,
        categories=categories,
        one_sex=known.height - sum(len(w) + len(m) for w, m in compared.values()),
        within=100.0 * within / mens,
        between=100.0 * between / mens,
        within_pay=within,
        between_pay=between,
        fifths=_make_fifths(compared, request, main),
        cost=sum(c.cost for c in categories),
        even_cost=sum(c.even_cost for c in categories),
        raised=sum(c.raised for c in categories),
    )


def _both(people: pl.DataFrame, per: Per) -> Pays:
    return take_pay(people, "total", per, "women"), take_pay(people, "total", per, "men")


def _make_bands(people: pl.DataFrame, per: Per) -> PayBands:
    """Share the four quarters of people by pay; people of equal pay are spread evenly."""
    rows = people if per == "year" else people.drop_nulls("hours")
    rate = rows["total"].to_numpy() / (1.0 if per == "year" else rows["hours"].to_numpy())
    _, tied = np.unique(rate, return_inverse=True)
    sizes = np.bincount(tied).astype(np.float64)
    ends = np.cumsum(sizes)
    edges = np.linspace(0.0, rate.size, 5)
    # (4, ties): how many of each tie lie in each quarter.
    inside = np.clip(
        np.minimum(ends, edges[1:, None]) - np.maximum(ends - sizes, edges[:-1, None]), 0.0, None
    )
    sex = rows["sex"].fill_null("").to_numpy()

    def shares(own: Any) -> tuple[float, ...]:  # noqa: ANN401
        part = np.bincount(tied[own], minlength=sizes.size) / sizes
        return tuple((100.0 * (inside @ part) / (rate.size / 4.0)).tolist())

    is_woman, is_man = sex == "women", sex == "men"
    return PayBands(per, shares(is_woman), shares(is_man), shares(~(is_woman | is_man)))


def _make_fifths(pays: Mapping[str, Pays], request: PayRequest, per: Per) -> tuple[PayGap, ...]:
    """Compare the fifths within categories, where these have enough women and men."""
    used = [pair for pair in pays.values() if min(map(len, pair)) >= _FEW_IN_CATEGORY]
    people = sum(len(w) for w, _ in used), sum(len(m) for _, m in used)
    if min(people) < _FEW_IN_ALL:
        return ()
    found = fifth_gaps(used, request.confidence, request.random_state)
    return tuple(
        PayGap(
            "total",
            per,
            "mean",
            receivers=False,
            people=people,
            pay=None,
            percent=gap,
            interval=ends,
            note=name,
        )
        for name, (gap, ends) in zip(words.FIFTHS, found, strict=True)
    )


def _compare(
    each: Mapping[str, pl.DataFrame],
    compared: Mapping[str, Pays],
    document: PayDocument,
    pers: list[Per],
) -> tuple[PayCategory, ...]:
    """Compare women and men in every category that has both."""
    request = document.request
    parts: list[Part] = ["total", "base", "variable"] if request.variable else ["total", "base"]
    tested = [name for name, pair in compared.items() if min(map(len, pair)) >= FEWEST]
    chances: dict[str, tuple[float, float]] = {}
    if tested:
        found = compare_categories(
            [compared[name] for name in tested], request.permutations, request.random_state
        )
        chances = {
            name: (float(p), float(adjusted))
            for name, p, adjusted in zip(tested, *found, strict=True)
        }
    categories = []
    for name, (women, men) in compared.items():
        gaps = tuple(
            _make_gap(each[name], part, per, request.confidence)
            for part in parts
            for per in reversed(pers)
        )
        p_value, adjusted = chances.get(name, (None, None))
        hours = (
            _hours(each[name]) if pers[-1] == "hour" else (np.ones(women.size), np.ones(men.size))
        )
        raises, even, of_women = close_gap(women, men, hours, request.trigger)
        worked = hours[0 if of_women else 1]
        categories.append(
            PayCategory(
                name=name,
                people=gaps[0].people,
                gaps=gaps,
                p_value=p_value,
                p_adjusted=adjusted,
                standing=find_standing(
                    gaps[0].percent, gaps[0].interval, adjusted, request.trigger
                ),
                cost=float(raises @ worked),
                even_cost=float(even @ worked),
                raised=int((raises > 0.0).sum()),
            )
        )
    return tuple(categories)


def _hours(people: pl.DataFrame) -> Pays:
    rows = people.drop_nulls("hours")
    women, men = (rows.filter(rows["sex"] == sex)["hours"].to_numpy() for sex in ("women", "men"))
    return women, men


def find_standing(
    percent: float | None, ends: Ends | None, p_adjusted: float | None, trigger: float
) -> Standing:
    """Say whether a category reaches the trigger, in either direction, and whether by chance."""
    if p_adjusted is None or percent is None:
        return "not compared"
    if abs(percent) < trigger:
        return "below the trigger"
    apart = ends is not None and (ends[0] > 0.0 or ends[1] < 0.0)
    return "beyond chance" if apart and p_adjusted <= _EVIDENCE else "within chance"
