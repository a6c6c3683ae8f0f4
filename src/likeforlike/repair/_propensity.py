"""Propensity P(A = a | inputs, level) of every row, out of fold, and how good it is.

Any scikit-learn classifier may estimate it. Rows are assigned to folds and predicted by a model of
the other folds; new rows are predicted by a model of all of them. The level and the score are
inputs as well: the first because propensities among equals are needed, the second because a repair
sorts rows by it, and propensities have to be calibrated at every score.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.disparity import Column, numbers, refuse_mask
from likeforlike.errors import InputError, MissingDependencyError
from likeforlike.transport import compiled

with extra("train"):
    from sklearn.base import clone
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.utils.validation import has_fit_parameter


class Classifier(Protocol):
    """What scikit-learn calls a classifier that knows chances."""

    @property
    def classes_(self) -> npt.NDArray[Any]: ...

    def fit(self, X: FloatArray, y: IntArray) -> Any: ...  # noqa: ANN401, N803

    def predict_proba(self, X: FloatArray) -> npt.NDArray[Any]: ...  # noqa: N803


Propensity: TypeAlias = Classifier | Literal["given"] | None
"""Who guesses the group; `None` is the default classifier."""

Inputs: TypeAlias = Column
"""A table or an array of one or two dimensions."""

GIVEN = "given"
"""A propensity of this name means that inputs are the chances themselves."""

# No chance is taken to be closer to 0 or 1 where a logarithm is needed.
_LEAST = 1e-6


def input_matrix(inputs: Inputs, size: int) -> FloatArray:
    """Return inputs of `size` rows, a table or an array, as numbers (n, d)."""
    refuse_mask(inputs, "inputs")
    try:
        table = nw.from_native(inputs, eager_only=True, pass_through=True)
    except NarwhalsError as error:
        raise InputError(f"inputs cannot be read: {' '.join(str(error).split())}.") from error
    if isinstance(table, nw.DataFrame):
        columns = []
        for column in table.iter_columns():
            if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
                raise InputError(
                    f"column {column.name!r} of inputs is {column.dtype}, not a number; encode it "
                    "as the model does, or leave it out."
                )
            columns.append(np.asarray(column.to_numpy(), dtype=np.float64))
        matrix = np.column_stack(columns) if columns else np.empty((len(table), 0))
    else:
        try:
            matrix = np.asarray(inputs, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"inputs must hold numbers; encode text as the model does ({error})."
            ) from error
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"inputs must have rows and columns, but their shape is {matrix.shape}.")
    if len(matrix) != size:
        raise InputError(f"inputs has {len(matrix)} row(s), but scores have {size}.")
    return matrix


def default_classifier(seed: int | None) -> Classifier:
    """LightGBM if it is installed, or else scikit-learn's own trees; few leaves, many rows each."""
    try:
        with extra("boost"):
            from lightgbm import LGBMClassifier
    except MissingDependencyError:
        trees: Classifier = HistGradientBoostingClassifier(
            max_iter=80, max_leaf_nodes=15, min_samples_leaf=40, random_state=seed
        )
        return trees
    boosted: Classifier = LGBMClassifier(
        n_estimators=80,
        num_leaves=15,
        min_child_samples=40,
        n_jobs=1,
        random_state=seed,
        deterministic=True,
        force_row_wise=True,
        verbose=-1,
    )
    return boosted


def check_classifier(propensity: object) -> None:
    """Raise unless this can guess a group."""
    if propensity is None or (isinstance(propensity, str) and propensity == GIVEN):
        return
    if isinstance(propensity, type) or not (
        hasattr(propensity, "fit") and hasattr(propensity, "predict_proba")
    ):
        raise InputError(
            "propensity must be None, 'given' or a classifier with fit and predict_proba, not "
            f"{propensity!r}."
        )


