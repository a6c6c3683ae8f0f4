"""The bi-causal distance of the loan example: who stays, who has to move, and what it costs."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from likeforlike import NestedDisparity, cdd_wass
from likeforlike.datasets import load_loans
from likeforlike.report import AxisScale
from likeforlike.report import _svg as svg
from tools.pictures.drawing import picture

__all__ = ["nested"]

_HEIGHT = 480.0
_ORDER = ("high", "medium", "low")
_LEFT, _RIGHT, _BLOCK = 112.0, 424.0, 20.0
# Heights of whole groups and the space between levels.
_TOP, _WHOLE, _SPACE = 120.0, 270.0, 22.0
_PARTS = 580.0
_WIDTHS = AxisScale(0.0, 1.0, 0.0, 220.0)


class _Move(NamedTuple):
    source: str
    target: str
    mass: float

    @property
    def stays(self) -> bool:
        return self.source == self.target


def nested() -> str:
    """The plan between levels as flows, and the three parts of the distance."""
    frame = load_loans().frame
    found = cdd_wass(frame["approved"], frame["sex"], frame["income"])
    moves = sorted(
        (
            _Move(str(found.levels[i]), str(found.levels[j]), float(mass))
            for i, j, mass in zip(*found.plan, strict=True)
        ),
        key=lambda move: (_ORDER.index(move.source), _ORDER.index(move.target)),
    )
    return picture(
        "The plan between levels, and how the bi-causal distance splits",
        _told(found, moves),
        _HEIGHT,
        svg.text(24.0, 34.0, "Who stays among equals, who must move", class_="head"),
        svg.text(24.0, 60.0, "plan between the income levels of both groups", class_="small"),
        *_flows(moves),
        *_sides(moves),
        svg.text(_PARTS, 34.0, f"What it costs: {found.value:.3f}", class_="head"),
        svg.text(_PARTS, 60.0, f"order 2, level cost C = {found.level_cost:g}", class_="small"),
        *_parts(found),
    )


def _tops(moves: list[_Move], side: int) -> dict[str, float]:
    """Where each level begins on one side."""
    tops, y = {}, _TOP
    for level in _ORDER:
        tops[level] = y
        y += _SPACE + _WHOLE * sum(move.mass for move in moves if move[side] == level)
    return tops


def _flows(moves: list[_Move]) -> list[Markup]:
    left, right = _tops(moves, 0), _tops(moves, 1)
    drawn = []
    for move in moves:
        high = _WHOLE * move.mass
        drawn.append(_flow(left[move.source], right[move.target], high, stays=move.stays))
        left[move.source] += high
        right[move.target] += high
    return drawn


def _flow(start: float, end: float, high: float, *, stays: bool) -> Markup:
    """A band from left to right, bent like an S."""
    x1, x2 = _LEFT + _BLOCK, _RIGHT
    middle = (x1 + x2) / 2.0
    d = (
        f"M{x1:.1f} {start:.1f}C{middle:.1f} {start:.1f} {middle:.1f} {end:.1f} {x2:.1f} {end:.1f}"
        f"V{end + high:.1f}C{middle:.1f} {end + high:.1f} {middle:.1f} {start + high:.1f} "
        f"{x1:.1f} {start + high:.1f}z"
    )
    dashes = None if stays else "6 4"
    return svg.element("path", d=d, class_=f"{'e' if stays else 'c'} flow", stroke_dasharray=dashes)


def _sides(moves: list[_Move]) -> list[Markup]:
    pieces = []
    for side, (x, words, color) in enumerate(((_LEFT, "women", "a"), (_RIGHT, "men", "b"))):
        anchor, beside = ("end", x - 10.0) if side == 0 else ("", x + _BLOCK + 10.0)
        pieces.append(svg.text(x + _BLOCK / 2.0, _TOP - 16.0, words, class_=f"{color} word mid"))
        for level, y in _tops(moves, side).items():
            share = sum(move.mass for move in moves if move[side] == level)
            pieces.append(svg.rect(x, y, _BLOCK, _WHOLE * share, class_=f"{color} bubble"))
            middle = y + _WHOLE * share / 2.0
            pieces.append(svg.text(beside, middle - 2.0, level, class_=f"word {anchor}"))
            pieces.append(svg.text(beside, middle + 16.0, f"{share:.0%}", class_=f"small {anchor}"))
    return pieces


def _parts(found: NestedDisparity) -> list[Markup]:
    moved = 1.0 - found.diagonal_mass
    rows = (
        ("diagonal", found.diagonal, "e", f"{found.diagonal_mass:.0%} stay: equals, scored apart"),
        ("off-diagonal", found.off_diagonal, "c", f"{moved:.0%} move: scores of unequals"),
        ("level transport", found.level_transport, "c", f"C × {moved:.0%}: says nothing of scores"),
    )
    pieces = []
    for k, (name, value, color, words) in enumerate(rows):
        y = _TOP + 28.0 + 94.0 * k
        wide = _WIDTHS(value)
        dashes = None if color == "e" else "6 4"
        pieces += [
            svg.text(_PARTS, y - 12.0, name, class_="word"),
            svg.rect(_PARTS, y, wide, 22.0, class_=f"{color} flow", stroke_dasharray=dashes),
            svg.text(_PARTS + wide + 10.0, y + 17.0, f"{value:.3f}", class_="strong"),
            svg.text(_PARTS, y + 44.0, words, class_="small"),
        ]
    return pieces


def _told(found: NestedDisparity, moves: list[_Move]) -> str:
    told = "; ".join(
        f"{move.mass:.0%} {'stay in' if move.stays else f'move from {move.source} to'} "
        f"{move.target}"
        for move in moves
    )
    return (
        f"Plan from women to men: {told}. Distance {found.value:.3f} = diagonal "
        f"{found.diagonal:.3f} + off-diagonal {found.off_diagonal:.3f} + level transport "
        f"{found.level_transport:.3f}."
    )
