"""Nothing about few people: what of the figures about pay may be passed on.

The rules are those of audits (`auditing/_disclosure.py`): no figure in which one of fewer than
`limit` people counts, counts in multiples of the limit, and averages rounded to half their standard
error, so that the difference of two editions of a page is no one's pay. Categories with a small
cell are counted together, with the next smallest where a single one could be had by subtraction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from likeforlike.auditing import Crowd, RoundingGrid, round_count, round_p_value_up, round_share
from likeforlike.disparity import Cells
from likeforlike.payroll._results import PayBands, PayCategory, PayDocument, PayGap, Staff
from likeforlike.payroll._words import NOTES, OTHER

if TYPE_CHECKING:
    import polars as pl


def suppress(document: PayDocument, people: pl.DataFrame, limit: int) -> PayDocument:
    """Leave out what is about few people, and round the rest."""
    receivers = _count_receivers(people)
    listed = [
        _round_category(each, limit, receivers.get(each.name, (0, 0)))
        for each in _list_categories(document, limit)
    ]
    names = {each.name for each in listed}
    left = [each for each in document.categories if each.name not in names]
    main = next(g for g in document.gaps[::-1] if (g.part, g.average) == ("total", "mean"))
    grid, grid_pay = _grids(main)
    shown = main.interval is not None and min(main.people) >= limit
    staff, receiving = document.staff, document.receiving
    many = min(main.people) // 5 >= limit
    return replace(
        document,
        staff=_round_staff(staff, limit),
        gaps=tuple(_round_gap(each, limit, receivers[None]) for each in document.gaps),
        receiving=None
        if receiving is None
        else (
            _round_percent(receiving[0], staff.women, limit),
            _round_percent(receiving[1], staff.men, limit),
        ),
        bands=tuple(_round_bands(each, staff.people, limit) for each in document.bands),
        others={
            sex: _round_gap(gap, limit, receivers[None])
            for sex, gap in document.others.items()
            if min(gap.people) >= limit
        },
        categories=tuple(listed),
        unlisted=(
            round_count(sum(each.people[0] for each in left), limit),
            round_count(sum(each.people[1] for each in left), limit),
        ),
        unlisted_categories=len(left),
        one_sex=round_count(document.one_sex, limit),
        within=_nearest(grid, document.within) if shown else None,
        between=_nearest(grid, document.between) if shown else None,
        within_pay=_nearest(grid_pay, document.within_pay) if shown else None,
        between_pay=_nearest(grid_pay, document.between_pay) if shown else None,
        fifths=tuple(_round_gap(each, limit, None) for each in document.fifths) if many else (),
        cost=sum(each.cost for each in listed),
        even_cost=sum(each.even_cost for each in listed),
        raised=sum(each.raised for each in listed),
    )


def _list_categories(document: PayDocument, limit: int) -> list[PayCategory]:
    """Select the categories that are shown by themselves."""
    if not document.categories:
        return []
    sizes = np.array([each.people for each in document.categories]).ravel()
    names = np.repeat([each.name for each in document.categories], 2)
    sexes = np.tile(["a women", "b men"], len(document.categories))
    cells = Cells.from_counts(names, sexes, np.ones(names.size), sizes)
    measure = cells.mass.sum(axis=1) / cells.mass.sum()
    support = np.ones(len(cells.levels), np.bool_)
    merged = Crowd.from_cells(cells).levels_to_merge(measure, support, (0, 1), limit)
    hidden = {name for name, is_merged in zip(cells.levels, merged, strict=True) if is_merged}
    return [
        each
        for each in document.categories
        if each.name not in hidden and each.gaps[0].interval is not None
    ]


def _count_receivers(people: pl.DataFrame) -> dict[str | None, tuple[int, int]]:
    """Count women and men who receive variable pay, of all (`None`) and by category."""
    paid = people.filter(people["variable"] > 0.0)
    found: dict[str | None, list[int]] = {None: [0, 0]}
    for name, sex in paid.select("category", "sex").rows():
        for key in {None, name}:
            if sex in ("women", "men"):
                found.setdefault(key, [0, 0])[sex == "men"] += 1
    return {name: (women, men) for name, (women, men) in found.items()}


def _grids(gap: PayGap) -> tuple[RoundingGrid, RoundingGrid]:
    """Find what a gap and its pay are rounded to: half their standard error."""
    percent, pay = gap.percent or 0.0, gap.pay or (0.0, 0.0)
    ends = gap.interval
    noise = 0.0 if ends is None else (ends[1] - ends[0]) / 4.0
    return (
        RoundingGrid.from_noise(noise, [percent]),
        RoundingGrid.from_noise(noise * pay[1] / 100.0, pay),
    )


def _nearest(grid: RoundingGrid, value: float | None) -> float | None:
    return None if value is None else grid.nearest(value)


def _round_gap(gap: PayGap, limit: int, receivers: tuple[int, int] | None) -> PayGap:
    """Round a gap, or hide it; of variable pay where few receive any."""
    people = round_count(gap.people[0], limit), round_count(gap.people[1], limit)
    few = min(gap.people) < limit
    few |= gap.part == "variable" and receivers is not None and min(receivers) < limit
    if few or gap.interval is None or gap.percent is None:
        note = NOTES["hidden"] if few or gap.note is None else gap.note
        return replace(gap, people=people, pay=None, percent=None, interval=None, note=note)
    grid, grid_pay = _grids(gap)
    pay = None if gap.pay is None else (grid_pay.nearest(gap.pay[0]), grid_pay.nearest(gap.pay[1]))
    return replace(
        gap,
        people=people,
        pay=pay,
        percent=grid.nearest(gap.percent),
        interval=grid.outward(gap.interval),
    )


def _round_category(category: PayCategory, limit: int, receivers: tuple[int, int]) -> PayCategory:
    """Round the figures of a category."""
    whole, less = (
        category.gaps[0],
        category.people[0 if (category.gaps[0].percent or 0) >= 0 else 1],
    )
    # The error of the money is that of the average, times the people, over a year. A sum is rounded
    # to twice its error: one more person moves it by all that is lacking to a counterpart.
    per_year = next(gap for gap in category.gaps if (gap.part, gap.per) == ("total", "year"))
    mens, ends = (per_year.pay or (0.0, 0.0))[1], whole.interval or (0.0, 0.0)
    grid = RoundingGrid.from_noise(
        (ends[1] - ends[0]) / 100.0 * mens * less, [category.cost, category.even_cost]
    )
    p_value, adjusted = category.p_value, category.p_adjusted
    return replace(
        category,
        people=(round_count(category.people[0], limit), round_count(category.people[1], limit)),
        gaps=tuple(_round_gap(gap, limit, receivers) for gap in category.gaps),
        p_value=None if p_value is None else round_p_value_up(p_value),
        p_adjusted=None if adjusted is None else round_p_value_up(adjusted),
        cost=grid.nearest(category.cost),
        even_cost=grid.nearest(category.even_cost),
        raised=round_count(category.raised, limit),
    )


def _round_percent(percent: float, people: float, limit: int) -> float:
    return 100.0 * round_share(percent / 100.0, people, limit)


def _round_bands(bands: PayBands, people: int, limit: int) -> PayBands:
    rounded = [
        tuple(_round_percent(each, people / 4.0, limit) for each in shares)
        for shares in (bands.women, bands.men, bands.others)
    ]
    return PayBands(bands.per, *rounded)


def _round_staff(staff: Staff, limit: int) -> Staff:
    """Round all counts; other genders of few people are counted together."""
    named = {sex: n for sex, n in staff.others.items() if n >= limit}
    rest = sum(staff.others.values()) - sum(named.values())
    others = {sex: round_count(n, limit) for sex, n in named.items()}
    counts = {
        name: round_count(getattr(staff, name), limit)
        for name in Staff.__dataclass_fields__
        if name != "others"
    }
    return Staff(**counts, others=others | ({OTHER: round_count(rest, limit)} if rest else {}))
