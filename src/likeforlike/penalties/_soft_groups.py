"""Soft groups: a row belongs to every group, with probabilities instead of a label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError

# Probabilities that were written with a few digits add up to one only nearly.
_SLACK = 1e-6


class SoftGroups:
    """Probabilities of groups by row, in the place of labels.

    Accepted wherever groups train a model: by penalties, by estimators as `sensitive_features`, by
    objectives of boosting and by torch losses. A row counts in every group by its probability.
    Where A is no input of the model nothing is lost in population, since

        E[g_A ∂f | X, L] = Σ_a P(A = a | X, L) g_a ∂f.

    Measures and audits do not take it: whether a model treats groups alike is for the true A to
    say (`likeforlike.teams`).

    Parameters
    ----------
    probabilities : (n, G) numbers >= 0 that sum to one in every row; (n,) are those of the second
        of two groups.
    groups : G labels, in the order of the columns.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.penalties import SoftGroups
    >>> sure = SoftGroups([0.0, 1.0], ("f", "m"))
    >>> lfl.FairLeap().value_and_grad([0.2, 0.6], sure)[0] == (
    ...     lfl.FairLeap().value_and_grad([0.2, 0.6], ["f", "m"])[0]
    ... )
    True
    >>> unsure = SoftGroups([0.5, 0.5], ("f", "m"))
    >>> lfl.FairLeap().value_and_grad([0.2, 0.6], unsure)[0]
    0.0
    """

    def __init__(
        self, probabilities: npt.ArrayLike, groups: Sequence[Hashable] = ("0", "1")
    ) -> None:
        try:
            given = np.asarray(probabilities, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"probabilities must be numbers: {error}.") from error
        if given.ndim == 1:
            given = np.column_stack([1.0 - given, given])
        self.groups: tuple[Hashable, ...] = tuple(groups)
        self.probabilities: FloatArray = _checked(given, self.groups)

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows and groups there are, (n, G)."""
        return self.probabilities.shape

    # Rows are taken out together, never one by one: a row alone would look like two of them.
    __iter__ = None

    def __getitem__(self, rows: Any) -> SoftGroups:  # noqa: ANN401
        return SoftGroups(self.probabilities[rows], self.groups)

    def __repr__(self) -> str:
        return f"SoftGroups({len(self):,} rows of {list(self.groups)})"


def _checked(given: FloatArray, groups: tuple[Hashable, ...]) -> FloatArray:
    if given.ndim != 2 or given.shape[1] != len(groups) or len(set(groups)) < len(groups):
        raise InputError(
            f"probabilities must have a column for each of the groups {list(groups)}, which must "
            f"differ; their shape is {given.shape}."
        )
    if not given.size:
        raise InputError("probabilities is empty; there is nothing to measure.")
    odd = ~(np.isfinite(given) & (given >= 0.0)).all(axis=1)
    odd |= ~(np.abs(given.sum(axis=1) - 1.0) <= _SLACK)
    if odd.any():
        row = int(np.argmax(odd))
        raise InputError(
            f"probabilities of row {row} are {given[row].tolist()}; they must be 0 or more and sum "
            "to one."
        )
    whole: FloatArray = given / given.sum(axis=1, keepdims=True)
    return whole
