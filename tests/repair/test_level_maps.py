"""The maps behind a repair: where rows go, new rows as well, and cells that are too small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.repair import ConditionalBarycenter
from likeforlike.repair._barycenter import Fallback
from tests.support.repairs import (
    STEPS,
    UNEQUAL,
    Rows,
    by_cell,
    dense_mean,
    intervals,
    repaired,
    rows,
)


def dense_repair(table: Rows) -> list[tuple[FloatArray, FloatArray]]:
    """Scores of each cell before and after a full repair, in order."""
    found = []
    for level in np.unique(table.levels):
        cells = [table.cell(level, group) for group in np.unique(table.groups)]
        for scores, mass in cells:
            order = np.argsort(scores, kind="stable")
            spans = zip(*intervals(mass[order]), strict=True)
            found.append((scores[order], np.array([dense_mean(cells, *span) for span in spans])))
    return found


@pytest.mark.parametrize(
    "table",
    [
        rows(30, 30),
        rows(7, 25),
        rows(20, 33, digits=1),
        rows(31, 20, digits=0),
        rows(20, 27, weighted=True),
        rows(11, 20, 35),
        rows(1, 3),
    ],
    ids=["equal", "unequal", "tied", "decisions", "weighted", "three groups", "single rows"],
)
def test_rows_go_to_the_mean_quantile_over_their_interval(table: Rows) -> None:
    moved = repaired(table, min_cell=1)
    for (before, expected), found in zip(dense_repair(table), by_cell(table, moved), strict=True):
        np.testing.assert_array_equal(found[0], before)
        np.testing.assert_allclose(found[1], expected, rtol=1e-12, atol=1e-14)


def test_weights_count_rows() -> None:
    rng = np.random.default_rng(4)
    table = rows(20, 30)
    counts = rng.integers(1, 4, table.scores.size)
    repeated = Rows(
        np.repeat(table.scores, counts),
        np.repeat(table.groups, counts),
        np.repeat(table.levels, counts),
    )
    weighted = ConditionalBarycenter(shrink=False).fit(
        table.scores, **table.features, sample_weight=counts.astype(float)
    )
    unweighted = ConditionalBarycenter(shrink=False).fit(repeated.scores, **repeated.features)
    np.testing.assert_allclose(
        weighted.transform(table.scores, **table.features),
        unweighted.transform(table.scores, **table.features),
        rtol=1e-12,
    )
    np.testing.assert_allclose(weighted.predicted_risk_, unweighted.predicted_risk_, rtol=1e-12)


def test_rows_without_ties_do_not_depend_on_each_other() -> None:
    table = UNEQUAL["weighted"]
    repair = ConditionalBarycenter(0.7, shrink=False).fit(table.scores, **table.columns)
    some = np.random.default_rng(0).permutation(table.scores.size)[:100]
    np.testing.assert_array_equal(
        repair.transform(
            table.scores[some],
            sensitive_features=table.groups[some],
            legitimate_features=table.levels[some],
        ),
        repair.transform(table.scores, **table.features)[some],
    )


def test_scores_between_and_beyond_the_known_ones() -> None:
    table = rows(20, 35, levels=1, weighted=True)
    cells = [table.cell(0, group) for group in (0, 1)]
    order = np.argsort(cells[0][0])
    known, (begins, ends) = cells[0][0][order], intervals(cells[0][1][order])
    new = np.concatenate([known[:-1] + 0.3 * np.diff(known), [known[0] - 1.0, known[-1] + 1.0]])
    lows = np.concatenate([0.7 * begins[:-1] + 0.3 * begins[1:], [0.0, begins[-1]]])
    highs = np.concatenate([0.7 * ends[:-1] + 0.3 * ends[1:], [ends[0], 1.0]])
    expected = [dense_mean(cells, *span) for span in zip(lows, highs, strict=True)]
    repair = ConditionalBarycenter(shrink=False).fit(table.scores, **table.columns)
    moved = repair.transform(
        new, sensitive_features=np.zeros(21, int), legitimate_features=np.zeros(21, int)
    )
    np.testing.assert_allclose(moved, expected, rtol=1e-12)
    repair.set_params(repair_level=0.5)
    beyond = repair.transform([9.0], sensitive_features=[0], legitimate_features=[0])
    assert beyond[0] == pytest.approx(0.5 * 9.0 + 0.5 * expected[-1], rel=1e-12)


def test_the_repair_of_other_rows_of_the_same_people_is_nearly_as_good() -> None:
    table, others = rows(3000, 5000, seed=5), rows(3000, 5000, seed=6)
    repair = ConditionalBarycenter(shrink=False).fit(table.scores, **table.columns)
    moved = others._replace(scores=repair.transform(others.scores, **others.features))
    assert (moved.distances(1) < 0.08 * others.distances(1)).all()


score = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, width=32))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Rows, Rows]:
    """Rows to learn from, which both groups have in level 0, and rows to repair."""
    size = draw(st.integers(4, 30))

    def column(values: st.SearchStrategy[Any], length: int) -> Any:
        return np.array(draw(st.lists(values, min_size=length, max_size=length)))

    weights = column(st.sampled_from([0.1, 1.0, 5.0]), size) if draw(st.booleans()) else None
    groups, levels = column(st.integers(0, 1), size), column(st.integers(0, 2), size)
    groups[:2], levels[:2] = [0, 1], 0
    known = Rows(column(score, size), groups, levels, weights)
    more = draw(st.integers(1, 30))
    new = Rows(
        column(score, more), column(st.integers(0, 1), more), column(st.integers(0, 2), more)
    )
    both = [np.concatenate([old, young]) for old, young in zip(known[:3], new[:3], strict=True)]
    return known, Rows(*both)


@given(tables(), st.sampled_from(STEPS), st.sampled_from([1, 3]), st.booleans())
@pytest.mark.filterwarnings("ignore:fit has not seen")
def test_the_order_inside_cells_is_kept(
    drawn: tuple[Rows, Rows], t: float, min_cell: int, shrink: bool
) -> None:
    known, new = drawn
    if min(np.bincount(known.groups)) < min_cell:
        min_cell = 1
    repair = ConditionalBarycenter(t, min_cell=min_cell, shrink=shrink).fit(
        known.scores, **known.columns
    )
    moved = new._replace(scores=repair.transform(new.scores, **new.features))
    for before, after in by_cell(new, moved):
        assert (np.diff(after) >= 0.0).all()
        assert before.size == after.size
    if t == 1.0 and repair.trust_ == 1.0:
        assert moved.scores.min() >= known.scores.min()
        assert moved.scores.max() <= known.scores.max()


@pytest.mark.parametrize("seed", range(20))
def test_scores_that_rounding_ties_keep_their_order(seed: int) -> None:
    """Less the mean of their level, 0 and a number next to nothing below it are one."""
    scores = np.zeros(30)
    scores[[1, 12, 15, 29]] = 1.0, -1.0, -5e-29, 1.0
    columns = {"sensitive_features": np.isin(np.arange(30), [1, 12])}
    repair = ConditionalBarycenter(0.25, min_cell=1, random_state=seed).fit(scores, **columns)
    assert 0.0 < repair.trust_ < 1.0
    moved = repair.transform(scores, **columns)
    assert moved[15] == moved[~columns["sensitive_features"]].min()


@given(tables(), st.sampled_from(STEPS[1:]))
def test_the_bounds_hold_for_any_rows(drawn: tuple[Rows, Rows], t: float) -> None:
    known, _ = drawn
    repair = ConditionalBarycenter(t, min_cell=1, shrink=False)
    moved = known._replace(scores=repair.fit_transform(known.scores, **known.columns))
    level = [
        label
        for label in repair.levels_
        if label not in {fallback.level for fallback in repair.fallbacks_}
    ]
    for order in (1, 2):
        met = lfl.cdd_lp(*known[:3], order=order, sample_weight=known.weights).by_level
        assert list(met.level) == level
        after = moved.distances(order)
        for k, label in enumerate(level):
            cells = [known.cell(label, group) for group in (0, 1)]  # type: ignore[arg-type]
            spread = max(s.max() for s, _ in cells) - min(s.min() for s, _ in cells)
            heaviest = sum((mass.max() / mass.sum()) ** (1 / order) for _, mass in cells)
            bound = t * 0.5 * spread * heaviest
            assert abs(after[k] - (1 - t) * met.distance[k]) <= bound + 1e-9


def thin(labels: list[Any]) -> tuple[dict[str, Any], FloatArray]:
    """Three levels of 40 rows a group; of group 1 the last has 5 rows only, and a fourth none."""
    table = rows(40, 40)
    kept = ~((table.levels == 2) & (table.groups == 1))
    kept |= np.cumsum(~kept) <= 5
    scores = np.concatenate([table.scores[kept], np.linspace(0.2, 0.6, 30)])
    groups = np.concatenate([table.groups[kept], np.zeros(30, int)])
    levels = np.concatenate([table.levels[kept], np.full(30, 3)])
    columns = {
        "sensitive_features": groups,
        "legitimate_features": [labels[level] for level in levels],
    }
    return columns, scores


def test_small_cells_take_the_map_of_the_nearest_level() -> None:
    columns, scores = thin([10, 20, 30, 12])
    repair = ConditionalBarycenter(shrink=False).fit(scores, **columns)
    assert repair.levels_ == (10, 12, 20, 30)
    assert repair.fallbacks_ == (
        Fallback(12, 0, 30, 10),
        Fallback(12, 1, 0, 10),
        Fallback(30, 0, 40, 20),
        Fallback(30, 1, 5, 20),
    )
    assert repair.coverage_ == {0: 80 / 150, 1: 80 / 85}
    level, group = np.array(columns["legitimate_features"]), columns["sensitive_features"]
    moved = repair.transform(scores, **columns)
    for fallen, source in ((12, 10), (30, 20)):
        inside = level == fallen
        np.testing.assert_array_equal(
            moved[inside],
            repair.transform(
                scores[inside],
                sensitive_features=group[inside],
                legitimate_features=np.full(inside.sum(), source),
            ),
        )
    assert repair.predicted_risk_ == pytest.approx(((moved - scores) ** 2).mean(), rel=1e-2)


def test_small_cells_of_named_levels_take_the_pooled_map() -> None:
    columns, scores = thin(["a", "b", "c", "d"])
    repair = ConditionalBarycenter(shrink=False).fit(scores, **columns)
    assert [(cell.level, cell.borrowed) for cell in repair.fallbacks_] == [
        ("c", None),
        ("c", None),
        ("d", None),
        ("d", None),
    ]
    pooled = ConditionalBarycenter(shrink=False).fit(
        scores, sensitive_features=columns["sensitive_features"]
    )
    level, group = np.array(columns["legitimate_features"]), columns["sensitive_features"]
    np.testing.assert_array_equal(
        repair.transform(scores, **columns)[level == "d"],
        pooled.transform(scores[level == "d"], sensitive_features=group[level == "d"]),
    )


def test_a_small_third_group_leaves_the_other_two_their_map() -> None:
    three = rows(40, 50, 5, levels=2)
    third = three.groups == 2
    more = rows(40, 50, 30, levels=1, seed=3)
    joined = Rows(
        np.concatenate([three.scores, more.scores]),
        np.concatenate([three.groups, more.groups]),
        np.concatenate([three.levels, np.full(more.scores.size, 7)]),
    )
    repair = ConditionalBarycenter(shrink=False).fit(joined.scores, **joined.features)
    assert repair.fallbacks_ == (Fallback(0, 2, 5, 7), Fallback(1, 2, 5, 7))
    without = three._replace(
        scores=three.scores[~third], groups=three.groups[~third], levels=three.levels[~third]
    )
    np.testing.assert_array_equal(
        repair.transform(without.scores, **without.features), repaired(without).scores
    )


def test_levels_that_were_not_there_fall_back_with_a_warning() -> None:
    table = rows(40, 40)
    repair = ConditionalBarycenter(shrink=False).fit(table.scores, **table.features)
    inside = table.levels == 2
    new = {"sensitive_features": table.groups[inside], "legitimate_features": np.full(80, 9)}
    with pytest.warns(UserWarning, match="fit has not seen 0 in level 9, 1 in level 9: "):
        moved = repair.transform(table.scores[inside], **new)
    np.testing.assert_array_equal(moved, repair.transform(table.scores, **table.features)[inside])
    with pytest.warns(UserWarning, match="0 in level 'x', 0 in level 'y' and 1 more: "):
        repair.transform(
            [0.1, 0.2, 0.3, 0.4],
            sensitive_features=[0, 0, 0, 0],
            legitimate_features=["w", "x", "y", "z"],
        )


def test_groups_that_were_not_in_a_level_fall_back_with_a_warning() -> None:
    columns, scores = thin([10, 20, 30, 12])
    repair = ConditionalBarycenter(shrink=False).fit(scores, **columns)
    with pytest.warns(UserWarning, match="fit has not seen 1 in level 12: "):
        repair.transform([0.5, 0.5], sensitive_features=[0, 1], legitimate_features=[12, 12])


def test_rows_of_weight_zero_teach_nothing_and_are_repaired() -> None:
    table = rows(30, 40)
    weights = np.ones(table.scores.size)
    weights[::7] = 0.0
    repair = ConditionalBarycenter(shrink=False).fit(
        table.scores, **table.features, sample_weight=weights
    )
    kept = weights > 0.0
    without = ConditionalBarycenter(shrink=False).fit(
        table.scores[kept],
        sensitive_features=table.groups[kept],
        legitimate_features=table.levels[kept],
    )
    np.testing.assert_allclose(
        repair.transform(table.scores, **table.features, sample_weight=weights),
        without.transform(table.scores, **table.features),
        rtol=1e-12,
    )
