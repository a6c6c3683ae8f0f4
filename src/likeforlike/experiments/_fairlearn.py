"""fairlearn's adversarial debiasing as it comes, with the network and the stopping of the task.

Its classifier has no probabilities: `predict` gives decisions, which is what somebody who runs it
gets. The probability of its network is asked for here as well; `HardLabels` cuts it as `predict`
does. Its adversary sees what the network says and nothing else, so it aims at demographic parity
and knows nothing of levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError
from likeforlike.experiments._methods import Method
from likeforlike.experiments._split import Split
from likeforlike.experiments._task import Task
from likeforlike.experiments.rivals._adversary import check_two_groups
from likeforlike.penalties import Layout
from likeforlike.training._networks import Rows


@dataclass(frozen=True)
class FairlearnAdversarial(Method):
    """Adversarial debiasing by fairlearn; strengths are its `alpha`.

    The network has the layers, the optimizer, the rate and the batches of the task, and stops after
    its `patience` epochs without a lower loss on the validation rows, as the paper says of all
    methods. The weights of the last epoch are kept, since fairlearn keeps no others. It must be
    installed.

    Attributes
    ----------
    name, strengths : as for every method.

    Examples
    --------
    >>> from likeforlike.experiments import FairlearnAdversarial
    >>> FairlearnAdversarial().strengths
    (1.0,)
    """

    name: str = "fairlearn"
    strengths: tuple[float, ...] = (1.0,)

    def check(self, task: Task) -> None:
        """Refuse a `task` of more than two groups, and a machine without fairlearn."""
        check_two_groups(Layout.from_columns(task.data.groups))
        try:
            import fairlearn.adversarial  # noqa: F401
        except ImportError as error:
            raise InputError(
                f"{self.name} needs fairlearn, as pip install 'likeforlike[bench]' brings it."
            ) from error

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows of `task`, for s `seeds` at k strengths; the splits."""
        parts = task.split(seeds)
        found = np.stack(
            [
                np.stack([_fitted_scores(task, parts, k, alpha) for alpha in self.strengths])
                for k in range(len(seeds))
            ]
        )
        return parts.natural(found), parts


def _fitted_scores(task: Task, parts: Split, split: int, alpha: float) -> FloatArray:
    """Scores (n,) of the test rows of one split, as its network gives them."""
    from fairlearn.adversarial import AdversarialFairnessClassifier, AdversarialFairnessRegressor

    classes = parts.loss != "squared"
    inputs, targets = _arrays(parts.train, split)
    groups = parts.train.layout.segments[split] % 2
    model = (AdversarialFairnessClassifier if classes else AdversarialFairnessRegressor)(
        backend="torch",
        predictor_model=[part for width in task.hidden for part in (width, "relu")],
        adversary_model=[50, "relu"],
        learning_rate=task.learning_rate,
        alpha=alpha,
        epochs=task.max_epochs,
        batch_size=task.batch_size,
        shuffle=True,
        callbacks=_Patience(task, parts, split),
        random_state=int(parts.seeds[split]),
    )
    model.fit(inputs, targets, sensitive_features=groups)
    scores: FloatArray = model.backendEngine_.evaluate(_arrays(parts.test, split)[0])
    return scores.ravel().astype(np.float64)


class _Patience:
    """Stops after so many epochs without a lower loss on the validation rows."""

    def __init__(self, task: Task, parts: Split, split: int) -> None:
        self._inputs, self._targets = _arrays(parts.validation, split)
        self._batches = -(-parts.train.size // task.batch_size)
        self._patience, self._squared = task.patience, parts.loss == "squared"
        self._least, self._since = np.inf, 0

    def __call__(self, model: Any, step: int, **_: object) -> bool:  # noqa: ANN401
        if step % self._batches:
            return False
        scores = model.backendEngine_.evaluate(self._inputs).ravel().astype(np.float64)
        if self._squared:
            loss = ((scores - self._targets) ** 2).mean()
        else:
            chance = np.where(self._targets > 0.5, scores, 1.0 - scores)
            loss = -np.log(np.maximum(chance, 1e-12)).mean()
        self._since = 0 if loss < self._least else self._since + 1
        self._least = min(self._least, loss)
        return self._since >= self._patience


def _arrays(rows: Rows, split: int) -> tuple[FloatArray, FloatArray]:
    """Inputs (n, d) and targets (n,) of one data set."""
    return rows.inputs[split].double().numpy(), rows.targets[split].double().numpy()
