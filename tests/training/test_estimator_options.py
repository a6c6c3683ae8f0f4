"""Options of the estimators: networks of one's own, devices, rows held back, sparse inputs."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse
import sklearn
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from torch import nn

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.training import disparity_scorer

pytestmark = pytest.mark.training

LOANS = make_loans(500, gap=0.3, random_state=1)
X, Y = LOANS.inputs().matrix, LOANS.targets
WHO: dict[str, Any] = {
    "sensitive_features": LOANS.groups,
    "legitimate_features": LOANS.levels,
}
FEW: dict[str, Any] = {"max_epochs": 4, "learning_rate": 0.01, "random_state": 0}


def network(inputs: int, outputs: int) -> nn.Module:
    """A network with layers that keep state and that draw."""
    return nn.Sequential(
        nn.Linear(inputs, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, outputs)
    )


@pytest.fixture(scope="module")
def plain() -> lfl.FairClassifier:
    return lfl.FairClassifier(strength=3.0, **FEW).fit(X, Y, **WHO)


def test_a_module_of_ones_own_is_trained_and_kept(tmp_path: Path) -> None:
    state = torch.get_rng_state()
    model = lfl.FairClassifier(strength=3.0, module=network, **FEW).fit(X, Y, **WHO)
    found = model.predict_proba(X)
    # What is drawn comes from the seed, and torch's own numbers go on as if nothing had been.
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(clone(model).fit(X, Y, **WHO).predict_proba(X), found)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), found)
    joblib.dump(model, tmp_path / "model.joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict_proba(X), found)
    # Rows are scored one by one: no layer looks at its batch any more.
    np.testing.assert_allclose(model.predict_proba(X[:7]), found[:7], rtol=1e-5)
    free = lfl.FairClassifier(strength=0.0, module=network, **FEW).fit(X, Y, **WHO)
    assert (free.predict_proba(X) != found).any()


def test_a_module_is_what_the_layers_are() -> None:
    """The same weights to begin with, the same steps: the same network but for rounding."""
    from likeforlike.training import StackedMLP

    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    given = StackedMLP([seed], (X.shape[1], 6, 1)).weights
    first, last = nn.Linear(X.shape[1], 6), nn.Linear(6, 1)
    mine = nn.Sequential(first, nn.ReLU(), last)
    with torch.no_grad():
        for layer, k in ((first, 0), (last, 2)):
            layer.weight.copy_(given[k][0].T)
            layer.bias.copy_(given[k + 1][0, 0])
    before = [part.clone() for part in mine.parameters()]
    own = lfl.FairClassifier(strength=3.0, module=mine, **FEW).fit(X, Y, **WHO)
    layers = lfl.FairClassifier(strength=3.0, hidden_layer_sizes=(6,), **FEW).fit(X, Y, **WHO)
    np.testing.assert_allclose(own.predict_proba(X), layers.predict_proba(X), atol=2e-5)
    assert all(map(torch.equal, before, mine.parameters()))


def test_a_module_is_held_to_a_limit() -> None:
    model = lfl.FairClassifier(max_disparity=0.3, module=network, **FEW).fit(X, Y, **WHO)
    assert model.disparity_ is not None
    assert model.disparity_.interval[1] <= 0.3
    assert model.path_


def test_sparse_inputs_give_what_dense_ones_give(plain: lfl.FairClassifier) -> None:
    expected = plain.predict_proba(X)
    model = clone(plain).fit(scipy.sparse.csr_array(X), Y, **WHO)
    np.testing.assert_array_equal(model.predict_proba(scipy.sparse.csc_array(X)), expected)


def test_frames_and_grids_with_routing() -> None:
    frame = LOANS.frame.select("debt", "history", "tenure").to_pandas()
    with sklearn.config_context(enable_metadata_routing=True):
        model = lfl.FairClassifier(module=network, **FEW).set_fit_request(
            sensitive_features=True, legitimate_features=True, validation=True
        )
        grid = GridSearchCV(model, {"strength": [0.0, 30.0]}, scoring=disparity_scorer(), cv=2)
        grid.fit(frame, Y, validation=np.arange(500) % 5 == 0, **WHO)
    assert grid.best_params_["strength"] in (0.0, 30.0)
    assert grid.best_estimator_.feature_names_in_.tolist() == ["debt", "history", "tenure"]


def test_rows_held_back_by_name_stop_the_training(plain: lfl.FairClassifier) -> None:
    held = np.arange(500) >= 400
    model = clone(plain).fit(X, Y, validation=held, **WHO)
    # Rows held back take no part in training but to stop it: nonsense there stops it at once.
    broken = np.where(held, 1 - Y, Y)
    again = (
        clone(plain).set_params(patience=1, max_epochs=50).fit(X, broken, validation=held, **WHO)
    )
    assert again.n_iter_ < 50
    scores = model.predict_proba(X[held])[:, 1]
    loss = -np.mean(np.where(Y[held] == 1, np.log(scores), np.log1p(-scores)))
    assert loss == pytest.approx(min(model.loss_curve_), abs=0.05)
    assert min(abs(loss - each) for each in model.loss_curve_) < 1e-5


def test_class_weights_are_weights_of_the_loss_alone() -> None:
    weight = {0: 3.0, 1: 1.0}
    mine = lfl.FairClassifier(strength=0.0, class_weight=weight, **FEW).fit(X, Y)
    rows = lfl.FairClassifier(strength=0.0, **FEW).fit(
        X, Y, sample_weight=np.where(Y == 0, 3.0, 1.0)
    )
    np.testing.assert_allclose(mine.predict_proba(X), rows.predict_proba(X), rtol=1e-6)
    # The disparity counts people, whatever their class.
    heavy = lfl.FairClassifier(strength=3.0, class_weight={0: 1e6, 1: 1e6}, **FEW).fit(X, Y, **WHO)
    even = lfl.FairClassifier(strength=3.0, **FEW).fit(X, Y, **WHO)
    np.testing.assert_allclose(heavy.predict_proba(X), even.predict_proba(X), rtol=1e-5)
    lfl.FairClassifier(strength=0.0, class_weight="balanced", **FEW).fit(X, Y)


def test_training_is_told_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "likeforlike.training"):
        lfl.FairClassifier(strength=3.0, verbose=True, device="cpu", **FEW).fit(X, Y, **WHO)
        assert "epoch 0: 1 network(s) in training, validation loss" in caplog.text
        lfl.FairClassifier(max_disparity=0.3, verbose=True, **FEW).fit(X, Y, **WHO)
    assert "on the limit rows up to" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "likeforlike.training"):
        lfl.FairClassifier(strength=3.0, **FEW).fit(X, Y, **WHO)
    assert not caplog.text


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"device": "nowhere"}, {}, "device 'nowhere' cannot be used"),
        ({"module": 3}, {}, "module must be a torch module, or a function"),
        ({"module": lambda d, c: d + c}, {}, "made int"),
        ({"module": nn.Linear(X.shape[1], 2)}, {}, r"must give 1 output\(s\) for each row"),
        ({"class_weight": "heavy"}, {}, "class_weight: "),
        ({}, {"validation": [True]}, r"validation has 1 row\(s\)"),
        ({}, {"validation": np.ones(500, bool)}, "leave some to train on"),
        ({}, {"validation": np.arange(500)}, "validation must be true for rows to hold back"),
    ],
)
def test_bad_options(settings: dict[str, Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.FairClassifier(strength=0.0, **settings).fit(X, Y, **given)
