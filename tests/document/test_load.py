"""What was saved comes back, and other files are refused by their names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike.errors import InputError
from likeforlike.training import InputColumn, SavedModel


def test_models_come_back(tmp_path: Path) -> None:
    weights = (np.eye(1), np.zeros((1, 1)))
    model = SavedModel(
        (InputColumn("debt"),), np.zeros(1), np.ones(1), weights, "regression", {"seed": 1}
    )
    model.save(tmp_path / "model.json")
    again = lfl.load(str(tmp_path / "model.json"))
    assert isinstance(again, SavedModel)
    assert again.made_by == {"seed": 1}
    np.testing.assert_array_equal(again.scores({"debt": [1.0, 2.0]}), [1.0, 2.0])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "it is not JSON"),
        ("[1]", "it has no named parts"),
        (json.dumps({"format": "another"}), "its format is 'another'"),
        (json.dumps({"schema": "likeforlike.release"}), "its format is None"),
        ("[" * 50_000, "nested too deeply"),
    ],
)
def test_other_files_are_refused_by_name(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError, match=f"other.json is not a saved model.*{reason}"):
        lfl.load(path)


def test_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"none.json cannot be read: No such file"):
        lfl.load("none.json")
