"""Transport on a line: the cheapest plan keeps the order, and W_1 is an area."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from likeforlike._arrays import FloatArray
from likeforlike.report import AxisScale
from likeforlike.report import _svg as svg
from likeforlike.transport import _line as line
from tools.pictures.drawing import Axes, picture

__all__ = ["MEN", "WOMEN", "transport"]

WOMEN = (0.22, 0.31, 0.35, 0.48, 0.52, 0.70)
"""Six scores."""
MEN = (0.36, 0.55, 0.66, 0.88)
"""Four scores: groups need not have the same size."""

_HEIGHT, _TOP, _BOTTOM = 440.0, 112.0, 368.0
_MARKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_ROWS = AxisScale(0.0, 1.0, 104.0, 428.0)
_ABOVE, _BELOW = 176.0, 304.0
_QUANTILES = Axes(AxisScale(0.0, 1.0, 536.0, 888.0), AxisScale(0.0, 1.0, _BOTTOM, _TOP))


def transport() -> str:
    """Two samples, the plan between them, and the area between their quantile functions."""
    women, men = np.array(WOMEN), np.array(MEN)
    plan = line.plan(women, men)
    distance = line.cost(women, men, order=1.0)
    told = (
        f"Scores of {women.size} women: {_figures(women)}. Scores of {men.size} men: "
        f"{_figures(men)}. Moves of the plan: {_moves(plan, women, men)}. The area between the "
        f"quantile functions, W1, is {distance:.3f}."
    )
    return picture(
        "Transport between two samples on a line",
        told,
        _HEIGHT,
        svg.text(24.0, 34.0, "The plan: sort both, lowest to lowest", class_="head"),
        svg.text(480.0, 34.0, f"The distance: the area, W₁ = {distance:.3f}", class_="head"),
        svg.text(24.0, 60.0, "each line a move, its width the mass", class_="small"),
        svg.text(480.0, 60.0, "between the two quantile functions", class_="small"),
        _plan(plan, women, men),
        _areas(plan, women, men),
    )


def _figures(values: FloatArray) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _moves(plan: line.Plan, women: FloatArray, men: FloatArray) -> str:
    return "; ".join(
        f"{mass:.3f} from {women[i]:.2f} to {men[j]:.2f}" for i, j, mass in zip(*plan, strict=True)
    )


def _plan(plan: line.Plan, women: FloatArray, men: FloatArray) -> Markup:
    moves = [
        svg.line(
            _ROWS(women[i]), _ABOVE, _ROWS(men[j]), _BELOW, class_="move", stroke_width=48.0 * mass
        )
        for i, j, mass in zip(*plan, strict=True)
    ]
    ends = []
    for values, y, words in ((women, _ABOVE, "women"), (men, _BELOW, "men")):
        color = "a" if words == "women" else "b"
        ends.append(svg.line(_ROWS.start, y, _ROWS.end, y, class_="base"))
        ends.append(svg.text(_ROWS.start - 12.0, y + 5.0, words, class_=f"{color} word end"))
        ends.extend(_mark(words, _ROWS(value), y) for value in values)
    numbers = [
        svg.text(_ROWS(value), _BOTTOM + 20.0, f"{value:g}", class_="tick mid") for value in _MARKS
    ]
    name = svg.text((_ROWS.start + _ROWS.end) / 2.0, _BOTTOM + 44.0, "score", class_="small mid")
    return svg.group(*moves, *ends, *numbers, name)


def _mark(words: str, x: float, y: float) -> Markup:
    if words == "women":
        return svg.circle(x, y, 7.0, class_="a bubble")
    return svg.diamond(x, y, 9.0, class_="b hollow")


def _areas(plan: line.Plan, women: FloatArray, men: FloatArray) -> Markup:
    """Every move is a rectangle: as wide as its mass, as high as the way it goes."""
    below, above = (_curve(women[plan.source], plan.mass), _curve(men[plan.target], plan.mass))
    fill = svg.path([*below, *reversed(above)], closed=True, class_="c area")
    names = ("share of the group, from the lowest score up", "score")
    return svg.group(
        _QUANTILES.drawn(names, (_MARKS, _MARKS)),
        fill,
        svg.path(below, class_="a outline"),
        svg.path(above, class_="b outline", stroke_dasharray="8 5"),
        svg.text(*_beside(below, 22.0), "women", class_="a word"),
        svg.text(*_beside(above, -12.0), "men", class_="b word end"),
    )


def _curve(values: FloatArray, mass: FloatArray) -> list[tuple[float, float]]:
    """A quantile function as steps, from what each move takes or brings and its mass."""
    ends = np.cumsum(mass)
    return [
        _QUANTILES(float(share), float(value))
        for value, last, own in zip(values, ends, mass, strict=True)
        for share in (last - own, last)
    ]


def _beside(curve: list[tuple[float, float]], shift: float) -> tuple[float, float]:
    """A place for the name of a curve: in its middle, below or above it."""
    x, y = curve[len(curve) // 2]
    return x + shift / 2.0, y + shift
