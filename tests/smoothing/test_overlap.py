"""Groups that do not overlap along a number: their gap is neither absorbed nor made up."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from benchmarks.overlap import KEPT, SETTINGS, section, simulate
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.penalties import Layout
from likeforlike.repair import ConditionalBarycenter
from likeforlike.smoothing import (
    Bandwidth,
    Grid,
    common_gaps,
    compare_along,
    find_overlap,
    make_grid,
    windows,
)
from likeforlike.smoothing._overlap import mixing, remaining_share, row_sums
from likeforlike.training import estimate_smooth_disparity

Table = dict[str, Any]


def logistic(x: FloatArray) -> FloatArray:
    chance: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return chance


def places(
    seed: int, number: int = 150, rows: int = 20, own: float = 1.0, gap: float = 0.3
) -> Table:
    """Places with a number each, and rows of which so many are of the place's own group."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=number)
    group = rng.random(number) < logistic(z)
    i = np.repeat(np.arange(number), rows)
    a = np.where(rng.random(i.size) < own, group[i], ~group[i]).astype(int)
    score = (0.5 * z + 0.3 * rng.normal(size=number))[i] + 0.5 * rng.normal(size=i.size) + gap * a
    return {"s": score, "a": a, "z": z[i], "c": i}


def people(seed: int, number: int, rows: int, gap: float, between: float) -> Table:
    """People with a number and several rows each."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=number)
    a = (rng.random(number) < logistic(z)).astype(int)
    i = np.repeat(np.arange(number), rows)
    score = (z + between * rng.normal(size=number))[i] + 0.6 * rng.normal(size=i.size)
    return {"s": score + gap * a[i], "a": a[i], "z": z[i], "c": i}


def plain(seed: int, rows: int, steep: float = 1.0, middle: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    a = (rng.random(rows) < logistic(steep * (z - middle))).astype(int)
    return {"s": np.tanh(z) + 0.5 * rng.normal(size=rows) + 0.1 * a, "a": a, "z": z}


def audited(table: Table, **asked: Any) -> lfl.Audit:
    usual: dict[str, Any] = {"smooth": "z", "permutations": 99}
    return lfl.audit(pl.DataFrame(table), score="s", sensitive="a", **(usual | asked))


def smooth(found: lfl.Audit) -> Any:
    assert found.smooth is not None
    return found.smooth


# What was lost before: a gap along numbers of one group each -------------------------------------


@pytest.mark.parametrize(
    ("table", "asked", "gap", "sd"),
    [
        (places(0), {}, 0.3, 0.067),
        (places(1), {"cluster": "c"}, 0.3, 0.067),
        (places(2, own=0.97), {}, 0.3, 0.059),
        (places(3, own=0.97), {"cluster": "c"}, 0.3, 0.059),
        (places(4, own=0.9), {}, 0.3, 0.038),
        (places(5, 400, 10), {}, 0.3, 0.040),
        (places(6, 60, 40), {"cluster": "c"}, 0.3, 0.11),
        (people(7, 200, 5, 0.5, 0.8), {"cluster": "c"}, 0.5, 0.156),
        (people(8, 200, 5, 0.5, 0.3), {"cluster": "c"}, 0.5, 0.072),
        (people(9, 200, 2, 0.5, 0.8), {"cluster": "c"}, 0.5, 0.142),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value),
)
def test_gap_between_places_is_found_and_no_gate_passes(
    table: Table, asked: Table, gap: float, sd: float
) -> None:
    found = audited(table, **asked)
    assert found.gap == pytest.approx(gap, abs=3.0 * sd)
    assert found.gate(gap / 2.0) != "pass"
    assert found.gate(gap / 2.0, of="gap") != "pass"


@pytest.mark.simulation
@pytest.mark.parametrize(
    "name",
    [
        "150 places of 20, 100%",
        "150 places of 20, 90%",
        "200 people of 5 rows",
        "150 places, numbers jittered",
    ],
)
def test_settings_hold_in_a_few_data_sets(name: str) -> None:
    setting = next(each for each in SETTINGS if each.name == name)
    found = simulate(setting, 6)
    assert found["passes"] == 0.0
    if setting.answered:
        assert found["answered"] == 12
        assert found["gap"] == pytest.approx(found["true"], abs=0.15)
        assert found["covered"] >= 0.5
    else:
        assert found["answered"] == 0


def test_kept_results_have_no_false_passes() -> None:
    results = json.loads(KEPT.read_text("utf-8"))["settings"]
    assert [entry["people"] for entry in results] == [setting.name for setting in SETTINGS]
    assert len(results) >= 30
    for entry, setting in zip(results, SETTINGS, strict=True):
        assert entry["passes"] <= 0.03, entry
        reported = entry["answered"] / (2 * entry["repetitions"])
        assert (reported >= 0.9) if setting.answered else (reported <= 0.15), entry
        if setting.answered:
            assert entry["covered"] >= 0.8, entry
            assert entry["rejects"] <= 0.2, entry


def test_section_of_the_page_is_that_of_kept_results() -> None:
    page = (KEPT.parent.parent / "docs" / "calibration_smooth.md").read_text("utf-8")
    assert section(json.loads(KEPT.read_text("utf-8"))) in page


# Reports ----------------------------------------------------------------------------------------


def test_units_mixing_and_sentence_are_reported() -> None:
    found = audited(places(0))
    reported = " ".join(found.finding.sentences)
    assert (smooth(found).units, smooth(found).shared) == ("units", 0.0)
    assert smooth(found).mixing > 0.5
    assert "No row has exactly the z of a row of the other group (0% of rows)" in reported
    assert "nearly equal z" in reported
    assert "bins would have shown" not in reported
    assert "would have added" not in found.to_html()
    part = found.to_dict()["contrasts"][0]["smooth"]
    assert part is not None
    assert (part["units"], part["mixing"]) == ("units", smooth(found).mixing)


def test_numbers_are_levels_where_groups_share_them() -> None:
    found = audited(places(1, own=0.8))
    assert smooth(found).units == "numbers"
    assert len(smooth(found).windows) == 150
    assert smooth(found).windows[0].low == smooth(found).windows[0].high
    assert "Rows with exactly the same z were compared" in " ".join(found.finding.sentences)


def test_rows_are_compared_where_groups_mix() -> None:
    found = audited(plain(0, 1000))
    assert smooth(found).units == "rows"
    assert smooth(found).mixing == pytest.approx(1.0, abs=0.15)
    assert "bins would have shown" in " ".join(found.finding.sentences)


@pytest.mark.parametrize("seed", range(3))
def test_steep_share_is_no_lack_of_overlap(seed: int) -> None:
    assert smooth(audited(plain(seed, 2000, 3.0, 2.0), permutations=0)).units == "rows"


# No answer ---------------------------------------------------------------------------------------


def apart(seed: int, rows: int = 600) -> Table:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    return {"s": z + rng.normal(size=rows), "a": np.where(z > 0.3, "x", "y"), "z": z}


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (apart(0), "cannot be separated|no two rows|close to each other"),
        (
            places(0) | {"z": places(0)["z"] + 1e-6 * np.random.default_rng(0).normal(size=3000)},
            "no two rows have the same number",
        ),
        (places(1, 15, 10), "fewer than 10 different numbers"),
    ],
    ids=["function", "jittered", "few"],
)
def test_only_contrast_that_lies_apart_is_refused_in_words(table: Table, why: str) -> None:
    with pytest.raises(InputError, match=f"cannot be compared.*along z.*({why}).*cluster.*bins"):
        audited(table)


def test_contrast_that_lies_apart_is_unexamined() -> None:
    rng = np.random.default_rng(1)
    table = apart(0)
    more = rng.normal(size=400)
    z = np.r_[table["z"], more]
    score, group = np.r_[table["s"], more + rng.normal(size=400)], np.r_[table["a"], ["w"] * 400]
    found = audited({"s": score, "a": group, "z": z}, reference="y")
    assert [each.groups for each in found.contrasts] == [("w", "y")]
    assert found.unexamined[0].groups == ("x", "y")
    assert found.unexamined[0].rows == {
        "x": int((group == "x").sum()),
        "y": int((group == "y").sum()),
    }
    assert "lie apart along z" in found.unexamined[0].reason
    assert found.gate(10.0) == "investigate"
    compared = {each.group: each.compared for each in found.groups}
    assert compared["x"] == 0
    assert compared["w"] > 0


def test_placebo_leaves_silent_windows_out() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=2000)
    # Groups mix below 1.2, and are reported by the number above.
    share = np.where(z < 1.2, 0.5, z > 1.6)
    a = (rng.random(2000) < share).astype(int)
    found = audited({"s": z + rng.normal(size=2000), "a": a, "z": z}, windows=10)
    assert 0.0 < min(found.coverage.values()) < 0.95
    assert any("only" in name for name in found.contrasts[0].excluded)
    assert len(found.placebo(5, permutations=19).p_values) == 5


# Windows, names and bins -------------------------------------------------------------------------


def test_windows_of_several_numbers_carry_no_category() -> None:
    rng = np.random.default_rng(0)
    table = plain(2, 1500)
    table |= {"y": rng.normal(size=1500), "k": rng.choice(["u", "v"], 1500)}
    found = audited(table, smooth=["z", "y"], legitimate="k", permutations=0)
    names = [level.name for level in found.contrasts[0].levels]
    assert all(name.startswith("estimated share of") for name in names)
    assert {window.category for window in smooth(found).windows} == {""}


@pytest.mark.parametrize("columns", [[], ["k"]])
@pytest.mark.parametrize("groups", [2, 3])
def test_ten_bins_are_those_of_bins(columns: list[str], groups: int) -> None:
    rng = np.random.default_rng(0)
    table = plain(3, 1200)
    table["a"] = np.where(rng.random(1200) < 0.2 * (groups - 2), 2, table["a"]).astype(str)
    table |= {"z": np.round(table["z"], 1), "k": rng.choice(["u", "v", "w"], 1200)}
    along = audited(table, legitimate=columns, permutations=9)
    with pytest.warns(lfl.errors.BinnedLevelWarning):
        cut = audited(
            table, smooth=None, legitimate=[*columns, "z"], bins={"z": 10}, permutations=9
        )
    binned = {each.groups: each for each in cut.contrasts}
    for each in along.contrasts:
        assert each.smooth is not None
        shown = binned[each.groups]
        assert each.smooth.gap_confounding is not None
        gap = each.gap.value + each.smooth.gap_confounding
        assert gap == pytest.approx(shown.gap.value, abs=1e-12)
        assert each.estimate is not None
        assert shown.estimate is not None
        if each.smooth.confounding is not None and each.estimate.value is not None:
            reported = each.estimate.value + each.smooth.confounding
            assert reported == pytest.approx(shown.estimate.value, abs=1e-12)


@pytest.mark.parametrize(("rows", "middle"), [(300, 0.0), (500, 0.0), (1000, 1.0), (3000, 1.5)])
def test_most_default_windows_have_twenty_rows_of_the_smaller_group(
    rows: int, middle: float
) -> None:
    found = audited(plain(5, rows, 1.0, middle), permutations=0).contrasts[0]
    small = min(found.groups, key=lambda group: sum(level.rows[group] for level in found.levels))
    counts = np.array([level.rows[small] for level in found.levels])
    assert (counts >= 20).mean() >= 0.5
    assert counts.size >= 4


def test_windows_by_hand_are_as_asked() -> None:
    found = smooth(audited(plain(6, 1000, middle=1.0), windows=20, permutations=0))
    assert len(found.windows) == 20


def test_no_caution_asks_for_what_is_refused() -> None:
    table = {**plain(7, 800), "b": np.tile(["u", "v"], 400)}
    two = lfl.audit(
        pl.DataFrame({**table, "z": np.round(table["z"], 1)}),
        score="s",
        sensitive=["a", "b"],
        legitimate="z",
        permutations=0,
    )
    advice = [caution for caution in two.finding.cautions if "different values" in caution]
    assert advice
    assert all("smooth" not in caution for caution in advice)
    one = audited({**table, "z": np.round(table["z"], 1)}, smooth=None, legitimate="z")
    assert any("smooth=['z']" in caution for caution in one.finding.cautions)


# Mixing ------------------------------------------------------------------------------------------


def cells_of(numbers: FloatArray, **more: Any) -> Grid:
    return make_grid(np.asarray(numbers, np.float64), **more)


def phi(group: IntArray, number: IntArray) -> float:
    """The mixing of rows of one window."""
    size, n_groups = int(number.max()) + 1, int(group.max()) + 1
    total = np.bincount(number * n_groups + group, minlength=size * n_groups).reshape(size, -1)
    count = total.sum(axis=1).astype(np.float64)
    found, chance, _ = mixing(count, total.astype(np.float64), count, np.zeros(size, np.int64))
    return float(found[0] / chance[0])


def test_mixing_of_alternating_blocked_and_tied_rows() -> None:
    row = np.arange(40)
    assert phi(row % 2, row) > 1.5
    assert phi((row >= 20).astype(int), row) < 0.1
    assert phi(row % 2, np.zeros(40, np.int64)) == pytest.approx(1.0)


def test_mixing_is_the_mean_over_random_orders() -> None:
    group, number = np.array([0, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 1])
    found = []
    for first in itertools.permutations(range(3)):
        for last in itertools.permutations([3, 4]):
            order = group[[*first, *last]]
            found.append((order[1:] != order[:-1]).sum())
    expected = [
        sum(a != b for a, b in itertools.pairwise(order)) for order in itertools.permutations(group)
    ]
    assert phi(group, number) == pytest.approx(np.mean(found) / np.mean(expected))


@pytest.mark.parametrize("own", [1.0, 0.97, 0.8])
def test_overlap_ignores_order_of_rows_and_names_of_groups(own: float) -> None:
    table = places(4, own=own)
    order = np.random.default_rng(0).permutation(table["z"].size)
    one = find_overlap(cells_of(table["z"]), table["a"], table["s"])
    other = find_overlap(cells_of(table["z"][order]), 1 - table["a"][order], table["s"][order])
    assert one.unit.tolist() == other.unit.tolist()
    assert one.mixing == pytest.approx(other.mixing)


def test_figures_ignore_order_of_rows_and_names_of_groups() -> None:
    table = pl.DataFrame(places(5))
    one = audited(table.to_dict(as_series=False))
    mixed = table.sample(fraction=1.0, shuffle=True, seed=1).to_dict(as_series=False)
    other = audited(mixed)
    assert (one.gap, one.p_value, one.interval) == (other.gap, other.p_value, other.interval)
    turned = audited({**mixed, "a": [1 - each for each in mixed["a"]]})
    assert turned.gap == pytest.approx(-one.gap, abs=1e-9)


# Noise and gaps ----------------------------------------------------------------------------------


def test_noise_of_units_is_found_between_neighbors() -> None:
    rng = np.random.default_rng(0)
    number = np.repeat(np.linspace(0.0, 1.0, 1000), 5)
    unit = np.repeat(np.arange(1000), 5)
    values = 3.0 * number + (0.4 * rng.normal(size=1000))[unit] + 0.6 * rng.normal(size=5000)
    cells = cells_of(number, cluster=unit)
    # A cell has 5 units of 5 rows: its mean varies by (.16 + .36 / 5) / 5.
    assert np.median(cells.variance(values) / cells.effective) == pytest.approx(
        (0.16 + 0.36 / 5.0) / 5.0, rel=0.15
    )
    # Rows of one unit alone say nothing of that.
    alone = cells_of(np.repeat(np.arange(100.0), 20), cluster=np.repeat(np.arange(100), 20))
    effects = np.repeat(rng.normal(size=100), 20)
    assert np.median(alone.variance(effects) / alone.effective) > 0.5


def test_common_gap_of_cell_means_is_the_within_estimator() -> None:
    table = places(6, own=0.8)
    cells, member = cells_of(table["z"]), table["a"].astype(np.float64)
    none = Bandwidth(np.zeros(1, np.int64), np.zeros(1))
    rest = member - cells.mean(member)[cells.cell]
    expected = rest @ table["s"] / (rest @ rest)
    found = common_gaps(cells, table["s"], table["a"], none)
    assert found == pytest.approx([0.0, expected], rel=1e-4)


def test_smoothers_leave_enough_of_the_group() -> None:
    table = places(7)
    cells = cells_of(table["z"])
    window = windows(cells, table["z"]).of_line
    none = Bandwidth(np.zeros(1, np.int64), np.zeros(1))
    assert remaining_share(cells, window, table["a"], none)[0] == pytest.approx(0.0, abs=1e-9)
    found = compare_along(cells, table["z"], table["s"], table["a"])
    left = remaining_share(found.cells, found.windows.of_line, table["a"], found.fitted.choice)
    assert left[0] >= 0.8


# Training and repair -----------------------------------------------------------------------------


def slope_free_gap(scores: FloatArray, table: Table) -> float:
    columns = np.column_stack([np.ones(scores.size), table["z"], table["a"]])
    return float(np.linalg.lstsq(columns, scores, rcond=None)[0][2])


def test_repair_takes_the_gap_between_places_away() -> None:
    table = places(8)
    who = {"sensitive_features": table["a"], "legitimate_features": table["z"]}
    repair = ConditionalBarycenter(smooth=True).fit(table["s"], **who)
    before, after = (
        slope_free_gap(table["s"], table),
        slope_free_gap(repair.transform(table["s"], **who), table),
    )
    assert before > 0.2
    assert abs(after) < 0.1


def test_repair_refuses_groups_that_lie_apart() -> None:
    table = apart(0)
    with pytest.raises(InputError, match="groups lie apart along the number"):
        ConditionalBarycenter(smooth=True).fit(
            table["s"], sensitive_features=table["a"], legitimate_features=table["z"]
        )


def test_limits_measure_what_the_audit_finds() -> None:
    table = places(9)
    layout = Layout.from_columns(table["a"], table["z"])
    found = estimate_smooth_disparity(table["s"], layout)
    audit = audited(table)
    assert audit.contrasts[0].estimate is not None
    assert found.squared == pytest.approx(audit.contrasts[0].estimate.squared, rel=0.02)


def test_penalty_refuses_groups_that_lie_apart() -> None:
    table = apart(0)
    with pytest.raises(InputError, match="lie apart along the number"):
        lfl.SmoothFairLeap(anchors=4).fit_anchors(table["a"], table["z"])


# Several numbers ----------------------------------------------------------------------------------


def several(seed: int, rows: int = 1500, interaction: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    z, y, x = rng.normal(size=(3, rows))
    hidden = interaction * np.sign(z * y * x) * np.abs(z)
    a = (rng.random(rows) < logistic(z + hidden)).astype(int)
    return {"s": z + 0.5 * y + hidden + 0.5 * rng.normal(size=rows), "a": a, "z": z, "y": y, "x": x}


def test_fit_of_predictions_is_told_and_condition_named() -> None:
    found = audited(several(0), smooth=["z", "y", "x"])
    group, score = smooth(found).explained
    assert 0.1 < group < 0.3
    assert 0.7 < score < 0.9
    assert smooth(found).boosted[1] == pytest.approx(score, abs=0.1)
    assert (smooth(found).boosted_rows, smooth(found).misfit) == (1500, ())
    assert "these predictions explain" in " ".join(found.finding.sentences)
    cautions = " ".join(found.finding.cautions)
    assert "If both predictions, of that share and of the score, are right" in cautions
    assert "at least what is told" not in cautions


def test_better_predictions_of_trees_are_warned_of() -> None:
    found = audited(several(1, 4000, 1.5), smooth=["z", "y", "x"])
    assert smooth(found).misfit == ("group", "score")
    assert any(each.startswith("Boosted trees predict") for each in found.finding.cautions)


def test_audit_does_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("likeforlike.auditing._smooth.find_spec", lambda _: None)
    found = audited(several(2), smooth=["z", "y"])
    assert smooth(found).boosted is None
    assert smooth(found).explained is not None


def test_rows_with_the_same_features_share_a_fold() -> None:
    table = places(10, 120, 10)
    table["y"] = np.random.default_rng(1).normal(size=120)[table["c"]]
    found = audited(table, smooth=["z", "y"])
    assert smooth(found).units == "units"
    assert found.gap == pytest.approx(0.3, abs=0.25)
    assert found.gate(0.15) != "pass"


@pytest.mark.parametrize("columns", range(1, 12))
def test_sums_of_rows_are_those_of_numpy(columns: int) -> None:
    table = np.random.default_rng(columns).lognormal(0.0, 20.0, (300, columns))
    assert np.array_equal(row_sums(table), table.sum(axis=1))


# Groups that mix ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "components", "companion"),
    [
        (plain(0, 1000), (0.01, 0.01, 0.48, 0.01, 0.18), 0.0151),
        (plain(1, 2000, 3.0), (0.01, 0.01, 0.22, 0.43, 0.31), 0.0012),
        (
            {**(marks := plain(2, 2000)), "z": np.round(4 * marks["z"]) / 4},
            (0.01, 0.01, 0.26, 0.12, 0.14),
            5e-4,
        ),
        (
            {**(scores := plain(3, 1000)), "s": (scores["s"] > 0.0) * 1.0},
            (0.13, 0.13, 0.29, 0.37, 0.05),
            0.0425,
        ),
    ],
    ids=["rows", "steep", "marks", "decisions"],
)
def test_p_values_are_what_they_were_where_groups_mix(
    table: Table, components: tuple[float, ...], companion: float
) -> None:
    found = audited(table)
    test = found.contrasts[0].test
    assert test is not None
    assert test.method == "permutation"
    assert tuple(test.components.values()) == pytest.approx(components, rel=1e-12)
    assert smooth(found).companion_p == pytest.approx(companion, rel=1e-12)
