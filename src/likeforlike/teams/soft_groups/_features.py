"""Public features that A is regressed on: whitened, clipped, in whole parts of one.

Rows are as long as each other is allowed to be: a few rows of great length would need noise of
their size. After whitening all directions have the same spread; rows longer than 98% of all others
are shortened to that, and all are divided by it, so that none is longer than 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._columns import Column, encode_columns, refuse_masked
from likeforlike.errors import InputError
from likeforlike.teams._files import texts
from likeforlike.teams._requests import GRID, SumsRequest

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
    whitened = _whitened(_design(X, levels, size))
    norms = np.linalg.norm(whitened, axis=1)
    longest = float(np.quantile(norms, _CLIPPED))
    # Rounding must not make a row of length 1 longer.
    scale = (1.0 - 1e-9) / np.maximum(norms, longest)
    whole: IntArray = np.trunc(whitened * scale[:, None] * GRID).astype(np.int64)
    return whole


def _design(X: Any, levels: Column | None, size: int) -> FloatArray:  # noqa: N803, ANN401
    """A constant, the inputs in units of their spread, and a column for every level."""
    refuse_masked(X, "X")
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


def _whitened(design: FloatArray) -> FloatArray:
    """The same features turned so that all directions have about the same mean square."""
    spreads, directions = np.linalg.eigh(design.T @ design / len(design))
    kept = spreads > _LEAST_SPREAD * spreads.max()
    scale = np.sqrt(spreads[kept] + _RIDGE * spreads.mean())
    whitened: FloatArray = design @ directions[:, kept] / scale
    return whitened
