from itertools import count

import numpy as np
import pytest

from likeforlike import Cells
from likeforlike.transport import (
    Atoms,
    PackedAtoms,
    atom_codes,
    merge_segments,
    merge_ties,
    segment_means,
    sort_cells,
    sort_rows,
)
from likeforlike.transport import _sorting as sorting
from likeforlike.transport._sorting import numpy_sorts_faster as find_faster_sort

SIZES = [1, 2, 47, 48, 49, 50, 1000, 20_000]


def draw(rng: np.random.Generator, kind: str, size: int) -> np.ndarray:
    if kind == "ties":
        return rng.integers(-3, 4, size).astype(float)
    if kind == "signs":
        return rng.standard_normal(size) * 10.0 ** rng.integers(-300, 300, size)
    return rng.random(size)


@pytest.fixture(params=["small table", "radix", "segments by NumPy"], autouse=True)
def sorter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sort as small tables are sorted, or as large ones are on either kind of processor."""
    monkeypatch.setattr(sorting, "_TINY", 10**6 if request.param == "small table" else 0)
    monkeypatch.setattr(sorting, "_FEW_ROWS", 0)
    by_numpy = request.param == "segments by NumPy"
    monkeypatch.setattr(sorting, "numpy_sorts_faster", lambda: by_numpy)


def test_codes_of_cells_are_sorted_as_their_segments() -> None:
    rng = np.random.default_rng(0)
    values, levels, groups = rng.random(3000), rng.integers(0, 7, 3000), rng.integers(0, 3, 3000)
    for with_rows in (False, True):
        cells = sort_cells(values, levels.astype(np.int8), groups, (7, 3), with_rows=with_rows)
        rows = sort_rows(values, 3 * levels + groups, 21, with_rows=with_rows)
        for one, other in zip(cells, rows, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_process_that_sorts_many_small_tables_has_kernels_do_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sorting, "_TINY", 10)
    monkeypatch.setattr(sorting, "_FEW_ROWS", 100)
    monkeypatch.setattr(sorting, "_small_tables", count())
    chosen = [sorting._is_for_numpy(50) for _ in range(sorting._FEW_TABLES + 1)]
    assert chosen == [True] * sorting._FEW_TABLES + [False]
    assert sorting._is_for_numpy(10)
    assert not sorting._is_for_numpy(101)


def test_the_faster_sort_is_found_once() -> None:
    assert find_faster_sort() is find_faster_sort()


@pytest.mark.parametrize("kind", ["unit", "ties", "signs"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n_segments", [1, 7, 32_767, 32_768, 70_000])
def test_sorting_equals_lexsort(kind: str, size: int, n_segments: int) -> None:
    rng = np.random.default_rng(size)
    values = draw(rng, kind, size)
    segments = rng.integers(0, n_segments, size)
    ordered = sort_rows(values, segments, n_segments)
    expected = np.lexsort((np.arange(size), values, segments))
    np.testing.assert_array_equal(ordered.rows, expected)
    np.testing.assert_array_equal(ordered.values, values[expected])
    np.testing.assert_array_equal(
        np.diff(ordered.offsets), np.bincount(segments, minlength=n_segments)
    )
    without = sort_rows(values, segments, n_segments, with_rows=False)
    assert without.rows.size == 0
    np.testing.assert_array_equal(without.values, ordered.values)
    np.testing.assert_array_equal(without.offsets, ordered.offsets)


@pytest.mark.parametrize("size", [6, 300, 30_000])
def test_joined_segments_are_sorted_as_one(size: int) -> None:
    """Segments 0 and 4, then 5 and 1; 2 and 3 are left out."""
    rng = np.random.default_rng(size)
    values, offsets = rng.random(size), np.sort(rng.integers(0, size + 1, 7))
    offsets[[0, -1]] = 0, size
    joined = merge_segments(values, offsets, np.array([[0, 4], [5, 1]]))
    parts = [values[offsets[s] : offsets[s + 1]] for s in range(6)]
    first, second = (np.sort(np.r_[parts[a], parts[b]]) for a, b in ((0, 4), (5, 1)))
    np.testing.assert_array_equal(joined.values, np.r_[first, second])
    assert joined.offsets.tolist() == [0, first.size, first.size + second.size]


@pytest.mark.parametrize("size", [3, 300, 30_000])
@pytest.mark.parametrize("with_rows", [True, False])
def test_both_zeros_are_one_atom(size: int, with_rows: bool) -> None:
    zeros = np.where(np.arange(size) % 3 == 1, -0.0, 0.0)
    atoms = merge_ties(sort_rows(zeros, np.zeros(size, np.int64), 1, with_rows=with_rows))
    assert atoms.values.tobytes() == np.array([0.0]).tobytes()
    assert atoms.counts.tolist() == [size]


def test_atoms_merge_ties_inside_a_segment_only() -> None:
    values = np.array([1.0, 1.0, 1.0, 2.0])
    segments = np.array([0, 0, 2, 2])
    mass = np.array([0.25, 0.5, 3.0, 1.0])
    ordered = sort_rows(values, segments, 3)
    atoms = merge_ties(ordered, mass)
    assert atoms.values.tolist() == [1.0, 1.0, 2.0]
    assert atoms.mass.tolist() == [0.75, 3.0, 1.0]
    assert atoms.counts.tolist() == [2, 1, 1]
    assert atoms.offsets.tolist() == [0, 1, 1, 3]
    assert atom_codes(ordered).tolist() == [0, 0, 1, 2]
    np.testing.assert_allclose(segment_means(atoms), [1.0, np.nan, 1.25])


def test_the_interpreted_kernel_agrees_with_the_compiled_one() -> None:
    from likeforlike.transport import _sweeps as pairs

    values, mass = np.array([0.0, 1.0, 3.0, 0.5, 1.0]), np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    packed = PackedAtoms(values, mass, np.array([0, 3, 5]), np.array([4.0, 4.0]))
    arguments = (packed, 0, 1, 1.5, 0.0, np.empty(0))
    kernel = pairs.add_pair
    assert kernel(*arguments) == kernel.py_func(*arguments)  # type: ignore[attr-defined]


def test_rows_without_weights_are_counted_and_their_masses_kept() -> None:
    """As if every row had a weight of 1 of its own, bit by bit."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=1000) * 10.0 ** rng.integers(-5, 6, 1000)
    atoms = Cells.from_rows(scores, rng.integers(0, 2, 1000), rng.integers(0, 7, 1000)).atoms
    assert atoms.mass.strides == (0,)
    alone = Atoms(atoms.values, np.ones(1000), atoms.counts, atoms.offsets)
    assert np.array_equal(atoms.totals, alone.totals)
    assert np.array_equal(segment_means(atoms), segment_means(alone))
    assert atoms.packed.mass is atoms.packed.mass
    assert np.array_equal(atoms.packed.mass, alone.mass)
