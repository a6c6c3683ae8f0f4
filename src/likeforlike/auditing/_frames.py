"""Figures of an audit as tables, in the library that the data came in."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import narwhals as nw

from likeforlike._text import crossed_name
from likeforlike.auditing._tables import TableCells
from likeforlike.classical._cell_figures import cell_figures
from likeforlike.document._request import Roles
from likeforlike.document._results import ContrastAudit

Columns = dict[str, list[Any]]
Frame = Any
"""A table of whatever library the data came in."""

# Engines that hold their tables elsewhere give what their extras bring along.
_LIBRARIES: dict[str, Literal["pandas", "pyarrow", "modin", "cudf", "polars"]] = {
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "modin": "modin",
    "cudf": "cudf",
    "polars": "polars",
}
_IN_MEMORY = {"duckdb": "pyarrow", "pyspark": "pandas", "spark": "pandas", "sqlframe": "pandas"}


def native_frame(columns: Mapping[str, Sequence[Any]], engine: str) -> Frame:
    """A table with these columns in the library of an engine, or the one nearest to it."""
    library = _LIBRARIES[
        name if (name := _IN_MEMORY.get(engine, engine)) in _LIBRARIES else "polars"
    ]
    native: Frame = nw.from_dict(dict(columns), backend=library).to_native()
    return native


def level_columns(contrasts: Sequence[ContrastAudit]) -> Columns:
    """One row for each contrast and level."""
    lines = [(contrast, level) for contrast in contrasts for level in contrast.levels]
    ends = [level.gap_interval or (None, None) for _, level in lines]
    return {
        "columns": [_crossed(contrast) for contrast, _ in lines],
        "first": [contrast.groups[0] for contrast, _ in lines],
        "second": [contrast.groups[1] for contrast, _ in lines],
        "level": [level.name for _, level in lines],
        "rows_first": [level.rows[contrast.groups[0]] for contrast, level in lines],
        "rows_second": [level.rows[contrast.groups[1]] for contrast, level in lines],
        "weight": [level.weight for _, level in lines],
        "gap": [level.gap for _, level in lines],
        "gap_low": _floats(low for low, _ in ends),
        "gap_high": _floats(high for _, high in ends),
        "distance": [level.distance for _, level in lines],
        "null_distance": _floats(level.null_distance for _, level in lines),
        "contribution": [level.contribution for _, level in lines],
        "p_value": _floats(level.p_value for _, level in lines),
        "p_adjusted": _floats(level.p_adjusted for _, level in lines),
        "thin": [level.thin for _, level in lines],
    }


def contrast_columns(contrasts: Sequence[ContrastAudit]) -> Columns:
    """One row for each contrast."""
    gaps = [contrast.gap.interval or (None, None) for contrast in contrasts]
    distances = [contrast.estimate for contrast in contrasts]
    ends = [(None, None) if each is None else each.interval for each in distances]
    return {
        "columns": [_crossed(contrast) for contrast in contrasts],
        "first": [contrast.groups[0] for contrast in contrasts],
        "second": [contrast.groups[1] for contrast in contrasts],
        "rows_first": [contrast.rows[0] for contrast in contrasts],
        "rows_second": [contrast.rows[1] for contrast in contrasts],
        "gap": [contrast.gap.value for contrast in contrasts],
        "gap_low": _floats(low for low, _ in gaps),
        "gap_high": _floats(high for _, high in gaps),
        "distance": _floats(None if each is None else each.value for each in distances),
        "distance_low": _floats(low for low, _ in ends),
        "distance_high": _floats(high for _, high in ends),
        "p_value": _floats(contrast.p_value for contrast in contrasts),
        "unconditional_gap": [contrast.unconditional.gap for contrast in contrasts],
        "coverage_first": [c.coverage[c.groups[0]] for c in contrasts],
        "coverage_second": [c.coverage[c.groups[1]] for c in contrasts],
        "paradox": [contrast.paradox for contrast in contrasts],
    }


def cell_columns(table: TableCells, roles: Roles) -> Columns:
    """One row for each level and group that anybody is in."""
    figures = cell_figures(table.cells)
    places = [(k, g) for k, g in zip(*figures.rows.nonzero(), strict=True)]
    return {
        "level": [table.level_names[k] for k, _ in places],
        "group": [_group(table.cells.groups[g], roles) for _, g in places],
        "rows": [int(figures.rows[place]) for place in places],
        "mean": [float(figures.mean[place]) for place in places],
        "median": [float(figures.median[place]) for place in places],
    }


def _group(group: Hashable, roles: Roles) -> str:
    if not isinstance(group, tuple) or not roles.also_sensitive:
        return str(group)
    values = ["unknown" if value is None else value for value in group]
    return crossed_name(values, roles.all_sensitive)


def _crossed(contrast: ContrastAudit) -> str:
    return " × ".join(contrast.columns)


def _floats(values: Iterable[float | None]) -> list[float | None]:
    """Numbers, with `None` where there is none."""
    return [None if each is None or not math.isfinite(each) else float(each) for each in values]
