"""An anytime-valid monitor of the signed gap among equals, period after period.

Under parity the scores of a level are exchangeable between two groups. With s̄_l the mean score of a
level, v its variance and σ the standard deviation that permutations inside levels give the sum,

    T_t = Σ_l Σ_{i of group 2 in l} (s_i - s̄_l) / σ_t,    σ_t² = Σ_l v_l n_1l n_2l / n_l,

and for every strength λ, positive or negative, with T^(b) of B permutations

    e_t(λ) = exp(λ T_t) / [(exp(λ T_t) + Σ_b exp(λ T_t^(b))) / (B + 1)]

has mean 1 exactly, whatever the distribution of scores. A disparity may begin in any period j,
which has the share w_j = 1 / (j (j + 1)):

    R_t(λ) = e_t(λ) (R_{t-1}(λ) + w_t),    E_t = mean_λ R_t(λ) + 1 / (t + 1).

E is a nonnegative martingale that begins at 1, so that it ever reaches 1/α in at most a share α of
histories without a disparity (Ville), however often it is looked at. With several pairs of groups E
is the mean of theirs. The null is parity; a tolerance |Δ| <= δ has no exact e-value of this kind,
and is left out.

Reference: Ramdas, Grünwald, Vovk and Shafer (2023), *Game-theoretic statistics and safe
anytime-valid inference*.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Cells, Contrast
from likeforlike.inference import hypergeometric, start_stream, uniform
from likeforlike.transport import compiled

STRENGTHS = np.array([0.5, 1.0, 2.0, 3.0, -0.5, -1.0, -2.0, -3.0])
"""λ, how strong a disparity each e-value bets on, and in which direction."""

PERMUTATIONS = 199
GroupPair = tuple[str, str]
_FEW_ROWS = 64


@compiled
def _permute(
    scores: FloatArray, counts: IntArray, offsets: IntArray, wanted: IntArray, seed: int,
    sums: FloatArray,
) -> None:  # fmt: skip
    """Fill in the sum of scores of the second group under permutations of labels inside levels."""
    for b in range(sums.size):
        state = start_stream(seed, b)
        for level in range(wanted.size):
            left, lacking = 0, wanted[level]
            for i in range(offsets[level], offsets[level + 1]):
                left += counts[i]
            for i in range(offsets[level], offsets[level + 1]):
                taken = 0
                if counts[i] <= _FEW_ROWS:
                    for row in range(counts[i]):
                        taken += int(int(uniform(state) * (left - row)) < lacking - taken)
                else:
                    taken = hypergeometric(state, lacking, left - lacking, counts[i])
                left -= counts[i]
                lacking -= taken
                sums[b] += taken * scores[i]


def log_e_values(
    cells: Cells | None, groups: GroupPair, period: str, *, permutations: int, seed: int
) -> FloatArray:
    """Return log e(λ) of a period for each strength; 0 where no level holds both groups."""
    none = np.zeros(STRENGTHS.size)
    if cells is None:
        return none
    names = {str(group): place for place, group in enumerate(cells.groups)}
    if any(group not in names for group in groups):
        return none
    contrast = Contrast(cells, tuple(names[group] for group in groups))
    if not contrast.support.any():
        return none
    segments, atoms = contrast.segments(), cells.atoms
    sizes = np.diff(atoms.offsets)[segments]
    places = np.concatenate([np.arange(*atoms.offsets[s : s + 2]) for s in segments.ravel()])
    level = np.repeat(np.arange(len(segments)), sizes.sum(axis=1))
    counts = atoms.counts[places].astype(np.int64)
    rows = contrast.counts[contrast.support].astype(np.int64)
    size, second = rows.sum(axis=1), np.repeat(np.tile([0, 1], len(segments)), sizes.ravel())
    values = atoms.values[places]
    centered = values - (np.bincount(level, counts * values) / size)[level]
    spread = np.bincount(level, counts * centered**2) / np.maximum(size - 1, 1)
    sigma = math.sqrt(float(spread @ (rows.prod(axis=1) / size)))
    if not sigma > 1e-12 * max(float(np.abs(values).max()), 1e-300):
        return none
    sums, offsets = np.zeros(permutations), np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
    text = f"{seed}|{period}|{groups[0]}|{groups[1]}"
    stream = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])
    _permute(centered, counts, offsets, rows[:, 1].copy(), stream, sums)
    observed = float((second * counts) @ centered)
    powers = STRENGTHS[:, None] * np.concatenate([[observed], sums]) / sigma
    highest = powers.max(axis=1)
    mean = np.exp(powers - highest[:, None]).mean(axis=1)
    found: FloatArray = powers[:, 0] - highest - np.log(mean)
    return found


def first_rows(parts: Sequence[Cells]) -> list[Cells | None]:
    """Keep one row of each cluster, drawn at random from those of its first period.

    A mean of several would vary less, and groups may differ in how many rows their people have.
    `None` stands for a period without new clusters.
    """
    seen: set[Hashable] = set()
    kept: list[Cells | None] = []
    for cells in parts:
        assert cells.cluster is not None
        segment = np.repeat(np.arange(cells.counts.size), np.diff(cells.atoms.offsets))
        new = np.array([label not in seen for label in cells.cluster_labels])
        lines = np.flatnonzero(new[cells.cluster])
        seen.update(cells.cluster_labels)
        drawn = lines[np.random.default_rng(len(kept)).permutation(lines.size)]
        one = drawn[np.unique(cells.cluster[drawn], return_index=True)[1]]
        level, group = np.divmod(segment[one], len(cells.groups))
        labels = [str(cells.levels[k]) for k in level]
        own = [cells.groups[k] for k in group]
        kept.append(Cells.from_rows(cells.atoms.values[one], own, labels) if one.size else None)
    return kept


@dataclass(frozen=True)
class Monitor:
    """E-values after each period; `e_values` is for all pairs of groups together.

    Attributes
    ----------
    groups : the pairs of groups that are watched, chosen before any score was seen.
    periods : in the order in which they were counted.
    log_e : (periods, pairs, strengths) floats, log e(λ) of each period by itself.
    alpha : in at most this share of histories without a disparity there is ever an alarm.
    notes : what a reader should know.
    """

    groups: tuple[GroupPair, ...]
    periods: tuple[str, ...]
    log_e: FloatArray
    alpha: float
    notes: tuple[str, ...] = ()

    @property
    def by_groups(self) -> FloatArray:
        """E after each period for each pair of groups, shape (periods, pairs)."""
        strength = np.full(self.log_e.shape[1:], -np.inf)
        found = np.empty(self.log_e.shape[:2])
        for t, e in enumerate(self.log_e, 1):
            strength = e + np.logaddexp(strength, -math.log(t * (t + 1)))
            capped = np.exp(np.minimum(strength, 600.0))
            found[t - 1] = capped.mean(axis=1) + 1.0 / (t + 1)
        return found

    @property
    def e_values(self) -> tuple[float, ...]:
        """E after each period."""
        return tuple(self.by_groups.mean(axis=1).tolist())

    @property
    def limit(self) -> float:
        """The e-value at which there is an alarm, 1 / α."""
        return 1.0 / self.alpha

    @property
    def alarm(self) -> str | None:
        """The first period in which the limit was reached; `None` if there is none."""
        reached = [p for p, e in zip(self.periods, self.e_values, strict=True) if e >= self.limit]
        return reached[0] if reached else None

    @property
    def sentence(self) -> str:
        """What the monitor says, in one sentence."""
        if not self.periods:
            return "The monitor has counted no period yet."
        last, count = self.e_values[-1], len(self.periods)
        if self.alarm is None:
            return (
                f"No alarm in {count} periods: the e-value is {last:.3g}, and {self.limit:g} would "
                "be one."
            )
        return (
            f"Alarm in {self.alarm}: the e-value reached {self.limit:g}, as it does in at most "
            f"{100.0 * self.alpha:g}% of histories without a disparity, however long they are."
        )
