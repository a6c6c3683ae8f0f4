"""Disparities and cells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import likeforlike as lfl
from tools.fuzz import settings
from tools.fuzz.columns import hostile, labels, scores, weights
from tools.fuzz.draw import Draw
from tools.fuzz.runner import Target

__all__ = ["TARGETS", "rows"]

_COMPARISONS = "pairwise", "one-vs-rest", "barycenter"


def rows(draw: Draw, *, weighted: bool = True) -> dict[str, Any]:
    """Columns of a few rows, one of which may be none."""
    size = draw.pick((1, 4, 8, 8, 20, 20, 60))
    made = {
        "scores": scores(draw, size),
        "sensitive_features": labels(draw, size),
        "legitimate_features": labels(draw, size) if draw.happens(0.7) else None,
        "sample_weight": weights(draw, size) if weighted and draw.happens(0.3) else None,
    }
    if draw.happens(0.1):
        made[draw.pick(list(made))] = hostile(draw, size)
    return made


def check_disparity(found: lfl.Disparity) -> None:
    """Raise unless every figure can be one."""
    table = found.by_level
    figures = [found.value, found.gap, *table.distance, *table.gap, *table.weight]
    assert np.isfinite(figures).all(), f"a figure is not finite: {figures}"
    assert found.value >= 0.0, found.value
    assert (table.distance >= 0.0).all(), table.distance
    assert found.value <= table.distance.max(initial=0.0) * (1.0 + 1e-9), (found, table)
    covered = list(found.coverage.values())
    # Rows, not shares: of weights that differ by more than numbers reach a share may round to 0. Of
    # several groups at once, some may share a level with nobody.
    compared = (table.counts > 0).any(axis=0)
    assert compared.sum() >= 2, table.counts
    assert len(covered) > 2 or compared.all(), table.counts
    assert all(0.0 <= share <= 1.0 + 1e-9 for share in covered), covered
    if found.distance in ("ks", "tv"):
        assert found.value <= 1.0 + 1e-9, found.value
    repr(found), list(table), table.to_dict()
    for other in found.comparisons:
        check_disparity(other)


def check_nested(found: lfl.NestedDisparity) -> None:
    """Raise unless every figure can be one."""
    assert math.isfinite(found.root), found.root
    assert found.root >= 0.0, found.root
    parts = found.value, found.diagonal, found.off_diagonal, found.level_transport, found.excess
    assert not np.isnan([*parts, found.level_cost, found.level_cost_bound]).any(), parts
    if math.isinf(found.value):
        assert found.order * math.log10(found.root) > 300.0, (found.value, found.root)
    else:
        assert math.isclose(found.value, sum(parts[1:4]), rel_tol=1e-9), parts
    assert np.isclose(found.plan.mass.sum(), 1.0), found.plan
    assert 0.0 <= found.overlap <= 1.0 + 1e-9, found.overlap
    repr(found)


def _dd(draw: Draw) -> None:
    given = rows(draw)
    found = draw.call(
        lfl.dd,
        given["scores"],
        given["sensitive_features"],
        sample_weight=given["sample_weight"],
        distance=settings.any_of(draw, "wasserstein", "ks", "tv", "mean"),
        order=settings.order(draw),
        comparison=settings.any_of(draw, *_COMPARISONS),
    )
    check_disparity(found)


def _cdd_lp(draw: Draw) -> None:
    given = rows(draw)
    found = draw.call(
        lfl.cdd_lp,
        **given,
        distance=settings.any_of(draw, "wasserstein", "ks", "tv", "mean"),
        order=settings.order(draw),
        p=settings.number(draw, 1, 2, math.inf, 400),
        measure=settings.measure(draw, given["legitimate_features"]),
        comparison=settings.any_of(draw, *_COMPARISONS),
    )
    check_disparity(found)


def _tv_overlap(draw: Draw) -> None:
    found = draw.call(
        lfl.disparity.tv_overlap, **rows(draw), comparison=settings.any_of(draw, *_COMPARISONS)
    )
    check_disparity(found)


def _level_metric(draw: Draw) -> Any:  # noqa: ANN401
    if draw.happens(0.75):
        return settings.any_of(draw, "discrete", "ordinal", "numeric")
    size = draw.randint(1, 4)
    metric = draw.numpy.random((size, size)) * 10.0 ** draw.uniform(-200.0, 200.0)
    return metric + metric.T - 2.0 * np.diag(np.diag(metric)) if draw.happens(0.8) else metric


def _cdd_wass(draw: Draw) -> None:
    found = draw.call(
        lfl.cdd_wass,
        **rows(draw),
        order=settings.order(draw),
        level_metric=_level_metric(draw),
        level_cost=None if draw.happens(0.6) else settings.number(draw, 0.0, 1.0),
        comparison=settings.any_of(draw, *_COMPARISONS),
    )
    check_nested(found)


def _check_cells(cells: lfl.Cells) -> None:
    assert (cells.counts >= 0).all(), cells.counts
    assert np.isfinite(cells.mass).all(), cells.mass
    assert (cells.mass >= 0.0).all(), cells.mass
    assert np.isfinite(cells.means[cells.counts > 0]).all(), cells.means
    assert math.isfinite(cells.reach), cells.reach


def _cells(draw: Draw) -> None:
    given = rows(draw)
    cells = draw.call(lfl.Cells.from_rows, **given)
    _check_cells(cells)
    _check_cells(cells.pool_levels())
    again = draw.call(lfl.Cells.from_rows, **rows(draw)) if draw.happens(0.3) else cells
    _check_cells(draw.call(cells.merge, again))
    some = {group: group for group in cells.groups if draw.happens(0.7)}
    if some:
        _check_cells(draw.call(cells.regroup, some))


def _length(column: Any) -> int:  # noqa: ANN401
    """How many rows there are; some number where it is no column."""
    try:
        return len(column)
    except TypeError:
        return 4


def _counts(draw: Draw) -> None:
    given = rows(draw, weighted=False)
    size = _length(given["sensitive_features"])
    counts: Any = draw.numpy.integers(0, 9, size)
    if draw.happens(0.2):
        counts = draw.pick((counts * 10**15, counts.astype(np.uint64) * 2**60, counts / 2.0))
    if draw.happens(0.1):
        counts = hostile(draw, size)
    cells = draw.call(
        lfl.Cells.from_counts,
        given["legitimate_features"],
        given["sensitive_features"],
        given["scores"],
        counts,
        mass=weights(draw, size) if draw.happens(0.2) else None,
        resolution=settings.number(draw, 0.0, 0.1),
    )
    _check_cells(cells)
    check_disparity(draw.call(lfl.cdd_lp, cells))


TARGETS = {
    "dd": Target(_dd, 3500),
    "cdd_lp": Target(_cdd_lp, 4000),
    "tv_overlap": Target(_tv_overlap, 800),
    "cdd_wass": Target(_cdd_wass, 2500),
    "Cells.from_rows": Target(_cells, 1500),
    "Cells.from_counts": Target(_counts, 1000),
}
