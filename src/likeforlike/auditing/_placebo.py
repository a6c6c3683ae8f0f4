"""The placebo: the test of an audit along numbers, with labels that cannot matter."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._lines import Lines
from likeforlike.auditing._smooth import Along, along_numbers
from likeforlike.disparity._columns import Codes
from likeforlike.disparity._contrasts import Contrast
from likeforlike.disparity._measures import level_weights
from likeforlike.document._request import Settings
from likeforlike.errors import InputError
from likeforlike.inference._contrast_test import contrast_test
from likeforlike.smoothing._carried import Carried

_SIGNIFICANCE = 0.05


@dataclass(frozen=True, slots=True)
class Placebo:
    """How often the test of an audit rejects where there is nothing to find.

    Attributes
    ----------
    share : of the repetitions in which p is at most 5%.
    error : standard error of the share.
    p_values : of every repetition.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> import likeforlike as lfl
    >>> rng = np.random.default_rng(0)
    >>> years = rng.gamma(3.0, 4.0, 1000)
    >>> sex = np.where(rng.random(1000) < years / (years + 12.0), "m", "f")
    >>> score = np.sqrt(years) + rng.normal(size=1000)
    >>> table = pl.DataFrame({"score": score, "sex": sex, "years": years})
    >>> roles = {"score": "score", "sensitive": "sex", "legitimate": "years"}
    >>> placebo = lfl.audit(table, **roles, smooth="years", permutations=99).placebo(20)
    >>> placebo.share <= 0.25, len(placebo.p_values)
    (True, 20)
    """

    share: float
    error: float
    p_values: tuple[float, ...]


def placebo(
    lines: Lines,
    groups: tuple[Hashable, ...],
    settings: Settings,
    repetitions: int,
    permutations: int,
) -> Placebo:
    """Draw labels from the chance that the numbers give, and test again and again.

    The carry does not know labels, so one will do for all repetitions.
    """
    for name, count in (("repetitions", repetitions), ("permutations", permutations)):
        if count < 1:
            raise InputError(f"{name} must be at least 1, not {count!r}.")
    along = along_numbers(lines.of_groups(groups), settings.random_state)
    chance = along.chance()
    rng = np.random.default_rng(settings.random_state)
    tested = [_drawn(along, chance, rng) for _ in range(repetitions)]
    p_values = [
        contrast_test(
            contrast,
            level_weights(contrast, settings.measure),
            permutations=permutations,
            random_state=settings.random_state + number,
        ).p_value
        for number, contrast in enumerate(tested)
        if contrast.support.any()
    ]
    share = float(np.mean(np.array(p_values) <= _SIGNIFICANCE))
    error = (share * (1.0 - share) / len(p_values)) ** 0.5
    return Placebo(share, error, tuple(p_values))


def _drawn(along: Along, chance: FloatArray, rng: np.random.Generator) -> Contrast:
    """The carried scores with labels drawn anew."""
    lines, carried = along.unit_lines, along.carried
    member = _labels(lines, carried, chance, rng)
    line = np.r_[carried.line, carried.line]
    rows = np.r_[carried.rows - member, member]
    label = np.repeat(np.arange(2), carried.line.size)
    # Windows that say nothing of the groups are no part of the test.
    kept = (rows > 0) & along.compared.speaks[along.compared.windows.of_line[line]]
    line, rows, label = line[kept], rows[kept], label[kept]
    values = np.r_[carried.values, carried.values][kept]
    drawn = replace(
        lines,
        numbers=lines.numbers[line],
        category=lines.category[line],
        scores=values,
        group=Codes(label, lines.group.labels),
        counts=None if lines.counts is None else rows,
        weight=None if lines.weight is None else lines.weight[line],
        cluster=None
        if lines.cluster is None
        else Codes(lines.cluster.codes[line], lines.cluster.labels),
    )
    level = Codes(along.level.codes[line], along.level.labels)
    return Contrast(drawn.cells(level, along.scale.outward(values)), (0, 1))


def _labels(
    lines: Lines, carried: Carried, chance: FloatArray, rng: np.random.Generator
) -> IntArray:
    """How many rows of each carried line are of the second group; clusters draw together."""
    if lines.cluster is None:
        return rng.binomial(carried.rows, chance[carried.line])
    codes, many = lines.cluster.codes, len(lines.cluster.labels)
    # A person whose rows have both labels, such as before and after, draws for every row.
    both = np.bincount(codes, lines.group.codes, many)
    mixed = (both > 0) & (both < np.bincount(codes, minlength=many))
    mean = np.bincount(codes, chance, many) / np.maximum(np.bincount(codes, minlength=many), 1)
    drawn = (rng.random(many) < mean).astype(np.int64)
    own = (rng.random(codes.size) < chance).astype(np.int64)
    return np.where(mixed[codes], own, drawn[codes])[carried.line]
