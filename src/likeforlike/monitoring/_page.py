"""The pages of a `Comparison` and of `PeriodAudits`, which are passed in."""

from __future__ import annotations

import math
from typing import Any

from likeforlike._text import figure, plural
from likeforlike.document import mean_name
from likeforlike.report import (
    chart_heights,
    confidence,
    count,
    difference_chart,
    number,
    templates,
    tick,
    time_chart,
)

_SHOWN_LEVELS, _DRAWN = 24, 12
_KINDS = ("wide", "narrow")


def _render(**parts: Any) -> str:  # noqa: ANN401
    return templates().get_template("monitoring.html.j2").render(**parts)


def _section(title: str, note: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"charts": [], "many": [], "heads": [], "rows": [], "title": title, "note": note, **more}


def _span(low: float | None, high: float | None) -> str:
    if low is None:
        return "–"
    return f"{number(low)} or more" if high is None else f"{number(low)} to {number(high)}"


def comparison_page(found: Any) -> str:  # noqa: ANN401
    """Write the page of a comparison."""
    sections = []
    for pair in found.pairs:
        first, second = pair.scores
        groups = " and ".join(pair.groups)
        drawn = [pair.size, pair.distance, *pair.levels[:_DRAWN]]
        names = [pair.size.name, pair.distance.name, *(f"gap, {x.name}" for x in drawn[2:])]
        chart = difference_chart(
            f"{second} minus {first}, {groups}",
            [(name, x.difference, x.interval) for name, x in zip(names, drawn, strict=True)],
            better=f"smaller under {second}",
        )
        shown = [pair.gap, pair.size, pair.distance, *pair.levels[:_SHOWN_LEVELS]]
        note = (
            f"Differences, {second} minus {first}, with intervals for scores of the same rows. "
            "Size and distance are smaller to the left; the gap of a level has a sign, "
            f"{pair.groups[1]} minus {pair.groups[0]}. The difference of the scores of each row "
            f"has a distance of {_span(*pair.change)}: whether the change fell on the groups "
            "differently."
        )
        sections.append(
            _section(
                f"{second} against {first}, {groups}: {pair.verdict}",
                note,
                charts=[chart],
                heads=_heads(first, second),
                rows=[_row(each) for each in shown],
            )
        )
    for challenger, figures in found.performance.items():
        sections.append(
            _section(
                f"Performance of {challenger} against {found.scores[0]}",
                "On all rows with an outcome, and on those of each group.",
                heads=_heads(found.scores[0], challenger),
                rows=[_row(each) for each in figures],
            )
        )
    return _render(
        title=f"Comparison of {' and '.join(found.scores)} by {found.sensitive}",
        headline=found.headline,
        sentences=[
            *found.sentences[1:],
            f"Against a margin of {figure(found.margin)} of the {found.of}: {found.verdict}.",
            f"{plural(found.rows, 'row')}; {confidence(found.confidence)} intervals.",
        ],
        notes=list(dict.fromkeys(x for pair in found.pairs for x in pair.reasons)),
        sections=sections,
        version=found.provenance.versions["likeforlike"],
    )


def _heads(first: str, second: str) -> list[str]:
    return ["Figure", first, "Interval", second, "Interval", "Difference", "Interval", "Rows"]


def _row(each: Any) -> list[str]:  # noqa: ANN401
    ends = (each.first_interval, each.second_interval, each.interval)
    spans = ["–" if pair is None else _span(*pair) for pair in ends]
    values = (number(each.first), number(each.second), number(each.difference))
    cells = [x for pair in zip(values, spans, strict=True) for x in pair]
    return [each.name, *cells, count(each.rows)]