def estimate_propensity(
    matrix: FloatArray,
    group: IntArray,
    n_groups: int,
    fold: IntArray,
    *,
    propensity: Classifier | None,
    mass: FloatArray | None,
    seed: int | None,
) -> tuple[FloatArray, Classifier]:
    """Predict chances (n, G) of every row out of fold, and fit a model to all rows.

    The matrix (n, d) holds inputs, level and score; group and fold are (n,), and so is mass, or
    `None`. `propensity` is a classifier, or `None` for the default one with this seed.
    """
    model = default_classifier(seed) if propensity is None else propensity
    chances = np.empty((group.size, n_groups))
    for k in range(int(fold.max()) + 1):
        others, inside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        own = None if mass is None else mass[others]
        fitted = _fit_classifier(model, matrix[others], group[others], own)
        chances[inside] = predict_propensities(fitted, matrix[inside], n_groups)
    return chances, _fit_classifier(model, matrix, group, mass)


def _fit_classifier(
    model: Classifier, matrix: FloatArray, group: IntArray, mass: FloatArray | None
) -> Classifier:
    fresh: Any = clone(model)
    if mass is not None and not has_fit_parameter(fresh, "sample_weight"):
        raise InputError(
            f"{type(fresh).__name__} takes no sample_weight; choose another propensity, or leave "
            "the weights out."
        )
    known = {} if mass is None else {"sample_weight": mass}
    fitted: Classifier = fresh.fit(matrix, group, **known)
    return fitted


def predict_propensities(model: Classifier, matrix: FloatArray, n_groups: int) -> FloatArray:
    """Compute chances (n, G) of the groups by a fitted classifier."""
    found: npt.NDArray[Any] = np.asarray(model.predict_proba(matrix), dtype=np.float64)
    classes = np.asarray(model.classes_, dtype=np.int64)
    chances = np.zeros((len(matrix), n_groups))
    chances[:, classes] = found
    return _normalize(chances, f"the chances that {type(model).__name__} predicts")


def check_propensities(inputs: FloatArray, n_groups: int) -> FloatArray:
    """Chances (n, G) that were given as inputs; one column means those of the second of two."""
    if inputs.shape[1] == 1 and n_groups == 2:
        inputs = np.column_stack([1.0 - inputs[:, 0], inputs[:, 0]])
    if inputs.shape[1] != n_groups:
        raise InputError(
            f"inputs must hold the chances of {n_groups} groups, one column each, but have "
            f"{inputs.shape[1]} column(s)."
        )
    return _normalize(inputs, "inputs as chances")


def _normalize(chances: FloatArray, what: str) -> FloatArray:
    wrong = ~((chances >= 0.0).all(axis=1) & (np.abs(chances.sum(axis=1) - 1.0) < 1e-6))
    if wrong.any():
        raise InputError(
            f"{what} must be 0 or more and sum to 1, which they do not in row "
            f"{int(np.flatnonzero(wrong)[0])}."
        )
    normalized: FloatArray = chances / chances.sum(axis=1, keepdims=True)
    return normalized


def encode_levels(labels: tuple[Hashable, ...], known: tuple[Hashable, ...]) -> FloatArray:
    """Return levels as numbers for a classifier: their place, -1 for unknown ones."""
    at = {label: float(k) for k, label in enumerate(known)}
    return np.array([at.get(label, -1.0) for label in labels])


def score_column(scores: Column, name: str) -> FloatArray:
    """Return scores as numbers (n,); one column of two dimensions is accepted."""
    array = np.asarray(scores) if isinstance(scores, np.ndarray) else None
    if array is not None and array.ndim == 2 and array.shape[1] == 1:
        return numbers(array[:, 0], name)
    return numbers(scores, name)


# Bins of calibration, in each of which this many rows are wanted.
_MOST_BINS, _ROWS_OF_BIN = 20, 50


