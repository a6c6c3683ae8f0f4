"""SmoothFairLeap: against its definition, finite differences, and what bins make of parity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.penalties import Layout, SlopeField
from likeforlike.smoothing import make_grid, propensity
from tests.support.oracles import slopes, transport_cost


class Rows(NamedTuple):
    scores: FloatArray
    groups: np.ndarray
    levels: np.ndarray
    weight: FloatArray | None = None


def rows(seed: int, size: int = 300, *, groups: int = 2, weighted: bool = False) -> Rows:
    """Numbers with ties, groups that have them unequally, scores that depend on them."""
    rng = np.random.default_rng(seed)
    number = np.round(rng.gamma(2.0, 1.0, size), 1)
    chance = 1.0 / (1.0 + np.exp(2.0 - number))
    group = np.where(rng.random(size) < chance, 1, 0)
    if groups == 3:
        group[rng.random(size) < 0.3] = 2
    scores = 0.3 * number + rng.standard_normal(size) * 0.2 + 0.1 * group
    return Rows(scores, group, number, rng.random(size) + 0.1 if weighted else None)


def lawful(size: int, seed: int, shift: float = 0.0) -> Rows:
    """A score that is nearly a function of a skewed number, which the groups have unequally."""
    rng = np.random.default_rng(seed)
    number = rng.beta(2.0, 3.0, size)
    group = (rng.random(size) < 1.0 / (1.0 + np.exp(4.0 - 10.0 * number))).astype(int)
    scores = np.sqrt(number) + 0.02 * rng.standard_normal(size) + shift * group
    return Rows(scores, group, number)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_gradients_equal_finite_differences(order: float, groups: int, weighted: bool) -> None:
    data = rows(1, groups=groups, weighted=weighted)
    penalty = lfl.SmoothFairLeap(anchors=4, order=order)
    layout = penalty.prepare(Layout.from_columns(*data[1:]))

    def value(scores: FloatArray) -> float:
        return float(penalty.evaluate(scores[None], layout)[0][0])

    _, gradient = penalty.value_and_grad(*data)
    assert np.abs(gradient).max() > 1e-4
    np.testing.assert_allclose(gradient, slopes(value, data.scores, 1e-6), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_value_is_that_of_its_definition(weighted: bool) -> None:
    """Hats, overlap weights, a line and a linear program at every anchor."""
    data = rows(2, weighted=weighted)
    weight = np.ones(data.scores.size) if data.weight is None else data.weight
    penalty = lfl.SmoothFairLeap(anchors=4)
    found, _ = penalty.value_and_grad(*data)

    numbers, line = np.unique(data.levels, return_inverse=True)
    mass = np.bincount(line, weight).astype(np.float64)
    cells = make_grid(numbers, mass=mass, rows=np.bincount(line).astype(float))
    chance = propensity(cells, np.bincount(line, weight * data.groups) / mass)[0][line]
    dense = np.cbrt(chance * (1.0 - chance))
    position = np.empty(line.size)
    for number in numbers:
        position[data.levels == number] = (
            dense[data.levels < number].sum() + dense[data.levels == number].sum() / 2.0
        )
    position *= 3.0 / dense.sum()

    total, shares = 0.0, 0.0
    for anchor in range(4):
        hat = np.maximum(0.0, 1.0 - np.abs(position - anchor)) * weight
        away = position - anchor
        counted = hat * np.where(data.groups == 1, 1.0 - chance, chance)
        sides = [np.flatnonzero((data.groups == a) & (counted > 0.0)) for a in (0, 1)]
        assert all(counted[side].sum() ** 2 / (counted[side] ** 2).sum() >= 10 for side in sides)
        both = np.concatenate(sides)
        even = np.concatenate([counted[side] / counted[side].sum() for side in sides])
        line = np.polyfit(away[both], data.scores[both], 1, w=np.sqrt(even))[0]
        carried = data.scores - line * away
        none, ones = sides
        cost = transport_cost(carried[none], counted[none], carried[ones], counted[ones], 2.0)
        total, shares = total + hat.sum() * cost, shares + hat.sum()
    assert found == pytest.approx(total / shares, rel=1e-9)


def test_parity_costs_less_than_half_of_what_twenty_bins_make_of_it() -> None:
    squares = []
    for seed in range(3):
        data = lawful(40_000, seed)
        bins = np.searchsorted(np.quantile(data.levels, np.arange(1, 20) / 20), data.levels)
        smooth, _ = lfl.SmoothFairLeap().value_and_grad(*data)
        binned, _ = lfl.FairLeap().value_and_grad(data.scores, data.groups, bins)
        squares.append((smooth, binned))
    smooth, binned = np.sqrt(np.mean(squares, axis=0))
    assert smooth < 0.5 * binned


def test_a_shift_is_found_in_full() -> None:
    value, gradient = lfl.SmoothFairLeap().value_and_grad(*lawful(20_000, 5, shift=0.05))
    assert value**0.5 == pytest.approx(0.05, rel=0.05)
    group = lawful(20_000, 5).groups
    assert gradient[group == 1].sum() == pytest.approx(0.1, rel=0.05)
    assert gradient.sum() == pytest.approx(0.0, abs=1e-12)


def test_scores_that_are_a_line_in_the_rank_cost_nothing() -> None:
    data = lawful(2000, 3)
    layout = lfl.SmoothFairLeap().prepare(Layout.from_columns(data.groups, data.levels))
    along = layout.segments[0, :2000] // 2 + layout.away[0, :2000]
    value, _ = lfl.SmoothFairLeap().value_and_grad(7.0 + 3.0 * along, data.groups, data.levels)
    assert value < 1e-20


def test_where_scores_lie_costs_no_digits() -> None:
    data = rows(4)
    near, slope = lfl.SmoothFairLeap(anchors=4).value_and_grad(*data)
    far, same = lfl.SmoothFairLeap(anchors=4).value_and_grad(data.scores + 2.0**20, *data[1:])
    assert far == pytest.approx(near, rel=1e-8)
    np.testing.assert_allclose(same, slope, atol=1e-8)


def test_every_row_counts_at_two_anchors_once_in_all() -> None:
    data = rows(6, 2000, weighted=True)
    layout = lfl.SmoothFairLeap().prepare(Layout.from_columns(*data[1:]))
    assert (layout.size, layout.places, layout.cell_codes.shape) == (2000, 2, (1, 2000))
    assert data.weight is not None
    assert layout.cell_mass().sum() == pytest.approx(data.weight.sum())
    np.testing.assert_allclose(layout.away[0, :2000] - layout.away[0, 2000:], 1.0)


def test_thin_anchors_are_left_out_and_told() -> None:
    rng = np.random.default_rng(7)
    number = rng.random(4000)
    group = np.where(rng.random(4000) < np.where(number < 0.3, 0.4, 0.0), "b", "a")
    group[np.argmax(number)] = "b"
    layout = lfl.SmoothFairLeap().prepare(Layout.from_columns(group, number))
    covered = layout.coverage()
    assert 0.3 < covered["a"] < 0.7
    assert 0.98 < covered["b"] < 1.0
    _, gradient = lfl.SmoothFairLeap().value_and_grad(rng.random(4000), group, number)
    assert (gradient[number > 0.8] == 0.0).all()
    assert (gradient[number < 0.2] != 0.0).all()


def test_a_group_that_is_missing_somewhere_does_not_stop_the_others() -> None:
    rng = np.random.default_rng(8)
    number = rng.random(3000)
    group = rng.integers(0, 2, 3000)
    group[(number < 0.3) & (rng.random(3000) < 0.5)] = 2
    with_all = lfl.SmoothFairLeap().prepare(Layout.from_columns(group, number)).coverage()
    assert with_all[0] == with_all[1] == 1.0
    assert with_all[2] > 0.95


def test_categories_have_anchors_of_their_own() -> None:
    """Two categories are as good as two data sets."""
    first, second = rows(9, 600), rows(10, 500)
    numbers = np.concatenate([first.levels, second.levels])
    labels = [("a", n) for n in first.levels.tolist()] + [("b", n) for n in second.levels.tolist()]
    levels = np.empty(numbers.size, dtype=object)
    levels[:] = labels
    scores = np.concatenate([first.scores, second.scores])
    groups = np.concatenate([first.groups, second.groups])
    penalty = lfl.SmoothFairLeap(anchors=5)
    value, gradient = penalty.value_and_grad(scores, groups, levels)
    alone = [penalty.value_and_grad(*one) for one in (first, second)]
    assert value == pytest.approx((600 * alone[0][0] + 500 * alone[1][0]) / 1100, rel=1e-9)
    np.testing.assert_allclose(gradient[:600], alone[0][1] * 600 / 1100, atol=1e-12)


def test_anchors_can_be_learned_once() -> None:
    data = rows(11, 2000)
    penalty = lfl.SmoothFairLeap()
    learned = penalty.fit_anchors(data.groups, data.levels)
    whole = penalty.value_and_grad(*data)
    assert learned.value_and_grad(*data)[0] == pytest.approx(whole[0], rel=1e-12)
    some = slice(0, 80)
    with pytest.raises(lfl.errors.InputError, match="no anchor has 10 effective rows"):
        penalty.value_and_grad(data.scores[some], data.groups[some], data.levels[some])
    batch = learned.value_and_grad(data.scores[some], data.groups[some], data.levels[some])
    assert 0.0 < batch[0] < 5.0 * whole[0]
    # Numbers in between, and beyond all that were seen.
    odd = [0.1, 0.5, 0.4, 0.2], [0, 1, 1, 0], [-5.0, 2.345, 90.0, 2.3]
    assert 0.0 < learned.value_and_grad(*odd)[0] < 1.0


def test_stacks_and_splits_equal_the_loop() -> None:
    rng = np.random.default_rng(12)
    data = rows(12, 900, weighted=True)
    whole = Layout.from_columns(*data[1:])
    chosen = np.stack([rng.permutation(900)[:700] for _ in range(3)])
    scores = rng.random((3, 700)) + data.levels[chosen]
    penalty = lfl.SmoothFairLeap(anchors=5)
    values, gradients = penalty.evaluate(scores, whole.take(chosen))
    for k in range(3):
        alone, slope = penalty.evaluate(scores[k : k + 1], whole.take(chosen[k]))
        assert values[k] == pytest.approx(alone[0], rel=1e-12)
        np.testing.assert_allclose(gradients[k], slope[0], atol=1e-14)


def test_classes_are_added_up() -> None:
    data = rows(13, 500)
    scores = np.random.default_rng(13).dirichlet(np.ones(3), 500)
    penalty = lfl.SmoothFairLeap(anchors=5)
    value, gradient = penalty.value_and_grad(scores, data.groups, data.levels)
    parts = [penalty.value_and_grad(column, data.groups, data.levels) for column in scores.T]
    assert value == pytest.approx(sum(one for one, _ in parts), rel=1e-12)
    np.testing.assert_allclose(gradient, np.column_stack([slope for _, slope in parts]))


@pytest.mark.parametrize("order", [1.5, 2.0, 3.0])
def test_the_curvature_is_a_bound(order: float) -> None:
    data = rows(14, 400)
    penalty = lfl.SmoothFairLeap(anchors=4, order=order)
    layout = penalty.prepare(Layout.from_columns(data.groups, data.levels))
    (value,), (gradient,) = penalty.evaluate(data.scores[None], layout)
    bound = penalty.hessian_diagonal(data.scores, layout)
    assert bound.shape == (400,)
    rng = np.random.default_rng(15)
    for size in (1e-3, 1e-2):
        step = size * rng.standard_normal(400)
        (there,), _ = penalty.evaluate((data.scores + step)[None], layout)
        if order != 1.5:
            assert there <= value + gradient @ step + 0.5 * bound @ step**2 + 1e-12


def test_rows_of_the_sample_of_a_field_get_their_own_gradient() -> None:
    data = rows(16, 800, weighted=True)
    penalty = lfl.SmoothFairLeap(anchors=5)
    layout = penalty.prepare(Layout.from_columns(*data[1:]))
    field = SlopeField.fit(penalty, data.scores[None], layout)
    found = layout.sum_places(
        field.gradient(data.scores[None], layout) * penalty.transported_mass(layout)
    )
    np.testing.assert_allclose(found[0], penalty.value_and_grad(*data)[1], atol=1e-12)
    assert field.select(np.array([0])).lines.shape == field.lines.shape


def test_a_field_tells_other_rows_the_gradient_of_all() -> None:
    data = lawful(20_000, 17, shift=0.1)
    penalty = lfl.SmoothFairLeap()
    layout = penalty.prepare(Layout.from_columns(data.groups, data.levels))
    _, gradient = penalty.value_and_grad(*data)
    sample, batch = np.arange(4000), np.arange(10_000, 10_500)
    field = SlopeField.fit(penalty, data.scores[None, sample], layout.take(sample))
    there = layout.take(batch)
    share = penalty.transported_mass(layout)[layout.locate_places(batch[None])[0]]
    found = there.sum_places(field.gradient(data.scores[None, batch], there) * share)[0]
    assert np.corrcoef(found, gradient[batch])[0, 1] > 0.95
    assert found[data.groups[batch] == 1].mean() == pytest.approx(
        gradient[batch][data.groups[batch] == 1].mean(), rel=0.1
    )


def test_two_rows_without_weight_leave_no_trace() -> None:
    data = rows(18, 400)
    weight = np.r_[np.ones(400), 0.0, 0.0]
    more = [np.r_[column, column[:2] + 5] for column in data[:3:2]]
    value, gradient = lfl.SmoothFairLeap(anchors=4).value_and_grad(
        more[0], np.r_[data.groups, 0, 1], more[1], weight
    )
    alone, slope = lfl.SmoothFairLeap(anchors=4).value_and_grad(*data[:3])
    assert value == pytest.approx(alone, rel=1e-12)
    np.testing.assert_allclose(gradient, np.r_[slope, 0.0, 0.0], atol=1e-15)


def pairs(*columns: list[object]) -> np.ndarray:
    levels = np.empty(len(columns[0]), dtype=object)
    levels[:] = list(zip(*columns, strict=True))
    return levels


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (["low", "high"] * 20, "SmoothFairLeap compares along a number, but '(low|high)'"),
        ([True, False] * 20, "compares along a number, but (True|False)"),
        (pairs([1.0, 2.0] * 20, [3, 4] * 20), "2 of the 2 columns of the levels hold numbers"),
        (pairs(["a", "b"] * 20, ["c", "d"] * 20), "0 of the 2 columns of the levels hold numbers"),
        ([np.inf, 1.0] * 20, "numbers that are not finite"),
        (None, "compares along a number, but 'all'"),
    ],
)
def test_levels_that_are_no_numbers(levels: object, message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.SmoothFairLeap().value_and_grad(np.arange(40.0), [0, 1] * 20, levels)


def test_bad_settings() -> None:
    for anchors in (1, 2.5, "ten"):
        with pytest.raises(
            lfl.errors.InputError, match="anchors must be a whole number of 2 or more"
        ):
            lfl.SmoothFairLeap(anchors=anchors)  # type: ignore[arg-type]
    with pytest.raises(lfl.errors.InputError, match="order"):
        lfl.SmoothFairLeap(order=0.5)
    data = rows(19, 2000)
    learned = lfl.SmoothFairLeap().fit_anchors(data.groups, data.levels)
    with pytest.raises(lfl.errors.InputError, match="the anchors were learned from"):
        learned.value_and_grad([0.1, 0.2], ["f", "m"], [1.0, 2.0])
    with pytest.raises(lfl.errors.InputError, match="single value 0"):
        lfl.SmoothFairLeap().value_and_grad(data.scores, np.zeros(2000, int), data.levels)
