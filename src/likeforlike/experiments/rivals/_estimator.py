"""scikit-learn estimators for models that are trained against an adversary: what they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._progress import epochs_bar
from likeforlike.errors import InputError
from likeforlike.experiments.rivals._adversarial_training import Optimizer, Schedule
from likeforlike.experiments.rivals._adversary import check_two_groups
from likeforlike.penalties import Layout
from likeforlike.training._limits import Table
from likeforlike.training._network_estimators import Fitted, Member, NetworkEstimator, fitted
from likeforlike.training._networks import Loss, Rows
from likeforlike.training._training import Follow, Trained, prepare


@dataclass(frozen=True, slots=True)
class Task:
    """What there is to train: scaled rows, and what is asked of the outputs.

    Attributes
    ----------
    rows, validation : one data set each; the same one if none could be held back.
    loss : of the outputs.
    outputs : how many there are.
    """

    rows: Rows
    validation: Rows
    loss: Loss
    outputs: int


class ContestEstimator(NetworkEstimator):
    """An estimator that is trained against an adversary."""

    strength: float

    @abstractmethod
    def _train(self, task: Task, strengths: FloatArray, seed: int, follow: Follow) -> Trained:
        """Train a stack of one."""

    def _check_settings(self) -> None:
        super()._check_settings()
        if not (np.isfinite(self.strength) and self.strength >= 0.0):
            raise InputError(
                f"strength must be a finite number of 0 or more, not {self.strength!r}."
            )

    def _needs_groups(self) -> bool:
        return self.strength > 0.0

    def _check_layout(self, layout: Layout) -> None:
        check_two_groups(layout)

    def _schedule(self, optimizer: Optimizer) -> Schedule:
        usual = 1.0 if optimizer == "adadelta" else 1e-3
        return Schedule(
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            optimizer=optimizer,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
        )

    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        ready = prepare(table, loss, self.validation_fraction, seed)
        strength = float(self.strength) if ready.grouped else 0.0
        with epochs_bar(self.max_epochs, self.verbose) as tick:
            trained = self._train(
                Task(ready.rows, ready.validation, loss, outputs),
                np.array([strength]),
                seed,
                lambda epoch: tick(epoch.number % self.max_epochs),
            )
        return fitted(ready, Member(trained, 0), strength)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless a setting is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {choices}, not {value!r}.")
