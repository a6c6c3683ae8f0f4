"""The packages of the library, one row a layer, each standing on those below it."""

from __future__ import annotations

from markupsafe import Markup

from likeforlike.report import _svg as svg
from tools.layers import FOUNDATION, LAYERS
from tools.pictures.drawing import WIDTH, picture

__all__ = ["layers"]

_EDGE, _TOP, _HIGH, _SPACE = 24.0, 84.0, 46.0, 10.0


def layers() -> str:
    """All layers but the package itself, which offers what lies below."""
    rows = [*reversed(LAYERS[1:-1]), {"errors, _arrays, _text, …": "what everything stands on"}]
    height = _TOP + len(rows) * (_HIGH + _SPACE) + 10.0
    told = "; ".join(
        ", ".join(f"{name}: {knows}" for name, knows in layer.items()) for layer in LAYERS[1:-1]
    )
    return picture(
        "The layers of likeforlike",
        f"From the lowest layer to the highest: {', '.join(FOUNDATION)}; {told}.",
        height,
        svg.text(_EDGE, 34.0, "Every package imports only from below", class_="head"),
        svg.text(_EDGE, 60.0, "packages side by side do not know each other", class_="small"),
        *(_row(layer, _TOP + k * (_HIGH + _SPACE)) for k, layer in enumerate(rows)),
    )


def _row(layer: dict[str, str], top: float) -> Markup:
    """Boxes of one layer, as wide together as any other."""
    width = (WIDTH - 2.0 * _EDGE + _SPACE) / len(layer) - _SPACE
    boxes = []
    for k, (name, knows) in enumerate(layer.items()):
        left = _EDGE + k * (width + _SPACE)
        boxes += [
            svg.rect(left, top, width, _HIGH, class_="a ring", rx=6.0),
            svg.text(left + 12.0, top + 20.0, name, font_weight="650"),
            svg.text(left + 12.0, top + 38.0, knows, class_="small"),
        ]
    return svg.group(*boxes)
