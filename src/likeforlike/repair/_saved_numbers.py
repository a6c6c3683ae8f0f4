"""Windows along a number as plain values, as a file of a repair holds them."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.repair._along_number import AlongNumber, CellWindows, Gaps
from likeforlike.repair._plain_classifier import number_array
from likeforlike.repair._unaware_along import AlongUnaware
from likeforlike.smoothing._carry import ScaleCarry, ValueCarry
from likeforlike.smoothing._fine_cells import FineCells
from likeforlike.smoothing._ranking import Ranking
from likeforlike.smoothing._smoother import Choice

_CURVE = ("mean", "scale", "nodes", "law")
_FLOATS = ("numbers", "ranks", "center", "window_center", "shift", "chances", "factors")
_WHOLE = ("offsets", "cell_offsets", "window", "window_segment")


def numbers_to_document(along: AlongUnaware) -> dict[str, Any]:
    """What is needed to place and carry new rows; `categories` are labels."""
    inner = along.along
    cells, ranking, model = inner.cells, inner.cells.ranking, inner.model
    arrays = {
        "numbers": ranking.numbers,
        "ranks": ranking.ranks,
        "offsets": ranking.offsets,
        "center": cells.center,
        "cell_offsets": cells.offsets,
        "window": inner.windows.of_cell,
        "window_segment": inner.windows.segment,
        "window_center": inner.windows.center,
        "shift": inner.gaps.of_all,
        "chances": along.chances,
        "factors": along.factors,
    }
    document: dict[str, Any] = {name: array.tolist() for name, array in arrays.items()}
    document["categories"] = [label_to_json(one) for one in inner.categories]
    document["curve"] = None
    if isinstance(model, ScaleCarry):
        document["curve"] = {name: getattr(model, name).tolist() for name in _CURVE}
    return document


def numbers_from_document(document: dict[str, Any], labels: tuple[Hashable, ...]) -> AlongUnaware:
    """Make the same again, for rows with labels as they were."""
    categories = tuple(map(label_from_json, checked_list(document["categories"], "categories")))
    floats = {name: number_array(document[name], name) for name in _FLOATS}
    whole = {name: number_array(document[name], name, whole=True) for name in _WHOLE}
    _check_windows(floats, whole, categories, labels)
    ends = whole["offsets"]
    ranking = Ranking(
        floats["numbers"],
        floats["ranks"],
        ends,
        floats["numbers"][ends[:-1]],
        floats["numbers"][ends[1:] - 1],
    )
    cells = _cells(ranking, floats["center"], whole["cell_offsets"])
    windows = CellWindows(whole["window"], whole["window_segment"], floats["window_center"])
    gaps = Gaps(np.zeros(floats["factors"].shape), floats["shift"])
    model = _model(cells, document["curve"])
    along = AlongNumber(cells, categories, windows, labels, model, gaps)
    return AlongUnaware(along, floats["chances"], floats["factors"])


def _cells(ranking: Ranking, center: FloatArray, offsets: IntArray) -> FineCells:
    """Cells that no row lies in yet."""
    nobody, ones = np.zeros(0), np.ones(center.size)
    nowhere = np.zeros(0, np.int64)
    return FineCells(
        ranking=ranking,
        segment=nowhere,
        position=nobody,
        cell=nowhere,
        mass=nobody,
        rows=nobody,
        cluster=None,
        center=center,
        raw=center,
        total=ones,
        effective=ones,
        offsets=offsets,
    )


def _model(cells: FineCells, curve: dict[str, Any] | None) -> ScaleCarry | ValueCarry:
    choice = Choice(np.zeros(0, np.int64), np.zeros(0))
    if curve is None:
        return ValueCarry(cells, np.zeros(0), np.zeros((cells.center.size, 0)), choice)
    mean, scale, nodes, law = (number_array(curve[name], name) for name in _CURVE)
    m = cells.center.size
    if not (mean.shape == scale.shape == (m,) and law.shape == (m, nodes.size) and nodes.size):
        raise InputError("the curve does not fit its cells")
    if not (all(np.isfinite(one).all() for one in (mean, nodes, law)) and (scale > 0.0).all()):
        raise InputError("the curve must be of finite numbers, and its scale above 0")
    return ScaleCarry(cells, mean, scale, nodes, law, choice)


def _check_windows(
    floats: dict[str, FloatArray],
    whole: dict[str, IntArray],
    categories: tuple[Hashable, ...],
    labels: tuple[Hashable, ...],
) -> None:
    """Raise unless all of it fits together."""
    m, n_windows, n_segments = floats["center"].size, len(labels), len(categories)
    right = (
        whole["offsets"].shape == whole["cell_offsets"].shape == (n_segments + 1,)
        and floats["numbers"].shape == floats["ranks"].shape == (whole["offsets"][-1],)
        and whole["cell_offsets"][-1] == m
        and all((np.diff(whole[name]) > 0).all() for name in ("offsets", "cell_offsets"))
        and whole["offsets"][0] == whole["cell_offsets"][0] == 0
        and whole["window"].shape == (m,)
        and _below(whole["window"], n_windows)
        and whole["window_segment"].shape == floats["window_center"].shape == (n_windows,)
        and _below(whole["window_segment"], n_segments)
        and floats["shift"].shape == (n_windows,)
        and len(floats["chances"]) == m
        and len(floats["factors"]) == n_windows
        and floats["chances"].shape[1:] == floats["factors"].shape[1:]
    )
    if not right or not all(np.isfinite(one).all() for one in floats.values()):
        raise InputError("numbers, cells and windows do not fit together")


def _below(places: IntArray, limit: int) -> bool:
    return bool(((places >= 0) & (places < limit)).all())


def plain_setting(setting: object) -> object:
    """Turn a setting into a value that JSON can hold."""
    if isinstance(setting, tuple):
        return [plain_setting(one) for one in setting]
    plain: object = setting.item() if isinstance(setting, np.generic) else setting
    return plain


def label_to_json(label: Hashable) -> object:
    """Turn a label into JSON; combinations of columns become lists."""
    if isinstance(label, tuple):
        return [label_to_json(one) for one in label]
    if not isinstance(label, str | int | float | bool):
        raise InputError(
            f"the label {label!r} is a {type(label).__name__}, which JSON cannot hold; use text or "
            "numbers for groups and levels."
        )
    return label


def finite_values(part: object) -> object:
    """Turn numbers that are not finite into `None`."""
    if isinstance(part, dict):
        return {str(name): finite_values(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [finite_values(value) for value in part]
    if isinstance(part, float) and not math.isfinite(part):
        return None
    return plain_setting(part)


def label_from_json(label: object) -> Hashable:
    """Read a label; lists become combinations of columns."""
    if isinstance(label, list):
        return tuple(label_from_json(one) for one in label)
    if not isinstance(label, str | int | float | bool):
        raise InputError(f"labels must be text or numbers, not {label!r}")
    return label


def checked_list(part: object, name: str) -> list[Any]:
    """Return a part of a document that must be a list."""
    if not isinstance(part, list):
        raise InputError(f"{name} must be a list")
    return part
