"""What chance alone gives: plug-in and estimate for cells of a few rows to a hundred."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from likeforlike import Cells, cdd_lp
from likeforlike.disparity import contrasts
from likeforlike.inference import estimate_distance
from likeforlike.report import AxisScale
from likeforlike.report import _svg as svg
from tools.pictures.drawing import Axes, key, picture

__all__ = ["Size", "chance", "simulate"]

_SIZES = (5, 10, 20, 40, 80)
_SAMPLES, _LEVELS, _WIDE = 40, 10, 0.4
_TRUTHS = (0.0, 0.05)

_HEIGHT, _TOP, _BOTTOM = 500.0, 146.0, 432.0
_UP = AxisScale(0.0, 0.15, _BOTTOM, _TOP)
_LEFTS, _SIDE = (78.0, 530.0), 350.0


@dataclass(frozen=True, slots=True)
class Size:
    """What samples with cells of one size give, as squares of the disparity.

    Attributes
    ----------
    rows : of every cell.
    plug_in, estimated : one square a sample, as the rows are and with the bias removed.
    """

    rows: int
    plug_in: tuple[float, ...]
    estimated: tuple[float, ...]


def simulate(truth: float, rows: int, samples: int = _SAMPLES) -> Size:
    """Draw samples of ten levels whose scores are uniform and apart by the truth.

    Parameters
    ----------
    truth : W_1 between the groups in every level.
    rows : of every cell.
    samples : how many.

    Examples
    --------
    >>> from tools.pictures.chance import simulate
    >>> found = simulate(0.0, 5, samples=2)
    >>> min(found.plug_in) > 0.0
    True
    """
    levels = np.repeat(np.arange(_LEVELS), 2 * rows)
    man = np.tile(np.repeat([0, 1], rows), _LEVELS)
    plug_in, estimated = [], []
    for sample in range(samples):
        rng = np.random.default_rng([rows, sample])
        scores = rng.uniform(0.0, _WIDE, man.size) + truth * man
        cells = Cells.from_rows(scores, man, levels)
        plug_in.append(float(cdd_lp(cells, order=1, p=2)) ** 2)
        # All levels have the same size, so every measure gives them the same weight.
        weights = np.full(_LEVELS, 1.0 / _LEVELS)
        contrast = contrasts(cells, "pairwise")[0]
        estimated.append(estimate_distance(contrast, weights, random_state=sample).squared)
    return Size(rows, tuple(plug_in), tuple(estimated))


def chance() -> str:
    """Plug-in and estimate against the size of cells, at parity and at a known disparity."""
    found = {truth: [simulate(truth, rows) for rows in _SIZES] for truth in _TRUTHS}
    return picture(
        "Plug-in and estimate against the size of the cells",
        " ".join(_told(truth, sizes) for truth, sizes in found.items()),
        _HEIGHT,
        svg.text(24.0, 34.0, "Small cells look apart, even where they are not", class_="head"),
        _legend(),
        *(
            _panel(left, truth, sizes)
            for left, (truth, sizes) in zip(_LEFTS, found.items(), strict=True)
        ),
    )


def _legend() -> Markup:
    shown = f"small dots: {_SAMPLES} samples of each size; large marks: their root mean square"
    return svg.group(
        key(24.0, 66.0, lambda x, y: _mark(x, y, plug_in=True), "plug-in: the rows as they are"),
        key(
            340.0, 66.0, lambda x, y: _mark(x, y, plug_in=False), "estimate: small-sample bias off"
        ),
        svg.text(24.0, 94.0, shown, class_="small"),
    )


def _panel(left: float, truth: float, sizes: list[Size]) -> Markup:
    axes = Axes(AxisScale(math.log(4.0), math.log(100.0), left, left + _SIDE), _UP)
    said = "parity: the truth is 0" if truth == 0.0 else f"the truth is {truth:g}"
    marks = [
        svg.text(_place(axes, size), _BOTTOM + 20.0, str(size.rows), class_="tick mid")
        for size in sizes
    ]
    return svg.group(
        axes.drawn(
            ("rows of each cell, ten levels", f"disparity; {said}"), ((), (0.0, 0.05, 0.1, 0.15))
        ),
        *marks,
        svg.line(left, _UP(truth), left + _SIDE, _UP(truth), class_="zero"),
        *(_dots(_place(axes, size), size) for size in sizes),
        *(_means(axes, sizes, plug_in=plug_in) for plug_in in (True, False)),
    )


def _place(axes: Axes, size: Size) -> float:
    """Sizes double from one to the next, so they are drawn on a logarithmic axis."""
    return axes.across(math.log(size.rows))


def _means(axes: Axes, sizes: list[Size], *, plug_in: bool) -> Markup:
    shift, look, dashes = (-6.0, "b", "8 5") if plug_in else (6.0, "a", None)
    means = [(_place(axes, size) + shift, _UP(_root_mean(size, plug_in=plug_in))) for size in sizes]
    return svg.group(
        svg.path(means, class_=f"{look} outline", stroke_dasharray=dashes),
        *(_mark(x, y, plug_in=plug_in) for x, y in means),
    )


def _dots(x: float, size: Size) -> Markup:
    dots = []
    for squares, shift, color in ((size.plug_in, -6.0, "b"), (size.estimated, 6.0, "a")):
        dots += [
            svg.circle(x + shift, _UP(_root(square)), 2.5, class_=f"{color} dot")
            for square in squares
        ]
    return svg.group(*dots)


def _mark(x: float, y: float, *, plug_in: bool) -> Markup:
    if plug_in:
        return svg.diamond(x, y, 8.0, class_="b hollow")
    return svg.circle(x, y, 6.5, class_="a full")


def _root_mean(size: Size, *, plug_in: bool) -> float:
    """Root of the mean square: squares are what is unbiased."""
    return _root(float(np.mean(size.plug_in if plug_in else size.estimated)))


def _root(square: float) -> float:
    return math.sqrt(max(0.0, square))


def _told(truth: float, sizes: list[Size]) -> str:
    told = "; ".join(
        f"{size.rows} rows a cell: plug-in {_root_mean(size, plug_in=True):.3f}, estimate "
        f"{_root_mean(size, plug_in=False):.3f}"
        for size in sizes
    )
    return f"Truth {truth:g}, root mean square of {_SAMPLES} samples. {told}."
