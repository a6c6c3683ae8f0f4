"""The same comparison with other choices of what is legitimate: a specification curve.

Candidate columns are added to the legitimate ones, alone and together: all subsets of up to five
candidates, else one at a time and all. All specifications are compared on the same rows, those
that the finest one can compare, so that a change of the gap is not a change of people; coverage is
that of each specification by itself. Everything comes from the cells of the finest one: levels of
the others are merged. Tests use the same permutations, p-values are adjusted by Holm, and
intervals hold together (Bonferroni).

The change against the specification without candidates is paired. In both a row x of finest cell c
moves the gap by w_c (x - m_C), with w_c = ±Q(C) / n_C of the cell C ⊃ c and its mean, and

    Var(change) = Σ_c Σ_{x in c} (w_c (x - m_C) - w_c' (x - m_C'))².

Reference: Simonsohn, Simmons and Nelson (2020), *Specification curve analysis*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import Measure
from likeforlike.disparity import Cells, Codes, Contrast, level_weights
from likeforlike.inference import (
    adjust,
    conditional_parity_test,
    estimate_distance,
    normal_quantile,
    signed_gap,
)
from likeforlike.sensitivity._robustness import (
    cell_moments,
    level_parts,
    merge_moments,
)

_ALL_SUBSETS = 5


@dataclass(frozen=True, slots=True)
class Specification:
    """A choice of legitimate columns, and what it makes of the comparison.

    Attributes
    ----------
    added : the candidates among them.
    levels : how many levels hold both groups.
    gap, gap_interval : the signed gap; null where the data give no interval.
    change, change_interval : of the gap against the specification without candidates; null where
        rows have weights or clusters.
    distance, distance_interval : W_1 without its bias; null if nothing was resampled.
    p_value : of the test, adjusted for all specifications; null if nothing was resampled.
    coverage : share of each group that this specification by itself can compare.
    """

    added: tuple[str, ...]
    levels: int
    gap: float
    gap_interval: tuple[float, float] | None
    change: float
    change_interval: tuple[float, float] | None
    distance: float | None
    distance_interval: tuple[float, float | None] | None
    p_value: float | None
    coverage: dict[str, float]


@dataclass(frozen=True, slots=True)
class Specifications:
    """A comparison under several choices of legitimate columns, on the same rows.

    Attributes
    ----------
    groups, columns : who is compared; a positive gap means that the second group scores higher.
    legitimate, candidates : columns that are always legitimate, and those that are tried.
    rows : of the first and of the second group, in all specifications.
    missing : rows that lack a candidate; they are in none.
    confidence : with which the intervals of a kind hold together.
    entries : without candidates first, then by the number of candidates.
    """

    groups: tuple[str, str]
    columns: tuple[str, ...]
    legitimate: tuple[str, ...]
    candidates: tuple[str, ...]
    rows: tuple[int, int]
    missing: int
    confidence: float
    entries: tuple[Specification, ...]

    @property
    def table(self) -> dict[str, list[object]]:
        """One row for each specification, by column."""
        low = [each.gap_interval or (None, None) for each in self.entries]
        change = [each.change_interval or (None, None) for each in self.entries]
        shares = [list(each.coverage.values()) for each in self.entries]
        return {
            "added": [" + ".join(each.added) for each in self.entries],
            "levels": [each.levels for each in self.entries],
            "gap": [each.gap for each in self.entries],
            "gap_low": [ends[0] for ends in low],
            "gap_high": [ends[1] for ends in low],
            "change": [each.change for each in self.entries],
            "change_low": [ends[0] for ends in change],
            "change_high": [ends[1] for ends in change],
            "distance": [each.distance for each in self.entries],
            "p_value": [each.p_value for each in self.entries],
            "coverage_first": [first for first, _ in shares],
            "coverage_second": [second for _, second in shares],
        }

    @property
    def sentences(self) -> list[str]:
        """Describe the range of the gap over all specifications in words."""
        gaps = [each.gap for each in self.entries]
        ends = [each.gap_interval or (0.0, 0.0) for each in self.entries]
        same = min(low for low, _ in ends) > 0.0 or max(high for _, high in ends) < 0.0
        has = "has" if same else "does not have"
        clear = f"{has} the same sign and an interval without 0 in all of them"
        least = min(min(each.coverage.values()) for each in self.entries)
        span = f"between {min(gaps):.3g} and {max(gaps):.3g} on the same {sum(self.rows):,} rows"
        return [
            f"Over {len(gaps)} choices of legitimate features the gap lies {span}; it {clear}.",
            f"The finest choice by itself can compare as little as {100 * least:.3g}% of a group.",
        ]

    def __str__(self) -> str:
        """Return the table as text, with the range in words."""
        lines = [
            f"{' + '.join(each.added) or '(none added)':<40} gap {each.gap:9.4g}"
            + ("" if each.gap_interval is None else " [{:.4g}, {:.4g}]".format(*each.gap_interval))
            for each in self.entries
        ]
        return "\n".join([*self.sentences, *lines])


def choose_candidates(candidates: Sequence[str]) -> list[tuple[str, ...]]:
    """List the sets of candidates to add: all subsets of a few, else each and all."""
    most = len(candidates)
    sizes = range(most + 1) if most <= _ALL_SUBSETS else (0, 1, most)
    return [chosen for size in sizes for chosen in combinations(candidates, size)]


def merge_levels(contrast: Contrast, columns: Sequence[str], kept: Sequence[str]) -> Contrast:
    """Merge levels that are equal in some of their columns."""
    cells = contrast.cells
    part, labels = level_parts(cells.levels, columns, kept)
    sizes = np.diff(cells.atoms.offsets)
    n_groups = len(cells.groups)
    level = np.repeat(np.repeat(part, n_groups), sizes)
    group = np.repeat(np.tile(np.arange(n_groups), len(cells.levels)), sizes)
    cluster = None if cells.cluster is None else Codes(cells.cluster, cells.cluster_labels)
    rows = cells.weighted or cluster is not None
    merged = Cells.from_codes(
        Codes(level, labels),
        Codes(group, cells.groups),
        cells.middles,
        sample_weight=cells.atoms.mass if cells.weighted else None,
        counts=None if rows else cells.atoms.counts,
        cluster=cluster,
        resolution=cells.resolution,
        sums=cells.sums,
    )
    return Contrast(merged, contrast.positions)


def specify(
    contrast: Contrast,
    *,
    columns: tuple[str, ...],
    legitimate: tuple[str, ...],
    candidates: tuple[str, ...],
    measure: Measure,
    confidence: float,
    permutations: int,
    random_state: int,
    missing: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Specifications:
    """Compare two groups with every choice of candidates.

    Parameters
    ----------
    contrast : two groups in levels of all legitimate columns and candidates.
    columns : sensitive columns of the groups.
    legitimate, candidates : what the label of a level is made of, in this order.
    measure : Q by name.
    confidence : of all intervals of a kind together.
    permutations, random_state : of every test; 0 permutations resample nothing.
    missing : rows that lack a candidate.
    """
    every = (*legitimate, *candidates)
    chosen = choose_candidates(candidates)
    common = contrast.supported()
    finest, own = cell_moments(common), 1.0 - (1.0 - confidence) / len(chosen)
    paired = not common.cells.weighted and common.cells.cluster is None
    rows = common.counts.sum(axis=0).tolist()
    entries: list[Specification] = []
    base: tuple[FloatArray, FloatArray] | None = None
    tails: list[float] = []
    for added in chosen:
        kept = (*legitimate, *added)
        alike = merge_levels(common, every, kept)
        weights = level_weights(alike, measure)
        gap = signed_gap(alike, weights, confidence=own)
        part, _ = level_parts(common.cells.levels, every, kept)
        influence = _cell_influence(finest, part, weights)
        base = influence if base is None else base
        change = gap.value - entries[0].gap if entries else 0.0
        error = _change_error(finest, influence, base)
        reach = normal_quantile(0.5 + own / 2.0) * error
        distance = None
        if permutations:
            test = conditional_parity_test(
                alike,
                weights,
                permutations=permutations,
                random_state=random_state,
                contrasts=len(chosen),
                progress=progress,
            )
            tails.append(getattr(test, "tail_p_value", test.p_value))
            distance = estimate_distance(
                alike, weights, confidence=own, random_state=random_state + 1
            )
        whole = merge_levels(contrast, every, kept)
        ends = None if distance is None else distance.interval
        entries.append(
            Specification(
                added=added,
                levels=int(weights.size),
                gap=gap.value,
                gap_interval=None if gap.method == "none" else gap.interval,
                change=change,
                change_interval=(change - reach, change + reach) if paired else None,
                distance=None if distance is None else distance.value,
                distance_interval=None
                if ends is None
                else (ends[0], ends[1] if math.isfinite(ends[1]) else None),
                p_value=None,
                coverage={str(name): share for name, share in whole.coverage.items()},
            )
        )
    if tails:
        adjusted = adjust(np.array(tails), "holm").tolist()
        entries = [replace(each, p_value=p) for each, p in zip(entries, adjusted, strict=True)]
    return Specifications(
        groups=(str(contrast.groups[0]), str(contrast.groups[1])),
        columns=columns,
        legitimate=legitimate,
        candidates=candidates,
        rows=(rows[0], rows[1]),
        missing=missing,
        confidence=confidence,
        entries=tuple(entries),
    )


def _cell_influence(
    finest: tuple[FloatArray, ...], part: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what a row weighs in the gap, and the mean it is compared with, by finest cell."""
    mass, rows, mean, variance = finest
    whole, _, means, _ = merge_moments((mass, rows, mean, variance), part)
    cell = np.repeat(2 * part, 2) + np.tile([0, 1], part.size)
    signed = weights[part].repeat(2) * np.tile([-1.0, 1.0], part.size)
    return signed / whole[cell], means[cell]


def _change_error(
    finest: tuple[FloatArray, ...],
    one: tuple[FloatArray, FloatArray],
    other: tuple[FloatArray, FloatArray],
) -> float:
    """Return the standard error of the difference of two gaps of the same rows."""
    _, rows, mean, variance = finest
    inside = (one[0] - other[0]) ** 2 * np.nan_to_num(variance)
    between = (one[0] * (mean - one[1]) - other[0] * (mean - other[1])) ** 2
    return math.sqrt(float(rows @ (inside + between)))
