"""Repairs as plain files: what is read back, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import likeforlike as lfl
from likeforlike.errors import InputError
from likeforlike.repair import FairDecisions, UnawareRepair
from likeforlike.repair._plain_values import plain_classifier
from tests.repair.unaware import Drawn, drawn

PEOPLE = drawn(1200, levels=2)
MODELS: dict[str, Any] = {
    "LightGBM": LGBMClassifier(
        n_estimators=15, learning_rate=0.3, num_leaves=5, n_jobs=1, verbose=-1
    ),
    "scikit-learn": HistGradientBoostingClassifier(
        max_iter=15, learning_rate=0.3, max_leaf_nodes=6
    ),
    "logistic": LogisticRegression(),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_groups", [2, 3])
def test_plain_classifiers_predict_as_they_did(name: str, n_groups: int) -> None:
    people = drawn(600, n_groups=n_groups)
    rows = people.inputs.copy()
    if name != "logistic":
        rows[::7, 0] = np.nan
    model = MODELS[name].fit(rows, people.groups)
    new = rows.copy()
    if name != "logistic":
        new[::5, 1] = np.nan
    np.testing.assert_allclose(
        plain_classifier(model).predict_proba(new), model.predict_proba(new), atol=1e-12
    )


def fitted(people: Drawn, kind: Any = UnawareRepair, **settings: Any) -> Any:
    settings = {"propensity": MODELS["logistic"], **settings}
    return kind(**settings).fit(people.scores, people.inputs, **people.who)


@pytest.mark.parametrize("name", MODELS)
def test_a_repair_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    repair = fitted(PEOPLE, propensity=MODELS[name], values=30, repair_level=0.9)
    repair.save(tmp_path / "repair.json")
    again = lfl.load(tmp_path / "repair.json")
    assert isinstance(again, UnawareRepair)
    assert again.get_params()["repair_level"] == 0.9
    new = drawn(300, levels=2, seed=5)
    columns = (new.scores, new.inputs)
    np.testing.assert_allclose(
        again.transform(*columns, legitimate_features=new.levels),
        repair.transform(*columns, legitimate_features=new.levels),
        atol=1e-10,
    )
    assert again.record_["rows"] == 1200
    with pytest.raises(InputError, match="record_"):
        _ = again.report_


def test_decisions_are_read_as_they_were_written(tmp_path: Path) -> None:
    words = PEOPLE._replace(levels=np.array(["low", "high"])[PEOPLE.levels])
    rule = fitted(words, FairDecisions, max_disparity=0.02, cost=(2, 1))
    rule.save(tmp_path / "rule.json")
    again = lfl.load(tmp_path / "rule.json")
    assert isinstance(again, FairDecisions)
    new = {"legitimate_features": words.levels}
    np.testing.assert_array_equal(
        again.predict(words.scores, words.inputs, **new),
        rule.predict(words.scores, words.inputs, **new),
    )


def test_a_classifier_without_plain_numbers_is_refused(tmp_path: Path) -> None:
    repair = fitted(PEOPLE, propensity=GaussianNB(), values=10)
    with pytest.raises(InputError, match="GaussianNB cannot be written as plain numbers"):
        repair.save(tmp_path / "repair.json")
    assert not (tmp_path / "repair.json").exists()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("saved") / "repair.json"
    fitted(PEOPLE, propensity=MODELS["LightGBM"], values=10).save(path)
    read: dict[str, Any] = json.loads(path.read_text())
    return read


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "likeforlike model 2"}, "its format is"),
        ({"kind": "Recipe"}, "kind must be .UnawareRepair."),
        ({"settings": {"repair_level": 7}}, "repair_level must be a number"),
        ({"settings": {"penalty": 7}}, "unexpected keyword"),
        ({"groups": "fm"}, "groups must be a list"),
        ({"levels": [0, None]}, "labels must be text or numbers"),
        ({"levels": [0]}, "do not fit together"),
        ({"slot": [0, 99]}, "do not fit together"),
        ({"span": [0.0, 1.0, 1.0]}, "not negative"),
        ({"maps": [[1.0]]}, "of the shape"),
        ({"maps": "none"}, "maps must hold numbers"),
        ({"trust": 3}, "trust must lie"),
        ({"propensity": {"kind": "pickle"}}, "of one of the kinds"),
    ],
)
def test_what_is_no_repair_is_refused(
    change: dict[str, Any], words: str, document: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "repair.json"
    path.write_text(json.dumps({**document, **change}))
    with pytest.raises(InputError, match=words):
        lfl.load(path)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("left", 0, "come after their parents"),
        ("roots", -1, "trees must exist"),
        ("threshold", "x", "must hold numbers"),
        ("base", [0.0, 0.0], "sum"),
    ],
)
def test_trees_that_cannot_be_walked_are_refused(
    part: str, value: Any, words: str, document: dict[str, Any], tmp_path: Path
) -> None:
    trees = json.loads(json.dumps(document["propensity"]))
    if isinstance(value, list):
        trees[part] = value
    else:
        trees[part][0] = value
    path = tmp_path / "repair.json"
    path.write_text(json.dumps({**document, "propensity": trees}))
    with pytest.raises(InputError, match=words):
        lfl.load(path)


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"format": "likeforlike repair 1"}', "[" * 50_000])
def test_files_that_are_something_else_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "repair.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"is not a (saved model, )?repair"):
        lfl.load(path)