class PropensityQuality(NamedTuple):
    """What chances of a group are worth, on rows that the model had not seen.

    Attributes
    ----------
    group : whose chances.
    auc : the chance that of two people of one level, one of the group and one not, the member has
        the higher guess; .5 is a coin.
    gain : how much smaller the mean squared error of the guess is than that of the group's share in
        the level, as a part of the latter; 0 is nothing gained, 1 is certainty.
    gain_error : standard error of the gain.
    spread : how much guesses differ inside levels, a standard deviation.
    calibration : root mean square difference between guessed and true shares, without what chance
        adds to it: 0 is right on average at every guess.
    calibration_z : how far that is beyond chance, in standard deviations of chance.
    """

    group: Hashable
    auc: float
    gain: float
    gain_error: float
    spread: float
    calibration: float
    calibration_z: float

    @property
    def weak(self) -> bool:
        """Whether the guess is no better than the share of the group in the level, beyond noise."""
        return not self.gain > 2.0 * self.gain_error

    @property
    def miscalibrated(self) -> bool:
        """Whether guessed shares are wrong by a quarter of what guesses differ by, beyond noise."""
        return self.calibration > 0.25 * self.spread and self.calibration_z > 4.0


def assess_propensity(
    label: Hashable, chance: FloatArray, member: FloatArray, level: IntArray, mass: FloatArray
) -> PropensityQuality:
    """Compare chances (n,) of a group with who is in it: member (n,) is 1 for its rows, else 0.

    Level (n,) counts from 0, and mass (n,) is above 0.
    """
    whole = np.bincount(level, mass)
    share = (np.bincount(level, mass * member) / whole)[level]
    mean = (np.bincount(level, mass * chance) / whole)[level]
    total = float(mass.sum())
    plain = float(mass @ (member - share) ** 2) / total
    better = (member - share) ** 2 - (member - chance) ** 2
    gained = float(mass @ better) / total
    error = math.sqrt(float(mass**2 @ (better - gained) ** 2)) / total
    calibration, z = _calibration(chance, member, mass)
    # Of pairs of one level, by weight, those in which the member has the higher chance.
    order = np.lexsort((chance, level))
    won, pairs = _count_pairs(chance[order], member[order], level[order], mass[order])
    return PropensityQuality(
        label,
        won / pairs if pairs > 0.0 else 0.5,
        gained / plain if plain > 0.0 else 0.0,
        error / plain if plain > 0.0 else 0.0,
        math.sqrt(float(mass @ (chance - mean) ** 2) / total),
        calibration,
        z,
    )


def _calibration(chance: FloatArray, member: FloatArray, mass: FloatArray) -> tuple[float, float]:
    """Root mean square error of guessed shares over bins of guesses, and its distance from chance.

    A bin of rows whose guesses are right has Σ m (A - η) of mean 0 and variance Σ m² η (1 - η).
    """
    order = np.argsort(chance, kind="stable")
    bins = int(np.clip(chance.size // _ROWS_OF_BIN, 1, _MOST_BINS))
    # Equal guesses are never cut apart.
    at = np.searchsorted(chance[order], chance, side="left") * bins // chance.size
    at = np.unique(at, return_inverse=True)[1]
    held = np.bincount(at, mass)
    missed = np.bincount(at, mass * (member - chance)) / held
    noise = np.bincount(at, mass**2 * chance * (1.0 - chance)) / held**2
    share = held / held.sum()
    squared = float(share @ (missed**2 - noise))
    spread = math.sqrt(2.0 * float(share**2 @ noise**2))
    if spread == 0.0:
        wrong = float(share @ missed**2)
        return math.sqrt(wrong), math.inf if wrong > 0.0 else 0.0
    return math.sqrt(max(squared, 0.0)), squared / spread


@compiled
def _count_pairs(
    chance: FloatArray, member: FloatArray, level: IntArray, mass: FloatArray
) -> tuple[float, float]:
    """Mass of pairs that the member wins, ties by half, and of all pairs; rows are in order."""
    won, pairs = 0.0, 0.0
    others, members = 0.0, 0.0
    k = 0
    while k < level.size:
        if k > 0 and level[k] != level[k - 1]:
            pairs += others * members
            others, members = 0.0, 0.0
        tied_others, tied_members = 0.0, 0.0
        at = k
        while k < level.size and level[k] == level[at] and chance[k] == chance[at]:
            tied_members += mass[k] * member[k]
            tied_others += mass[k] * (1.0 - member[k])
            k += 1
        won += tied_members * (others + 0.5 * tied_others)
        others += tied_others
        members += tied_members
    pairs += others * members
    return won, pairs
