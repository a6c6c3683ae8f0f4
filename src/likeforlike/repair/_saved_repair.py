"""A repair without the group as a plain file: JSON, in which nothing is executed.

It holds the levels and their maps, the classifier that guesses the group as plain numbers, and the
record of what the repair did when it was fitted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError
from likeforlike.files._writing import write_whole
from likeforlike.repair._decisions import FairDecisions
from likeforlike.repair._plain_classifier import (
    from_document,
    number_array,
    plain_classifier,
    to_document,
)
from likeforlike.repair._saved_numbers import numbers_from_document, numbers_to_document
from likeforlike.repair._slots import Slots
from likeforlike.repair._unaware import UnawareRepair
from likeforlike.repair._unaware_along import AlongUnaware
from likeforlike.repair._unaware_rows import UnawareEstimator

_FORMAT = "likeforlike repair 1"
_KINDS: dict[str, type[UnawareRepair | FairDecisions]] = {
    "UnawareRepair": UnawareRepair,
    "FairDecisions": FairDecisions,
}


def save_repair(repair: UnawareEstimator, path: Path | str) -> None:
    """Write a fitted repair to `path` as JSON, whole or not at all."""
    assert isinstance(repair, UnawareRepair | FairDecisions)
    report = repair.report_.to_dict()
    slots = repair._slots
    settings = {name: _plain(value) for name, value in repair.get_params(deep=False).items()}
    guess = repair.propensity_
    settings["propensity"] = "given" if guess is None else None
    document = {
        "format": _FORMAT,
        "kind": type(repair).__name__,
        "settings": settings,
        "groups": [_label(one) for one in repair.groups_],
        "levels": [_label(one) for one in repair.levels_],
        "has_levels": repair._has_levels,
        "inputs": repair._n_inputs,
        "rows": repair._n_rows,
        "trust": repair.trust_,
        "slot": slots.slot.tolist(),
        "shares": slots.shares.tolist(),
        "part": slots.part.astype(int).tolist(),
        "low": slots.low.tolist(),
        "span": slots.span.tolist(),
        "maps": _maps(repair).tolist(),
        "numbers": None if repair._along is None else _numbers(repair._along),
        "propensity": None if guess is None else to_document(plain_classifier(guess)),
        "report": _finite(report),
    }
    write_whole(path, json.dumps(document, allow_nan=False) + "\n")


def _numbers(along: AlongUnaware) -> dict[str, Any]:
    document = numbers_to_document(along)
    return document | {"categories": [_label(one) for one in document["categories"]]}


def _maps(repair: UnawareRepair | FairDecisions) -> FloatArray:
    return repair._potential if isinstance(repair, UnawareRepair) else repair.cut_offs_


def _plain(setting: object) -> object:
    if isinstance(setting, tuple):
        return [_plain(one) for one in setting]
    plain: object = setting.item() if isinstance(setting, np.generic) else setting
    return plain


def _label(label: Hashable) -> object:
    """A label as JSON has it; combinations of columns become lists."""
    if isinstance(label, tuple):
        return [_label(one) for one in label]
    if not isinstance(label, str | int | float | bool):
        raise InputError(
            f"the label {label!r} is a {type(label).__name__}, which JSON cannot hold; use text or "
            "numbers for groups and levels."
        )
    return label


def _finite(part: object) -> object:
    """Plain values in which numbers without a value are `None`."""
    if isinstance(part, dict):
        return {str(name): _finite(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [_finite(value) for value in part]
    if isinstance(part, float) and not math.isfinite(part):
        return None
    return _plain(part)


def repair_from_document(document: dict[str, Any]) -> UnawareRepair | FairDecisions:
    """Make the repair that a document describes, checked."""
    if document["kind"] not in _KINDS:
        raise InputError(f"kind must be one of {[*_KINDS]}")
    settings = dict(document["settings"])
    if isinstance(settings.get("cost"), list):
        settings["cost"] = tuple(settings["cost"])
    repair = _KINDS[document["kind"]](**settings)
    repair._check_settings()
    repair.groups_, repair.levels_ = (
        tuple(map(_read_label, _list(document[name], name))) for name in ("groups", "levels")
    )
    repair._slots = _slots(document, repair.levels_, len(repair.groups_))
    repair._has_levels = bool(document["has_levels"])
    repair._n_inputs, repair._n_rows = int(document["inputs"]), int(document["rows"])
    repair.trust_ = float(document["trust"])
    if not 0.0 <= repair.trust_ <= 1.0:
        raise InputError("trust must lie between 0 and 1")
    repair._along = _read_numbers(document.get("numbers"), repair.levels_)
    if (repair._along is not None) != repair.smooth:
        raise InputError("numbers are there if, and only if, smooth is set")
    guess = document["propensity"]
    repair.propensity_ = None if guess is None else from_document(guess)
    repair.record_ = document["report"]
    _set_maps(repair, number_array(document["maps"], "maps"))
    return repair


def _read_numbers(
    document: dict[str, Any] | None, levels: tuple[Hashable, ...]
) -> AlongUnaware | None:
    if document is None:
        return None
    categories = tuple(map(_read_label, _list(document["categories"], "categories")))
    return numbers_from_document(document, categories, levels)


def _set_maps(repair: UnawareRepair | FairDecisions, maps: FloatArray) -> None:
    n_slots, n_tilts = len(repair._slots.shares), len(repair.groups_) - 1
    if isinstance(repair, UnawareRepair):
        wanted: tuple[int, ...] = (n_slots, repair.values, n_tilts)
        repair._set_values()
        repair._potential = maps
    else:
        wanted = (n_slots, n_tilts)
        repair.cut_offs_ = maps
    if maps.shape != wanted or not np.isfinite(maps).all():
        raise InputError(f"maps must be finite numbers of the shape {wanted}, not {maps.shape}")


def _slots(document: dict[str, Any], levels: tuple[Hashable, ...], n_groups: int) -> Slots:
    slot = number_array(document["slot"], "slot", whole=True)
    shares = number_array(document["shares"], "shares")
    part = number_array(document["part"], "part", whole=True).astype(bool)
    low, span = (number_array(document[name], name) for name in ("low", "span"))
    n_slots = len(shares)
    right = (
        slot.shape == (len(levels),)
        and shares.shape == part.shape == (n_slots, n_groups)
        and low.shape == span.shape == (n_slots,)
        and bool(((slot >= 0) & (slot < n_slots)).all())
    )
    if not right or n_groups < 2:
        raise InputError("levels, slots and groups do not fit together")
    if not (np.isfinite(low).all() and (shares >= 0.0).all() and (span > 0.0).all()):
        raise InputError("low, shares and span must be finite, and not negative")
    return Slots(levels, slot, shares, part, low, span)


def _read_label(label: object) -> Hashable:
    if isinstance(label, list):
        return tuple(_read_label(one) for one in label)
    if not isinstance(label, str | int | float | bool):
        raise InputError(f"labels must be text or numbers, not {label!r}")
    return label


def _list(part: object, name: str) -> list[Any]:
    if not isinstance(part, list):
        raise InputError(f"{name} must be a list")
    return part
