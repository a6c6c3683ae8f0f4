import numpy as np
import pytest

from likeforlike import Cells
from likeforlike.errors import InputError
from tests.support.oracles import parts


def rows(seed: int, size: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random(size), 1)
    groups = rng.choice(["a", "b", "c"], size)
    return scores, groups, rng.integers(0, 4, size), rng.integers(0, 3, size).astype(float)


def test_without_weights_ties_are_merged() -> None:
    scores, groups, levels, _ = rows(0)
    cells = Cells.from_rows(scores, groups, levels)
    atoms = cells.atoms
    for k, level in enumerate(cells.levels):
        for g, group in enumerate(cells.groups):
            values, counts = np.unique(
                scores[(levels == level) & (groups == group)], return_counts=True
            )
            segment = slice(*atoms.offsets[[k * 3 + g, k * 3 + g + 1]])
            np.testing.assert_array_equal(atoms.values[segment], values)
            np.testing.assert_array_equal(atoms.counts[segment], counts)
            np.testing.assert_array_equal(atoms.mass[segment], counts)


def test_each_cell_holds_its_sorted_rows() -> None:
    scores, groups, levels, weight = rows(0)
    cells = Cells.from_rows(scores, groups, levels, sample_weight=weight)
    atoms = cells.atoms
    for k, level in enumerate(cells.levels):
        for g, group in enumerate(cells.groups):
            inside = (levels == level) & (groups == group) & (weight > 0)
            segment = slice(*atoms.offsets[[k * 3 + g, k * 3 + g + 1]])
            order = np.lexsort((weight[inside], scores[inside]))
            np.testing.assert_array_equal(atoms.values[segment], scores[inside][order])
            np.testing.assert_array_equal(atoms.mass[segment], weight[inside][order])
            assert (atoms.counts[segment] == 1).all()
            assert cells.counts[k, g] == inside.sum()
            np.testing.assert_allclose(cells.mass[k, g], weight[inside].sum())
            np.testing.assert_allclose(
                cells.means[k, g], np.average(scores[inside], weights=weight[inside])
            )


def test_counts_give_the_cells_of_their_rows() -> None:
    scores, groups, levels, _ = rows(1)
    exact = Cells.from_rows(scores, groups, levels)
    lines, count = np.unique(
        np.array(list(zip(levels, groups, scores, strict=True)), dtype="i8,U1,f8"),
        return_counts=True,
    )
    counted = Cells.from_counts(lines["f0"], lines["f1"], lines["f2"], count)
    assert counted.levels == exact.levels
    assert counted.groups == exact.groups
    for ours, theirs in zip(parts(counted.atoms), parts(exact.atoms), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_merged_cells_are_the_cells_of_all_rows() -> None:
    first, second = rows(2), rows(3)
    second[1][:] = np.where(second[1] == "a", "z", second[1])
    merged = Cells.from_rows(*first[:3]).merge(Cells.from_rows(*second[:3]))
    together = Cells.from_rows(
        *(
            np.concatenate([mine, theirs])
            for mine, theirs in zip(first[:3], second[:3], strict=True)
        )
    )
    assert merged.groups == together.groups == ("a", "b", "c", "z")
    for ours, theirs in zip(parts(merged.atoms), parts(together.atoms), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_of_weight_zero_leave_no_trace() -> None:
    cells = Cells.from_rows(
        [0.1, 0.2, 0.9], ["a", "b", "c"], [1, 1, 2], sample_weight=[1.0, 2.0, 0.0]
    )
    assert cells.groups == ("a", "b")
    assert cells.levels == (1,)
    assert cells.reach == pytest.approx(0.1)


def test_regrouping_and_pooling_are_the_cells_of_relabeled_rows() -> None:
    scores, groups, levels, weight = rows(4)
    cells = Cells.from_rows(scores, groups, levels, sample_weight=weight)
    coarse = Cells.from_rows(
        scores, np.where(groups == "a", "a", "rest"), levels, sample_weight=weight
    )
    regrouped = cells.regroup({"a": "a", "b": "rest", "c": "rest"})
    pooled, flat = cells.pool_levels(), Cells.from_rows(scores, groups, sample_weight=weight)
    for found, expected in ((regrouped, coarse), (pooled, flat)):
        assert found.groups == expected.groups
        np.testing.assert_array_equal(found.atoms.values, expected.atoms.values)
        np.testing.assert_allclose(found.atoms.mass, expected.atoms.mass, rtol=1e-15)
        np.testing.assert_array_equal(found.atoms.offsets, expected.atoms.offsets)


def test_regrouping_can_leave_groups_out() -> None:
    cells = Cells.from_rows([0.1, 0.2, 0.3], ["a", "b", "c"], [1, 1, 2])
    kept = cells.regroup({"a": "x", "b": "y"})
    assert kept.groups == ("x", "y")
    assert kept.levels == (1,)


def test_cells_of_different_resolution_do_not_merge() -> None:
    coarse = Cells.from_counts(None, ["a", "b"], [0.5, 0.5], [1, 1], resolution=0.1)
    with pytest.raises(InputError, match=r"resolution 0\.1 and 0\.0 do not merge"):
        coarse.merge(Cells.from_rows([0.1, 0.2], ["a", "b"]))


@pytest.mark.parametrize("digits", [1, 17])
def test_pooled_cells_are_the_cells_without_levels(digits: int) -> None:
    rng = np.random.default_rng(3)
    scores = np.round(rng.random(20_000), digits)
    groups, levels = rng.integers(0, 2, 20_000), rng.integers(0, 3, 20_000)
    pooled = Cells.from_rows(scores, groups, levels).pool_levels()
    for ours, theirs in zip(
        parts(pooled.atoms), parts(Cells.from_rows(scores, groups).atoms), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_pooling_keeps_the_resolution() -> None:
    cells = Cells.from_counts([1, 2], ["f", "m"], [0.5, 0.7], [1, 1], resolution=0.2)
    assert cells.pool_levels().resolution == 0.2
