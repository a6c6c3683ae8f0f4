"""The slope of a penalty at parity: from batches, and from a field of a large sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from likeforlike import FairLeap
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets import make_loans
from likeforlike.penalties import Layout, SlopeField
from likeforlike.report import AxisScale
from likeforlike.report import _svg as svg
from tools.pictures.drawing import Axes, key, picture

__all__ = ["SlopesFound", "measured", "slopes"]

_ROWS, _LEVEL, _GROUP = 20_000, 2, "female"
_BATCH, _BATCHES, _FIELD = 128, 150, 4096
_LOW, _HIGH, _BINS = 0.4, 0.6, 8
_SHOWN = 400

_HEIGHT = 480.0
_AXES = Axes(AxisScale(0.39, 0.61, 90.0, 890.0), AxisScale(-0.16, 0.16, 410.0, 130.0))


class SlopesFound(NamedTuple):
    """Slopes of the scores of women in the middle level, where parity holds.

    Attributes
    ----------
    scores, batch : (n,) floats, scores of rows of all batches and the slopes there.
    which : (n,) integers, the batch of each row.
    grid, field : (m,) floats, scores and what the field says there.
    """

    scores: FloatArray
    batch: FloatArray
    which: IntArray
    grid: FloatArray
    field: FloatArray


def measured() -> SlopesFound:
    """Slopes of FairLeap on loan scores without any disparity."""
    loans = make_loans(_ROWS, gap=0.0)
    scores = loans.frame["score"].to_numpy()
    layout = Layout.from_columns(loans.groups, loans.levels)
    mine = (loans.levels == _LEVEL) & (loans.groups == _GROUP)
    order = np.random.default_rng(0).permutation(_ROWS)
    penalty = FairLeap()
    found = []
    for rows in order[: _BATCH * _BATCHES].reshape(_BATCHES, _BATCH):
        own = layout.take(rows)
        _, gradient = penalty.evaluate(scores[rows][None], own)
        moved = penalty.transported_mass(own)
        here = mine[rows] & (moved > 0.0)
        found.append(np.stack([scores[rows][here], gradient[0][here] / moved[here]]))
    sample = order[:_FIELD]
    field = SlopeField.fit(penalty, scores[sample][None], layout.take(sample))
    grid = np.linspace(_LOW, _HIGH, 101)
    one = layout.take(np.full(grid.size, np.flatnonzero(mine)[0]))
    batch = np.concatenate(found, axis=1)
    which = np.repeat(np.arange(_BATCHES), [part.shape[1] for part in found])
    return SlopesFound(batch[0], batch[1], which, grid, field.gradient(grid[None], one)[0])


def slopes() -> str:
    """Slopes of single rows in batches, their means, and the field."""
    found = measured()
    means = _means(found)
    names = "score (women in the middle level)", "slope; training moves scores against it"
    marks = (0.4, 0.45, 0.5, 0.55, 0.6), (-0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15)
    field = [_AXES(x, y) for x, y in zip(found.grid, found.field, strict=True)]
    return picture(
        "Slope of a penalty against the score, from batches and from a field",
        _told(found, means),
        _HEIGHT,
        svg.text(
            24.0, 34.0, "Parity holds, yet small batches push scores to the middle", class_="head"
        ),
        _legend(),
        _AXES.drawn(names, marks),
        svg.line(*_AXES(0.39, 0.0), *_AXES(0.61, 0.0), class_="zero"),
        _dots(found),
        svg.path(field, class_="a span"),
        *(_mean(*one) for one in means),
    )


def _legend() -> Markup:
    words = f"rows of batches of {_BATCH}", "their mean, ± 2 standard errors"
    return svg.group(
        key(24.0, 66.0, lambda x, y: svg.circle(x, y, 4.0, class_="c dot"), words[0]),
        key(276.0, 66.0, lambda x, y: svg.diamond(x, y, 5.0, class_="b bubble"), words[1]),
        key(
            600.0,
            66.0,
            lambda x, y: svg.line(x - 10.0, y, x + 10.0, y, class_="a span"),
            f"slope field of {_FIELD:,} rows",
        ),
    )


def _means(found: SlopesFound) -> list[tuple[float, float, float]]:
    """Middle of each bin of scores, mean slope of the batches there, and its standard error."""
    edges = np.linspace(_LOW, _HIGH, _BINS + 1)
    bins = np.digitize(found.scores, edges[1:-1])
    means = []
    for k in range(_BINS):
        own = found.batch[bins == k]
        # Rows of a batch share the rows they are compared with, so batches are what is independent.
        apart = np.bincount(found.which[bins == k], own - own.mean(), minlength=_BATCHES)
        error = float(np.sqrt((apart**2).sum()) / own.size)
        means.append((float(edges[k] + edges[k + 1]) / 2.0, float(own.mean()), error))
    return means


def _dots(found: SlopesFound) -> Markup:
    shown = [
        svg.circle(*_AXES(x, y), 2.5, class_="c dot")
        for x, y in zip(found.scores[:_SHOWN], found.batch[:_SHOWN], strict=True)
        if _AXES.up.holds(y)
    ]
    return svg.group(*shown)


def _beyond(found: SlopesFound) -> int:
    """How many of the rows to be drawn lie beyond the axis."""
    return sum(not _AXES.up.holds(y) for y in found.batch[:_SHOWN])


def _mean(x: float, y: float, error: float) -> Markup:
    (at, low), (_, high) = _AXES(x, y - 2.0 * error), _AXES(x, y + 2.0 * error)
    return svg.group(
        svg.line(at, low, at, high, class_="b span"),
        svg.diamond(*_AXES(x, y), 5.0, class_="b bubble"),
    )


def _told(found: SlopesFound, means: list[tuple[float, float, float]]) -> str:
    told = "; ".join(f"at {x:.3f}: {y:+.3f} ± {2.0 * error:.3f}" for x, y, error in means)
    return (
        f"Scores without disparity. Mean slope of {found.scores.size} rows in {_BATCHES} batches "
        f"of {_BATCH}, ± 2 standard errors (over batches), by score: {told}. The field of "
        f"{_FIELD} rows lies between {found.field.min():+.3f} and {found.field.max():+.3f}. Dots "
        f"are the first {_SHOWN} rows; {_beyond(found)} of them lie beyond the axis."
    )
