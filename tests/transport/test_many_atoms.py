"""Very many atoms of a few rows each are kept in small numbers, and are the same atoms."""

from __future__ import annotations

import numpy as np
import pytest

from likeforlike.transport import _atoms, merge_ties, pair_costs, segment_means, sort_rows


@pytest.mark.parametrize("most", [2, 65_535])
def test_atoms_in_small_numbers_are_the_same(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    small = 0
    for size in range(1, 120):
        segments, values = random.integers(0, 5, size), random.integers(0, 9, size) / 7.0
        rows = sort_rows(values, segments, 6)
        monkeypatch.setattr(_atoms, "_KEPT", 1_000_000)
        plain = merge_ties(rows)
        monkeypatch.setattr(_atoms, "_KEPT", 0)
        monkeypatch.setattr(_atoms, "_AT_ONCE", int(random.integers(1, 50)))
        monkeypatch.setattr(_atoms, "_MOST_SMALL", most)
        kept = merge_ties(rows, spent=True)
        small += kept.counts_alone
        for name in ("values", "mass", "counts", "offsets", "totals"):
            one, other = getattr(plain, name), getattr(kept, name)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(segment_means(plain), segment_means(kept))
        there = np.flatnonzero(np.diff(plain.offsets))
        pairs = np.repeat(there, there.size), np.tile(there, there.size)
        np.testing.assert_array_equal(pair_costs(plain, *pairs, 2.0), pair_costs(kept, *pairs, 2.0))
    assert small
