"""scikit-learn estimators for models that are trained against an adversary: what they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import torch

from likeforlike.baselines.adversary import check_two_groups
from likeforlike.baselines.contest import Optimiser, Schedule
from likeforlike.errors import InputError
from likeforlike.network_estimator import NetworkEstimator
from likeforlike.nn.data import Rows
from likeforlike.nn.fit import (
    Fitted,
    Table,
    held_out,
    scale_of,
    tensors,
    validation_disparity,
)
from likeforlike.nn.objectives import Loss
from likeforlike.nn.training import Follow, Trained
from likeforlike.penalties import Layout
from likeforlike.progress import epochs_bar
from likeforlike.transport.atoms import FloatArray

__all__ = ["ContestEstimator", "Task", "check_choice"]


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

    def _schedule(self, optimiser: Optimiser) -> Schedule:
        usual = 1.0 if optimiser == "adadelta" else 1e-3
        return Schedule(
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            optimiser=optimiser,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
        )

    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        held = held_out(table, loss, self.validation_fraction, seed)
        seen = table.take(np.setdiff1d(np.arange(len(table.inputs)), held))
        kept = table.take(held) if held.size else seen
        scale = scale_of(seen, loss)
        # So few rows that none are held back afford double precision.
        dtype = torch.float32 if held.size else torch.float64
        rows, validation = (tensors(part, scale, loss, dtype) for part in (seen, kept))
        strength = 0.0 if table.layout is None else float(self.strength)
        with epochs_bar(self.max_epochs, self.verbose) as tick:
            trained = self._train(
                Task(rows, validation, loss, outputs),
                np.array([strength]),
                seed,
                lambda epoch: tick(epoch.number % self.max_epochs),
            )
        fitted = Fitted(trained.network, scale, loss, strength, (), tuple(trained.curve), None)
        if kept.layout is None or not any(kept.layout.coverage().values()):
            return fitted
        disparity = validation_disparity(fitted.scores(kept.inputs), kept.layout)
        return replace(fitted, disparity=disparity)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless a setting is one of the choices.

    Examples
    --------
    >>> from likeforlike.baselines.estimator import check_choice
    >>> check_choice("optimiser", "adam", ("adam", "adadelta"))
    """
    if value not in choices:
        raise InputError(f"{name} must be one of {choices}, not {value!r}.")
