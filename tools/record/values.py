"""Results as plain values that a file can hold, and where two of them differ.

Numbers are kept to twelve digits. Of long arrays a summary is kept: their shape, three means and a
few values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Plain", "differences", "plain", "recorded_text"]

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

# Arrays of more numbers than this are summarized.
_LONG = 12
_KEPT = 6
# Weights that give each place of an array a share of its own, so that an exchange is seen too.
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
# How far from 0 a number may be where the other is 0, as a part of the tolerance.
_NEAR_ZERO = 1e-3


def plain(value: object) -> Plain:
    """A result as plain values that JSON can hold.

    Parameters
    ----------
    value : numbers, text, arrays, and sequences and mappings of them.

    Examples
    --------
    >>> from tools.record.values import plain
    >>> plain({"value": 1 / 3, 2: (True, None)})
    {'value': 0.333333333333, '2': [True, None]}
    >>> plain(range(100))["shape"], plain(range(100))["mean"]
    ([100], 49.5)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return _summary(value) if _is_long(value) else plain(value.tolist())
    if isinstance(value, Sequence):
        array = _numbers(value)
        return [plain(part) for part in value] if array is None else _summary(array)
    raise TypeError(f"{type(value).__name__} cannot be recorded; name the figures of it to keep.")


def _is_long(array: npt.NDArray[np.generic]) -> bool:
    return array.size > _LONG and array.dtype.kind in "fiu"


def _numbers(values: Sequence[object]) -> npt.NDArray[np.generic] | None:
    """Many numbers as an array; `None` if they are few, or anything else is among them."""
    if len(values) <= _LONG or any(isinstance(each, bool | str | None) for each in values):
        return None
    if not all(isinstance(each, int | float) for each in values):
        return None
    return np.array(values)


def _summary(array: npt.NDArray[np.generic]) -> dict[str, Plain]:
    flat = np.asarray(array, dtype=np.float64).ravel()
    weights = np.arange(1, flat.size + 1) * _GOLDEN % 1.0
    places = np.linspace(0, flat.size - 1, _KEPT).astype(int)
    return {
        "shape": [int(size) for size in array.shape],
        "mean": plain(flat.mean()),
        "mean_size": plain(np.abs(flat).mean()),
        "weighted_mean": plain((weights * flat).mean()),
        "some": [plain(flat[place]) for place in places],
    }


def differences(
    recorded: Plain, now: Plain, tolerance: float, path: str = "", *, near_zero: float = _NEAR_ZERO
) -> Iterator[str]:
    """Where two plain results differ: one line a place, and none if they agree.

    What is new does not differ: results may gain entries, but what was recorded has to stay.

    Parameters
    ----------
    recorded, now : as made by `plain`.
    tolerance : of numbers, relative to the larger of the two.
    path : of the place inside the whole result.
    near_zero : how far from each other numbers may be whatever their size, as a part of the
        tolerance.

    Examples
    --------
    >>> from tools.record.values import differences
    >>> list(differences({"value": [1.0, 2.0]}, {"value": [1.0, 2.5], "new": 3}, 1e-9))
    ['.value[1]: 2.0 was recorded, now it is 2.5']
    """
    if isinstance(recorded, dict) and isinstance(now, dict):
        for key, part in recorded.items():
            if key in now:
                yield from differences(
                    part, now[key], tolerance, f"{path}.{key}", near_zero=near_zero
                )
            else:
                yield f"{path}.{key}: was recorded, now there is none"
    elif isinstance(recorded, list) and isinstance(now, list):
        if len(recorded) != len(now):
            yield f"{path}: {len(recorded)} entries were recorded, now there are {len(now)}"
            return
        for k, (before, after) in enumerate(zip(recorded, now, strict=True)):
            yield from differences(before, after, tolerance, f"{path}[{k}]", near_zero=near_zero)
    elif not _agree(recorded, now, tolerance, near_zero * tolerance):
        yield f"{path}: {recorded!r} was recorded, now it is {now!r}"


def _agree(recorded: Plain, now: Plain, tolerance: float, absolute: float) -> bool:
    if not (_is_number(recorded) and _is_number(now)):
        return type(recorded) is type(now) and recorded == now
    assert isinstance(recorded, int | float)
    assert isinstance(now, int | float)
    return math.isclose(recorded, now, rel_tol=tolerance, abs_tol=absolute)


def _is_number(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def recorded_text(results: Mapping[str, Plain]) -> str:
    """All results as JSON, one line a case, so that a difference of two files names the case.

    Examples
    --------
    >>> from tools.record.values import recorded_text
    >>> print(recorded_text({"dd": 0.5, "cdd_lp": [1, 2]}), end="")
    {
    "dd": 0.5,
    "cdd_lp": [1,2]
    }
    """
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'), allow_nan=False)}"
        for name, value in results.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"
