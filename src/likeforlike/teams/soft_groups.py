"""Soft groups from one noisy release: what modelers train on instead of A.

Logistic regression of A on public features needs A only through sums of the features over the
groups. These are released once, with noise; all that is fitted and trained afterwards is made of
the release and of public data, and costs nothing more. With features ψ_i and
t_a = Σ_i 1{A_i = a} ψ_i the likelihood is

    Σ_a β_a · t_a - Σ_i log Σ_a exp(ψ_i · β_a) - ½ λ Σ_a |β_a|²,

in which A stands nowhere but in t. λ grows with the variance of the noise in t. The maximum is
found by steps that never make it worse: the curvature is at most ½ Ψ'Ψ + λ for every group, so one
factorization serves all steps (Böhning 1992, *Multinomial logistic regression algorithm*).

The features are whitened, clipped, and rounded to whole parts of one. The noise is as large as the
longest row is allowed to be, so a few rows of great length would need noise of their size. After
whitening all directions have the same spread; rows longer than 98% of all others are shortened to
that, and all are divided by it, so that none is longer than 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Column, encode_columns, refuse_mask
from likeforlike.errors import InputError
from likeforlike.penalties import SoftGroups
from likeforlike.teams._files import texts
from likeforlike.teams._releases import Release
from likeforlike.teams._requests import GRID, SumsRequest, file_digest

__all__ = ["fit", "from_file", "request"]

# Directions with less than this share of the largest spread are rounding, or nearly constant.
_LEAST_SPREAD = 1e-6
# What is added to the spread of every direction, as a share of the mean: rare features stay small.
_RIDGE = 1e-3
_CLIPPED = 0.98


def request(X: Any, legitimate_features: Column | None, ids: Column) -> SumsRequest:  # noqa: N803, ANN401
    """Ask the custodian for sums of public features over the groups.

    Parameters
    ----------
    X : (n, d) finite numbers, what the model may see; the better they tell A apart, the better the
        soft groups.
    legitimate_features : (n,) labels of the legitimate features, or several columns; `None` means
        one level.
    ids : (n,) by which the custodian knows the rows, each once.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.teams import soft_groups
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> soft_groups.request(X, None, range(100)).features.shape
    (100, 4)
    """
    named = tuple(texts(list(ids) if isinstance(ids, range) else ids, "ids"))
    return SumsRequest(named, whole_features(X, legitimate_features, len(named)))


def whole_features(X: Any, levels: Column | None, size: int) -> IntArray:  # noqa: N803, ANN401
    """Features (n, d') of rows whose norm is at most 1, in parts of the grid."""
    whitened = _whiten(_design(X, levels, size))
    norms = np.linalg.norm(whitened, axis=1)
    longest = float(np.quantile(norms, _CLIPPED))
    # Rounding must not make a row of length 1 longer.
    scale = (1.0 - 1e-9) / np.maximum(norms, longest)
    whole: IntArray = np.trunc(whitened * scale[:, None] * GRID).astype(np.int64)
    return whole


def _design(X: Any, levels: Column | None, size: int) -> FloatArray:  # noqa: N803, ANN401
    """Join a constant, the inputs in units of their spread, and a column for every level."""
    refuse_mask(X, "X")
    try:
        inputs = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must hold numbers: {error}.") from error
    if inputs.ndim != 2 or len(inputs) != size:
        raise InputError(f"X must have the shape ({size}, d), not {inputs.shape}.")
    if not np.isfinite(inputs).all():
        row = int(np.argwhere(~np.isfinite(inputs))[0, 0])
        raise InputError(f"X has a value that is missing or infinite, the first in row {row}.")
    spread = inputs.std(axis=0)
    varying = inputs[:, spread > 0.0]
    parts = [np.ones((size, 1)), (varying - varying.mean(axis=0)) / spread[spread > 0.0]]
    if levels is not None:
        level = encode_columns(levels, "levels", size)
        parts.append((level.codes[:, None] == np.arange(len(level.labels))).astype(np.float64))
    return np.hstack(parts)


def _whiten(design: FloatArray) -> FloatArray:
    """Turn the features so that all directions have about the same mean square."""
    spreads, directions = np.linalg.eigh(design.T @ design / len(design))
    kept = spreads > _LEAST_SPREAD * spreads.max()
    scale = np.sqrt(spreads[kept] + _RIDGE * spreads.mean())
    whitened: FloatArray = design @ directions[:, kept] / scale
    return whitened


# Penalty without noise, and what noise adds to it: its variance over so much a row.
_LEAST_PENALTY, _A_ROW = 2.0, 0.1
_STEPS = 400
_STILL = 1e-5
# A regression makes no row certain.
_CERTAIN = 0.002


def fit(request: SumsRequest, release: Release) -> SoftGroups:
    """Probabilities of the groups by row, from the custodian's answer to a request.

    Parameters
    ----------
    request : made by `request`.
    release : the answer to it.

    Examples
    --------
    Both teams at one table: two features tell the groups apart, one does not.

    >>> import tempfile
    >>> import numpy as np
    >>> from likeforlike.teams import Custodian, Ledger, soft_groups
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 4000)
    >>> X = rng.normal(size=(4000, 3)) + np.outer(sex == "m", [1.0, -1.0, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=1.0, groups=["f", "m"])
    ...     custodian = Custodian(dict(enumerate(sex)), ledger)
    ...     asked = soft_groups.request(X, None, range(4000))
    ...     soft = soft_groups.fit(asked, custodian.sums(asked, epsilon=1.0))
    >>> guessed = soft.probabilities[:, 1] > 0.5
    >>> bool(np.mean(guessed == (sex == "m")) > 0.7)
    True
    """
    release.check("sums", request.digest)
    many, released = len(release.groups), release.values / GRID
    if released.shape != (1 if many == 2 else many, request.features.shape[1]):
        raise InputError("the release does not hold the sums that were asked for.")
    variance = release.noise["variance"]
    if release.noise["law"] != "discrete Gaussian" or variance is None:
        raise InputError("the release does not say how wide the noise in its sums is.")
    features = request.features / GRID
    whole = features.sum(axis=0)
    if many == 2:
        sums = np.stack([whole - released[0], released[0]])
    else:
        sums = released + (whole - released.sum(axis=0)) / many
    return _fit_logistic(features, sums, variance, release.groups)


def from_file(
    X: Any,  # noqa: N803, ANN401
    levels: Column | None,
    ids: Column,
    release: Release,
) -> SoftGroups:
    """Probabilities of the groups by row, from a file of randomized groups.

    The randomized labels are taken for what they are: with the known probability of keeping one,
    sums over the true groups are estimated without bias. A release of sums at the same ε says more.

    Parameters
    ----------
    X : (n, d) finite numbers, what the model may see.
    levels : (n,) labels of the legitimate features, or several columns; `None` means one level.
    ids : (n,) of the rows, as they were sent to the custodian.
    release : what `Custodian.randomize` answered.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from likeforlike.teams import Custodian, Ledger, soft_groups
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 4000)
    >>> X = rng.normal(size=(4000, 2)) + np.outer(sex == "m", [1.5, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=1.0, groups=["f", "m"])
    ...     custodian = Custodian(dict(enumerate(sex)), ledger)
    ...     file = custodian.randomize(list(range(4000)), epsilon=1.0)
    >>> soft = soft_groups.from_file(X, None, list(range(4000)), file)
    >>> bool(np.mean((soft.probabilities[:, 1] > 0.5) == (sex == "m")) > 0.7)
    True
    """
    named = tuple(texts(ids, "ids"))
    release.check("groups", file_digest(named))
    many, size = len(release.groups), len(named)
    random = release.noise["law"] == "randomized response"
    separated = random and float(release.noise["scale"] or "0") * many > 1.0
    if release.values.shape != (size,) or not separated:
        raise InputError("the release does not hold a group for every row.")
    kept = float(release.noise["scale"] or "0")
    other = (1.0 - kept) / (many - 1)
    features = whole_features(X, levels, size) / GRID
    codes = (release.values[:, None] == np.arange(many)).astype(np.float64)
    sums = ((codes - other) / (kept - other)).T @ features
    # Of one label, on average over rows; a person's rows are answered alike, which is left aside.
    variance = other * (1.0 - other) / (kept - other) ** 2 * float((features**2).sum(axis=0).mean())
    return _fit_logistic(features, sums, variance, release.groups)


def _fit_logistic(
    features: FloatArray, sums: FloatArray, variance: float, groups: tuple[str, ...]
) -> SoftGroups:
    """Maximize the likelihood; `variance` is that of the noise in every sum."""
    size, many = len(features), len(groups)
    # Back to directions of unit mean square, in which a penalty means the same for all of them.
    scale = 1.0 / np.sqrt(max(float((features**2).mean()), 1e-300))
    scaled, wanted = features * scale, sums * scale
    penalty = _LEAST_PENALTY + variance * scale**2 / (_A_ROW * size)
    bound = 0.5 * scaled.T @ scaled + penalty * np.eye(scaled.shape[1])
    factor = np.linalg.cholesky(bound)
    weights = np.zeros((many, scaled.shape[1]))
    step, momentum, ahead = np.zeros_like(weights), 1.0, weights
    for _ in range(_STEPS):
        slope = wanted - _chances(scaled @ ahead.T).T @ scaled - penalty * ahead
        step = np.linalg.solve(factor.T, np.linalg.solve(factor, slope.T)).T
        fresh = ahead + step
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = fresh + (momentum - 1.0) / following * (fresh - weights)
        # Going on in the same direction is dropped where the slope has turned (O'Donoghue).
        if float((step * (fresh - weights)).sum()) < 0.0:
            ahead, following = fresh, 1.0
        weights, momentum = fresh, following
        if float(np.abs(step).max()) < _STILL:
            break
    chances = np.clip(_chances(scaled @ weights.T), _CERTAIN, 1.0 - _CERTAIN)
    return SoftGroups(chances / chances.sum(axis=1, keepdims=True), groups)


def _chances(logits: FloatArray) -> FloatArray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances: FloatArray = powers / powers.sum(axis=1, keepdims=True)
    return chances
