"""Loan applicants: the paper's Table 1 as rows, and larger tables with a known disparity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.datasets._dataset import DataProvenance, Dataset
from likeforlike.errors import InputError

# Table 1 of the paper: income, sex, share of the applicants of that sex, approval rate.
_TABLE_1 = (
    ("high", "male", 0.1, 0.8),
    ("medium", "male", 0.3, 0.6),
    ("low", "male", 0.6, 0.4),
    ("high", "female", 0.6, 0.6),
    ("medium", "female", 0.3, 0.4),
    ("low", "female", 0.1, 0.2),
)
_PROVENANCE = DataProvenance(
    "likeforlike.datasets", "BSD-3-Clause", "Ghassemi et al. (2025), Table 1"
)
# Half the width of the scores inside a cell of `make_loans`.
_HALF_WIDTH = 0.1


def load_loans(applicants: int = 200) -> Dataset:
    """Load the loan example of the paper's Table 1, one row an applicant, without any chance.

    Half the men and half the women are approved, yet at every income men are approved 20 points
    more often: the unconditional disparity is 0, the conditional one 0.2 at every level.

    Parameters
    ----------
    applicants : how many rows, half of each sex; a multiple of 100 so that all shares are whole.

    References
    ----------
    Ghassemi et al. (2025), Table 1.

    Examples
    --------
    >>> from likeforlike.datasets import load_loans
    >>> load_loans().frame.group_by("sex", maintain_order=True).agg(pl.col("approved").mean())
    shape: (2, 2)
    ┌────────┬──────────┐
    │ sex    ┆ approved │
    │ ---    ┆ ---      │
    │ str    ┆ f64      │
    ╞════════╪══════════╡
    │ male   ┆ 0.5      │
    │ female ┆ 0.5      │
    └────────┴──────────┘
    """
    if applicants < 100 or applicants % 100:
        raise InputError(f"applicants must be a multiple of 100, not {applicants}.")
    size = [round(applicants / 2 * share) for _, _, share, _ in _TABLE_1]
    approved = [round(rows * rate) for rows, (_, _, _, rate) in zip(size, _TABLE_1, strict=True)]
    rejected = np.subtract(size, approved)
    decision = np.tile([1, 0], len(_TABLE_1))
    frame = pl.DataFrame(
        {
            "income": np.repeat([income for income, *_ in _TABLE_1], size),
            "sex": np.repeat([sex for _, sex, *_ in _TABLE_1], size),
            "approved": np.repeat(decision, np.column_stack([approved, rejected]).ravel()),
        }
    )
    roles = ("income",), "approved", "sex", ("income",)
    return Dataset(frame, *roles, "classification", _PROVENANCE)


def make_loans(
    applicants: int = 10_000,
    *,
    levels: int = 5,
    gap: float | Sequence[float] = 0.1,
    tilt: float = 0.5,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Draw loan applicants whose lender's score is unfair by a known amount.

    In level l the score is uniform on an interval of width 0.2 that rises with the level, and
    moved by +gap/2 for men and -gap/2 for women, so that in the population

        W_p(P_female^l, P_male^l) = |gap_l|  for every p,   KS = TV = min(1, |gap_l| / 0.2),

    and the mean of men exceeds that of women by gap_l. The decision `approved` is drawn with the
    score as its probability. `tenure` gives sex away inside a level, `debt` and `history` tell how
    good an applicant is.

    Parameters
    ----------
    applicants : how many rows.
    levels : K >= 1, bands of income.
    gap : how much higher men score than women, one number or one for each level, in [-0.4, 0.4].
    tilt : in [0, 1), how differently the sexes are spread over the levels; 0 means equally.
    random_state : seed or generator.

    Returns
    -------
    Dataset with the columns `income`, `sex`, `debt`, `history`, `tenure`, `score`, `approved`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> frame = make_loans(100_000, gap=0.1).frame
    >>> disparity = lfl.cdd_lp(frame["score"], frame["sex"], frame["income"])
    >>> round(float(disparity), 2), disparity.groups
    (0.1, ('female', 'male'))
    """
    if applicants < 1 or levels < 1:
        raise InputError("applicants and levels must both be at least 1.")
    if not 0.0 <= tilt < 1.0:
        raise InputError(f"tilt must lie in [0, 1), not {tilt}.")
    gaps = _gaps(gap, levels)
    rng = np.random.default_rng(random_state)
    male = rng.integers(0, 2, applicants)
    height = np.linspace(0.0, 1.0, levels) if levels > 1 else np.array([0.5])
    level = _levels(rng, male, height, tilt)
    merit = rng.uniform(-1.0, 1.0, applicants)
    side = male - 0.5
    score = 0.3 + 0.4 * height[level] + _HALF_WIDTH * merit + gaps[level] * side
    frame = pl.DataFrame(
        {
            "income": level,
            "sex": np.where(male == 1, "male", "female"),
            "debt": 0.5 - 0.4 * merit + 0.2 * rng.standard_normal(applicants),
            "history": merit + 0.3 * rng.standard_normal(applicants),
            "tenure": 5.0 + 4.0 * side + 1.5 * rng.standard_normal(applicants),
            "score": score,
            "approved": (rng.random(applicants) < score).astype(np.int64),
        }
    )
    features = ("income", "debt", "history", "tenure")
    roles = features, "approved", "sex", ("income",)
    return Dataset(frame, *roles, "classification", _PROVENANCE)


def _gaps(gap: float | Sequence[float], levels: int) -> FloatArray:
    gaps = np.asarray(gap, dtype=np.float64)
    if gaps.ndim == 0:
        gaps = np.full(levels, gaps)
    if gaps.shape != (levels,):
        raise InputError(f"gap must be one number or one for each of {levels} levels.")
    if not (np.abs(gaps) <= 0.4).all():
        raise InputError("gap must lie in [-0.4, 0.4], or scores would leave [0, 1].")
    return gaps


def _levels(
    rng: np.random.Generator,
    male: IntArray,
    height: FloatArray,
    tilt: float,
) -> IntArray:
    """Draw a level for everyone; a tilt puts more women in high levels and more men in low."""
    slope = tilt * (2.0 * height - 1.0)
    edges = np.cumsum(np.stack([1.0 + slope, 1.0 - slope]) / height.size, axis=1)
    draw = rng.random(male.size)
    level: IntArray = (draw[:, None] > edges[male][:, :-1]).sum(axis=1)
    return level
