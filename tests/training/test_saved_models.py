"""Saved models: damaged or hostile files end in one clear error, never in wrong scores."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import likeforlike as lfl

Document = dict[str, Any]


def document() -> Document:
    """A sound model: two columns, three inputs, two hidden units."""
    return {
        "format": "likeforlike model 1",
        "made_by": {"method": "by hand"},
        "task": "regression",
        "columns": [{"name": "debt", "values": None}, {"name": "city", "values": ["Oslo", "Rome"]}],
        "mean": [0.0, 0.5, 0.5],
        "spread": [1.0, 0.5, 0.5],
        "weights": [[[1.0, 0.0], [0.5, 1.0], [0.0, 1.0]], [[0.0, 0.0]], [[1.0], [1.0]], [[0.25]]],
    }


def read(path: Path, content: str | bytes) -> Any:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return lfl.load(path)


TABLE = {"debt": [1.0, 3.0], "city": ["Oslo", "Rome"]}


def test_a_sound_model_is_read(tmp_path: Path) -> None:
    scores = read(tmp_path / "model.json", json.dumps(document())).scores(TABLE)
    np.testing.assert_allclose(scores, [1.75, 2.75])


def without(part: str) -> Callable[[Document], object]:
    return lambda model: model.pop(part)


def having(part: str, value: object) -> Callable[[Document], object]:
    return lambda model: model.update({part: value})


def weight(place: int, value: object) -> Callable[[Document], object]:
    return lambda model: model["weights"].__setitem__(place, value)


def column(place: int, value: object) -> Callable[[Document], object]:
    return lambda model: model["columns"].__setitem__(place, value)


ODD: list[Any] = [None, 1, "text", {}, [], [None], [[]], [[[]]]]
DAMAGES: dict[str, Callable[[Document], object]] = {
    **{f"no {part}": without(part) for part in document() if part != "format"},
    **{
        f"{part} is {value!r}": having(part, value)
        for part in document()
        for value in ODD
        if not (part == "made_by" and value == {})
    },
    "an unknown task": having("task", "ranking"),
    "a strength that is no number": having("made_by", {"strength": float("inf")}),
    "another format": having("format", "likeforlike model 2"),
    "a mean that broadcasts": having("mean", [0.0]),
    "a mean of too many": having("mean", [0.0] * 4),
    "a mean in a table": having("mean", [[0.0, 0.5, 0.5]]),
    "a mean of texts": having("mean", ["0", "0", "0"]),
    "a mean of truth values": having("mean", [True, False, True]),
    "a mean that is no number": having("mean", [0.0, float("nan"), 0.0]),
    "a mean beyond all numbers": having("mean", [0, 0, 10**400]),
    "a spread of 0": having("spread", [1.0, 0.0, 1.0]),
    "a negative spread": having("spread", [1.0, -1.0, 1.0]),
    "an infinite spread": having("spread", [1.0, float("inf"), 1.0]),
    "a bias that broadcasts": weight(1, [[0.0]]),
    "a bias in a row": weight(1, [0.0, 0.0]),
    "a bias for each row": weight(1, [[0.0, 0.0], [1.0, 1.0]]),
    "a matrix of other inputs": weight(0, [[1.0, 0.0]]),
    "a matrix of unequal rows": weight(0, [[1.0, 0.0], [1.0], [0.0, 1.0]]),
    "a matrix turned round": weight(0, [[1.0, 0.5, 0.0], [0.0, 1.0, 1.0]]),
    "a matrix of numbers that are none": weight(0, [[float("nan")] * 2] * 3),
    "an infinite bias": weight(3, [[float("-inf")]]),
    "two outputs": lambda model: model["weights"].__setitem__(
        slice(2, 4), [[[1.0, 0.0], [1.0, 0.0]], [[0.0, 0.0]]]
    ),
    "no layers": having("weights", []),
    "half a layer": lambda model: model["weights"].pop(),
    "a column without a name": column(0, {"values": None}),
    "a column without values": column(0, {"name": "debt"}),
    "a name that is a number": column(0, {"name": 3, "values": None}),
    "a column that is a text": column(0, "debt"),
    "the same column twice": column(1, {"name": "debt", "values": ["Oslo", "Rome"]}),
    "values that are numbers": column(1, {"name": "city", "values": [1, 2]}),
    "values that are a text": column(1, {"name": "city", "values": "OR"}),
    "the same value twice": column(1, {"name": "city", "values": ["Oslo", "Oslo"]}),
    "no values": column(1, {"name": "city", "values": []}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_model_is_refused(damage: Callable[[Document], object], tmp_path: Path) -> None:
    model = document()
    damage(model)
    with pytest.raises(
        lfl.errors.InputError, match=r"model\.json is not a (saved )?model[^\n]+\.$"
    ):
        read(tmp_path / "model.json", json.dumps(model))


CONTENTS = {
    "nothing": b"",
    "no JSON": b"{",
    "no text": b"\xff\xfe\x00",
    "a list": b"[]",
    "deep lists": b"[" * 100_000,
    "deep parts": b'{"format": ' * 100_000,
    "deep weights": json.dumps(document())[:-2].encode() + b"[" * 900 + b"]" * 900 + b"]}",
    "a number of many digits": json.dumps(document()).replace("0.25", "1" * 6000).encode(),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_file_that_is_no_model_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(lfl.errors.InputError, match=r"is not a (saved )?model"):
        read(tmp_path / "model.json", content)


def test_every_cut_of_a_model_is_refused(tmp_path: Path) -> None:
    whole = json.dumps(document())
    for end in range(0, len(whole) - 1, 9):
        with pytest.raises(lfl.errors.InputError, match=r"is not a (saved )?model"):
            read(tmp_path / "model.json", whole[:end])


def test_a_file_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(lfl.errors.InputError, match="it has more than 200,000,000 bytes"):
        lfl.load(path)


def test_a_folder_and_a_device_are_no_models(tmp_path: Path) -> None:
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(
            lfl.errors.InputError, match="is not a saved model, repair or audit: it is not a file"
        ):
            lfl.load(path)


def test_weights_of_any_size_give_finite_scores_or_an_error(tmp_path: Path) -> None:
    model = document()
    model["weights"][2] = [[1e308], [1e308]]
    large = read(tmp_path / "model.json", json.dumps(model))
    with pytest.raises(lfl.errors.InputError, match="row 0 is so far"):
        large.scores({"debt": [1e9, 0.0], "city": ["Oslo", "Oslo"]})
    model["task"] = "classification"
    chances = read(tmp_path / "model.json", json.dumps(model)).scores(TABLE)
    assert ((chances >= 0.0) & (chances <= 1.0)).all()


def test_masked_values_are_not_taken_for_values(tmp_path: Path) -> None:
    model = read(tmp_path / "model.json", json.dumps(document()))
    debt = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    city = np.ma.masked_array(["Oslo", "Rome"], mask=[True, False])
    for table in ({**TABLE, "debt": debt}, {**TABLE, "city": city}):
        with pytest.raises(lfl.errors.InputError, match="1 masked value"):
            model.scores(table)


def test_columns_of_different_lengths_are_refused(tmp_path: Path) -> None:
    model = read(tmp_path / "model.json", json.dumps(document()))
    with pytest.raises(lfl.errors.InputError, match=r"column 'city' has 2 row.*'debt' has 3"):
        model.scores({**TABLE, "debt": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("value", ["NaN", "sNaN", "-Infinity"])
def test_decimals_that_are_no_numbers_do_not_make_an_engine_panic(
    value: str, tmp_path: Path
) -> None:
    model = read(tmp_path / "model.json", json.dumps(document()))
    for city in (["Oslo", Decimal(value)], np.array([Decimal(value), "Rome"], dtype=object)):
        with pytest.raises(
            lfl.errors.InputError, match=f"column 'city' has the value {value} in row"
        ):
            model.scores({**TABLE, "city": city})