def period_page(found: Any) -> str:  # noqa: ANN401
    """Write the page of audits by period."""
    document, monitor = found.document, found.monitor
    groups = document.contrasts[0].groups
    lines = {line["period"]: line for line in found.period_lines(groups)}
    gaps = [lines[p]["gap"] if p in lines else None for p in found.periods]
    bands = [
        (line["gap_low"], line["gap_high"])
        if (line := lines.get(p)) is not None and line["gap_low"] is not None
        else None
        for p in found.periods
    ]
    alarm = None
    if monitor is not None and monitor.alarm is not None:
        alarm = monitor.periods.index(monitor.alarm)
    what = f"{mean_name(document)}, {groups[1]} minus {groups[0]}"
    sections = [
        _section(
            "Gap by period",
            f"{what[0].upper()}{what[1:]}. Intervals hold for all periods together.",
            charts=[
                time_chart(kind, "Gap by period", found.periods, gaps, bands, alarm=alarm)
                for kind in _KINDS
            ],
        )
    ]
    if monitor is not None:
        sections.append(_evidence(found, alarm))
    heads = ["Period", "Rows", "Gap", "Interval", "Distance", "Interval", "E-value"]
    rows = [
        [
            p, f"{count(x['rows_first'])} + {count(x['rows_second'])}", number(x["gap"]),
            _span(x["gap_low"], x["gap_high"]), number(x["distance"]),
            _span(x["distance_low"], x["distance_high"]),
            "–" if x["e_value"] is None else f"{x['e_value']:.3g}",
        ]
        for p, x in lines.items()
    ]  # fmt: skip
    sections.append(
        _section(
            "All periods",
            f"Of {groups[0]} and {groups[1]}; all intervals of one kind hold together.",
            heads=heads,
            rows=rows,
        )
    )
    sections.append(_by_level(found, groups, alarm))
    return _render(
        title=f"Audits of {document.roles.score} by {found.by}",
        headline=found.headline, sentences=found.sentences[1:],
        notes=[*found.notes, *document.finding.cautions],
        sections=sections, version=document.provenance.versions["likeforlike"],
    )  # fmt: skip


def _evidence(
    found: Any,  # noqa: ANN401
    alarm: int | None,
) -> dict[str, Any]:
    """Draw the e-values, by their power of ten."""
    assert found.monitor is not None
    powers = [math.log10(max(e, 1e-9)) for e in found.monitor.e_values]
    limit = math.log10(found.monitor.limit)
    low, high = min(-0.5, *powers) - 0.1, max(limit, *powers) + 0.3
    step = max(1, -(-int(high - low) // 5))
    labels = {
        float(k): "1" if k == 0 else tick(10.0**k) if abs(k) < 4 else f"1e{k}"
        for k in range(math.ceil(low), math.floor(high) + 1, step)
    }
    none = [None] * len(powers)
    return _section(
        "The monitor",
        f"The e-value after each period. It reaches {found.monitor.limit:g}, the dashed line, in "
        f"at most {100 * found.monitor.alpha:g}% of histories without a disparity.",
        charts=[
            time_chart(
                kind,
                "E-value by period",
                found.periods,
                powers,
                none,
                heights=(low, high),
                labels=labels,
                limit=limit,
                alarm=alarm,
            )
            for kind in _KINDS
        ],
    )


def _by_level(
    found: Any,  # noqa: ANN401
    groups: tuple[str, str],
    alarm: int | None,
) -> dict[str, Any]:
    """Draw the gap of each level over periods, all on one scale."""
    names = [level.name for level in found.contrasts[0].levels[:_DRAWN]]
    own: list[dict[str, Any]] = []
    for audit in found.audits:
        contrasts = () if audit is None else audit.contrasts
        levels = [c.levels for c in contrasts if c.groups == groups]
        own.append({level.name: level for level in (levels[0] if levels else ())})
    gaps = {n: [x[n].gap if n in x else None for x in own] for n in names}
    solid = {
        n: [x[n].gap_interval if n in x and not x[n].thin else None for x in own] for n in names
    }
    every = [x for values in gaps.values() for x in values]
    heights = chart_heights(every, [x for values in solid.values() for x in values])
    many = [
        (
            name,
            time_chart(
                "small", f"Gap by period, {name}", found.periods, gaps[name], solid[name],
                heights=heights, alarm=alarm,
            ),
        )
        for name in names
    ]  # fmt: skip
    note = "The levels that contribute most, all on one scale. Thin levels have no interval."
    return _section("Gap by period in each level", note, many=many)
