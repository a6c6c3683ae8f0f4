"""Labels beside points: each where it covers neither a mark nor another label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Width of a letter and height of a line of the charts' type, in pixels, with some room.
_LETTER, _LINE = 7.6, 16.0
# How far from its point a label may be pushed, and by how much at a time.
_NEAR, _STEP, _STEPS = 9.0, 9.0, 12
# Above and below come first: intervals run to the left and right.
_DIRECTIONS = (
    (0.0, -1.0),
    (0.0, 1.0),
    (-1.0, -1.0),
    (1.0, 1.0),
    (1.0, -1.0),
    (-1.0, 1.0),
    (1.0, 0.0),
    (-1.0, 0.0),
)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the screen."""

    left: float
    top: float
    right: float
    bottom: float

    def shared(self, other: Box) -> float:
        """Area that two rectangles have in common."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)

    def slid_into(self, other: Box) -> Box:
        """The same rectangle, moved no further than it takes to lie in another."""
        across = max(other.left - self.left, 0.0) + min(other.right - self.right, 0.0)
        down = max(other.top - self.top, 0.0) + min(other.bottom - self.bottom, 0.0)
        return Box(self.left + across, self.top + down, self.right + across, self.bottom + down)


def place_labels(
    points: Sequence[tuple[float, float]],
    words: Sequence[str],
    frame: Box,
    taken: Sequence[Box] = (),
) -> list[Box]:
    """Find a place for the label of each point, one after the other.

    A label tries eight directions around its point, then the same further away, each slid into
    the frame, and takes the first place that is free; if there is none, the one that covers least.
    """
    placed: list[Box] = []
    for (x, y), label in zip(points, words, strict=True):
        fitting = [box.slid_into(frame) for box in _candidates(x, y, label)]
        barred = [*taken, *placed]

        def covered(box: Box, barred: Sequence[Box] = barred) -> float:
            return sum(box.shared(other) for other in barred)

        free = (box for box in fitting if covered(box) == 0.0)
        placed.append(next(free, None) or min(fitting, key=covered))
    return placed


def _candidates(x: float, y: float, label: str) -> Iterator[Box]:
    wide, high = _LETTER * len(label), _LINE
    for step in range(_STEPS):
        away = _NEAR + _STEP * step
        for across, down in _DIRECTIONS:
            middle_x = x + across * (away + wide / 2.0)
            middle_y = y + down * (away + high / 2.0)
            yield Box(
                middle_x - wide / 2.0,
                middle_y - high / 2.0,
                middle_x + wide / 2.0,
                middle_y + high / 2.0,
            )
