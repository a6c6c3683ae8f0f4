"""Marks that tell many methods apart: by shape and fill, then by color.

Shapes alone do it, so that a figure can be read in gray.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from likeforlike.errors import InputError
from likeforlike.plots._axes import COLORS


@dataclass(frozen=True, slots=True)
class Look:
    """How the points of one method are drawn.

    Attributes
    ----------
    marker : of matplotlib.
    fill : "full" or "hollow"; `+`, `x` and `2` are strokes, and hollow.
    color : of `COLORS`.
    """

    marker: str
    fill: Literal["full", "hollow"]
    color: str

    @property
    def form(self) -> tuple[str, str]:
        """What is left of a look in gray."""
        return self.marker, self.fill

    @property
    def style(self) -> dict[str, Any]:
        """Keywords for matplotlib's `plot`."""
        color = COLORS[self.color]
        inside = color if self.fill == "full" else "none"
        return {"marker": self.marker, "color": color, "markerfacecolor": inside}


LOOKS = (
    Look("o", "full", "blue"),
    Look("s", "hollow", "vermilion"),
    Look("^", "full", "green"),
    Look("D", "hollow", "purple"),
    Look("x", "hollow", "ink"),
    Look("v", "full", "ochre"),
    Look("o", "hollow", "gray"),
    Look("*", "full", "vermilion"),
    Look("^", "hollow", "blue"),
    Look("s", "full", "green"),
    Look("+", "hollow", "purple"),
    Look("p", "full", "ink"),
    Look("v", "hollow", "vermilion"),
    Look("D", "full", "ochre"),
    Look("<", "full", "blue"),
    Look(">", "hollow", "green"),
    Look("2", "hollow", "gray"),
    Look("h", "full", "purple"),
    Look("*", "hollow", "ink"),
    Look("<", "hollow", "ochre"),
    Look(">", "full", "gray"),
    Look("p", "hollow", "blue"),
    Look("h", "hollow", "vermilion"),
)
"""Looks in the order in which methods get them; no two have the same form."""


def looks_of(methods: Iterable[str], given: Mapping[str, Look]) -> dict[str, Look]:
    """A look for every method, in the order of the methods; those given are kept."""
    names = list(dict.fromkeys(methods))
    settled = {name: look for name, look in given.items() if name in names}
    taken = [look.form for look in settled.values()]
    if len(set(taken)) < len(taken):
        raise InputError(f"given has two methods of the same shape and fill: {settled}.")
    if len(names) > len(LOOKS):
        raise InputError(
            f"methods are {len(names)}, and a figure tells at most {len(LOOKS)} apart; draw fewer."
        )
    free = iter(look for look in LOOKS if look.form not in taken)
    return {name: settled[name] if name in settled else next(free) for name in names}
