"""Two scores of the same rows, held to definitions, to audits of the difference, and to oracles."""

import json
import math
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

import likeforlike as lfl
from likeforlike import Cells
from likeforlike.auditing import summarize
from likeforlike.disparity import contrasts, level_weights
from likeforlike.errors import InputError
from likeforlike.inference import level_gaps, signed_gap
from likeforlike.monitoring._comparison import _verdict
from likeforlike.monitoring._pairs import Pairs, estimate_moments, size_limits

ROLES: dict[str, Any] = {"sensitive": "group", "legitimate": "level"}


def rows(seed: int, n: int = 900, levels: int = 4, groups: int = 2) -> pl.DataFrame:
    """Rows of unequal levels with two scores, an outcome, weights and clusters; some are tied."""
    rng = np.random.default_rng(seed)
    level = np.minimum(rng.geometric(0.4, n), levels)
    group = rng.integers(0, groups, n)
    first = np.round(rng.normal(size=n) + 0.3 * group, 2)
    second = np.round(0.7 * first + 0.5 * rng.normal(size=n), 2)
    return pl.DataFrame(
        {
            "one": first,
            "two": second,
            "group": [f"g{k}" for k in group],
            "level": level,
            "y": (first + rng.normal(size=n) > 0.0).astype(int),
            "target": first + rng.normal(size=n),
            "w": rng.gamma(2.0, size=n),
            "person": rng.integers(0, n // 3, n),
        }
    )


def pairs_of(frame: pl.DataFrame, **more: Any) -> Pairs:
    frame = frame.sort("level", maintain_order=True)
    level, side = frame["level"].to_numpy(), (frame["group"] == "g1").to_numpy().astype(np.int64)
    offsets = np.r_[0, np.flatnonzero(np.diff(level)) + 1, level.size]
    scores = np.stack([frame["one"].to_numpy(), frame["two"].to_numpy()])
    mass = frame["w"].to_numpy() if "weight" in more else np.ones(level.size)
    cluster = frame["person"].to_numpy() if "cluster" in more else None
    return Pairs(scores, side, offsets, mass, np.ones(level.size, np.int64), cluster)


DESIGNS: list[dict[str, str]] = [{}, {"weight": "w"}, {"cluster": "person"}]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_gap_equals_that_of_an_audit_of_the_difference(design: dict[str, str]) -> None:
    frame = rows(1).with_columns(change=pl.col("two") - pl.col("one"))
    found = lfl.compare(frame, scores=["one", "two"], **ROLES, **design)  # type: ignore[arg-type]
    audit = lfl.audit(frame, score="change", permutations=0, **ROLES, **design)  # type: ignore[arg-type]
    gap = found.pairs[0].gap
    assert gap.interval is not None
    assert audit.gap_interval is not None
    assert gap.difference == pytest.approx(audit.gap, abs=1e-12)
    assert gap.interval == pytest.approx(audit.gap_interval, abs=1e-12)
    singles = [lfl.audit(frame, score=s, permutations=0, **ROLES, **design) for s in ("one", "two")]  # type: ignore[arg-type]
    assert (gap.first, gap.second) == pytest.approx([each.gap for each in singles], abs=1e-12)


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_covariance_of_gaps_is_that_of_their_difference(design: dict[str, str]) -> None:
    frame = rows(2)
    moments = estimate_moments(pairs_of(frame, **design), np.full(4, 0.25), seed=0)
    weight = frame["w"] if "weight" in design else None
    cluster = frame["person"] if "cluster" in design else None
    values = {"change": frame["two"] - frame["one"], "one": frame["one"], "two": frame["two"]}
    errors, signs = {}, {}
    for name, score in values.items():
        cells = Cells.from_rows(
            score, frame["group"], frame["level"], sample_weight=weight, cluster=cluster
        )
        contrast = contrasts(cells, "pairwise")[0]
        errors[name] = signed_gap(contrast, np.full(4, 0.25)).error ** 2
        signs[name] = np.sign(level_gaps(contrast).value)
    slope = moments.slopes[1]
    if np.array_equal(signs["one"], signs["two"]) and len(set(signs["one"])) == 1:
        change = slope[0, 0] + slope[1, 1] - 2.0 * slope[0, 1]
        assert change == pytest.approx(errors["change"], rel=1e-6)
        assert [slope[0, 0], slope[1, 1]] == pytest.approx([errors["one"], errors["two"]], rel=1e-6)
    else:
        assert slope[0, 0] > 0.0


def test_plug_in_is_that_of_scipy_and_noise_that_of_its_definition() -> None:
    frame = rows(3, n=60, levels=2)
    pairs = pairs_of(frame)
    measure = np.array([0.3, 0.7])
    moments = estimate_moments(pairs, measure, seed=1)
    rng, drawn = np.random.default_rng(0), np.zeros((400, 2))
    for j in range(2):
        total = 0.0
        for k, q in enumerate(measure):
            part = slice(pairs.offsets[k], pairs.offsets[k + 1])
            x, s = pairs.scores[j, part], pairs.side[part]
            total += q * wasserstein_distance(x[s == 0], x[s == 1]) ** 2
        assert moments.total[j] == pytest.approx(total, rel=1e-12)
    for b in range(400):
        sign = rng.choice([-1.0, 1.0], pairs.side.size)
        for j, k in product(range(2), range(2)):
            part = slice(pairs.offsets[k], pairs.offsets[k + 1])
            x, s, e = pairs.scores[j, part], pairs.side[part], sign[part]
            grid = np.unique(x)
            process = np.zeros(grid.size)
            for side in (0, 1):
                own, signs = x[s == side], e[s == side]
                n = own.size
                below = own[:, None] <= grid
                process += (
                    (-1) ** side
                    * math.sqrt(n / (n - 1))
                    / n
                    * (signs @ (below - below.mean(axis=0)))
                )
            drawn[b, j] += measure[k] * float(np.abs(process[:-1]) @ np.diff(grid)) ** 2
    assert moments.noise == pytest.approx(drawn.mean(axis=0), rel=0.2)
    expected = float(np.asarray(np.corrcoef(drawn.T))[0, 1])
    found = moments.spread[0, 1] / math.sqrt(moments.spread[0, 0] * moments.spread[1, 1])
    assert found == pytest.approx(expected, abs=0.2)


def test_counted_lines_are_rows() -> None:
    frame = rows(4).with_columns(one=pl.col("one").round(0), two=pl.col("two").round(0))
    scores = {"one": "one", "two": "two"}
    summary = summarize(frame, score="one", sensitive="group", legitimate=["level", "two"])
    a = lfl.compare(frame, scores=list(scores), **ROLES).pairs[0]
    b = lfl.compare(summary, scores=list(scores), sensitive="group").pairs[0]
    for one, two in ((a.gap, b.gap), (a.size, b.size)):
        assert one.interval == pytest.approx(two.interval, abs=1e-9)
    assert a.distance.first == pytest.approx(b.distance.first, rel=0.05)
    assert a.distance.interval == pytest.approx(b.distance.interval, abs=0.05)
    with pytest.raises(InputError, match="among its legitimate columns"):
        lfl.compare(summary, scores=["one", "three"], sensitive="group")


@pytest.mark.parametrize("seed", range(3))
def test_limits_of_sizes_hold_every_pair_of_gaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, s = np.sort(rng.normal(size=2)), np.sort(rng.normal(size=2))
    low, high = size_limits((d[0], d[1]), (s[0], s[1]))
    change, total = np.meshgrid(np.linspace(d[0], d[1], 201), np.linspace(s[0], s[1], 201))
    first, second = (total - change) / 2.0, (total + change) / 2.0
    sizes = np.abs(second) - np.abs(first)
    assert low == pytest.approx(sizes.min(), abs=0.02)
    assert high == pytest.approx(sizes.max(), abs=0.02)


def test_auc_is_the_share_of_ordered_pairs_by_group() -> None:
    frame = rows(5, n=120)
    found = lfl.compare(frame, scores=["one", "two"], target="y", **ROLES).performance["two"]
    names = [each.name for each in found]
    assert names == ["AUC", "AUC of g0", "AUC of g1"]
    for each, part in zip(found, [frame, *frame.partition_by("group")], strict=False):
        own = frame if each.name == "AUC" else frame.filter(group=each.name[-2:])
        for score, value in (("one", each.first), ("two", each.second)):
            up = own.filter(pl.col("y") == 1)[score].to_numpy()[:, None]
            down = own.filter(pl.col("y") == 0)[score].to_numpy()
            assert value == pytest.approx(((up > down) + 0.5 * (up == down)).mean(), abs=1e-12)
        assert part.height


def test_squared_error_has_a_paired_interval() -> None:
    frame = rows(6)
    each = lfl.compare(frame, scores=["one", "two"], target="target", **ROLES).performance["two"][0]
    errors = [(frame["target"] - frame[s]).to_numpy() ** 2 for s in ("one", "two")]
    change = errors[1] - errors[0]
    assert each.difference == pytest.approx(change.mean())
    assert each.interval is not None
    half = (each.interval[1] - each.interval[0]) / 2.0
    assert half == pytest.approx(1.963 * change.std(ddof=1) / math.sqrt(change.size), rel=1e-3)


def test_equal_scores_do_not_differ() -> None:
    frame = rows(7).with_columns(two=pl.col("one"))
    found = lfl.compare(frame, scores=["one", "two"], **ROLES)
    pair = found.pairs[0]
    assert pair.gap.interval == pair.size.interval == pair.distance.interval == (0.0, 0.0)
    assert found.verdict == "not worse"
    assert "The scores are equal." in pair.reasons


def test_better_on_one_side_is_worse_on_the_other() -> None:
    frame = rows(8, n=3000).with_columns(two=pl.col("one") - 0.3 * (pl.col("group") == "g1"))
    found = [lfl.compare(frame, scores=list(s), **ROLES) for s in (("one", "two"), ("two", "one"))]
    assert [each.verdict for each in found] == ["better", "worse"]
    ends = [each.pairs[0].distance.interval for each in found]
    assert ends[0] is not None
    assert ends[1] is not None
    assert ends[0] == pytest.approx((-ends[1][1], -ends[1][0]), rel=0.2)
    by_gap = lfl.compare(frame, scores=["one", "two"], of="gap", **ROLES)
    assert by_gap.verdict == "better"
    assert "smaller" in found[0].headline
    assert "larger" in found[1].headline


def test_intervals_of_several_challengers_and_groups_hold_together() -> None:
    frame = rows(9, groups=3).with_columns(three=pl.col("two") + 0.1)
    found = lfl.compare(frame, scores=["one", "two", "three"], **ROLES)
    assert len(found.pairs) == 6
    alone = lfl.compare(frame.filter(pl.col("group") != "g2"), scores=["one", "two"], **ROLES)
    wide, narrow = found.pairs[0].gap.interval, alone.pairs[0].gap.interval
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_levels_with_a_single_row_have_no_paired_distances() -> None:
    frame = rows(10, n=200)
    alone = pl.DataFrame(
        {name: [1.0, 1.0] for name in frame.columns} | {"group": ["g0", "g1"], "level": [77, 77]}
    ).cast(dict(zip(frame.columns, frame.dtypes, strict=True)))
    pair = lfl.compare(pl.concat([frame, alone]), scores=["one", "two"], **ROLES).pairs[0]
    assert any("single row" in reason for reason in pair.reasons)
    assert pair.distance.interval is not None


@pytest.mark.parametrize(
    ("interval", "margin", "verdict"),
    [
        ((-0.3, -0.1), 0.0, "better"),
        ((-0.3, 0.0), 0.0, "not worse"),
        ((0.005, 0.01), 0.01, "not worse"),
        ((0.005, 0.02), 0.01, "worse"),
        ((-0.1, 0.02), 0.01, "undecided"),
        (None, 0.5, "undecided"),
    ],
)
def test_verdict_names_what_the_interval_shows(
    interval: tuple[float, float] | None, margin: float, verdict: str
) -> None:
    assert _verdict(interval, margin) == verdict


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"scores": ["one"]}, "two different columns"),
        ({"scores": ["one", "one"]}, "two different columns"),
        ({"scores": ["one", "cents"]}, "different units"),
        ({"scores": ["one", "y"]}, "different units"),
        ({"margin": -0.1}, "margin must be"),
        ({"of": "mean"}, "of must be one of"),
        ({"scale": "euro"}, "scale must be one of"),
        ({"sensitive": ["group", "y"]}, "sensitive must be one column"),
        ({"target": "two"}, "plays two parts"),
        ({"target": "zero"}, "target has one value only"),
        ({"confidence": 1.0}, "confidence must lie"),
    ],
)
def test_bad_questions_are_refused(asked: dict[str, Any], message: str) -> None:
    frame = rows(11, n=100).with_columns(cents=100.0 * pl.col("two"), zero=0)
    with pytest.raises(InputError, match=message):
        lfl.compare(frame, **{"scores": ["one", "two"], **ROLES, **asked})


def test_ranks_make_scores_of_different_units_comparable() -> None:
    frame = rows(12).with_columns(cents=100.0 * pl.col("one"))
    found = lfl.compare(frame, scores=["one", "cents"], scale="ranks", **ROLES)
    assert found.pairs[0].distance.interval == (0.0, 0.0)


def test_results_can_be_written_as_text_json_frame_and_page() -> None:
    frame = rows(13).with_columns(group=pl.col("group").replace({"g0": "<b>&x"}))
    found = lfl.compare(frame, scores=["one", "two"], target="y", **ROLES)
    written = json.loads(found.to_json())
    assert written["verdict"] == found.verdict
    assert written["pairs"][0]["gap"]["difference"] == found.pairs[0].gap.difference
    assert found.to_frame().height == 3 + 4 + 3
    page = found.to_html()
    assert "<b>&x" not in page
    assert "&lt;b&gt;&amp;x" in page
    assert found.headline.split(";")[0] in str(found)
    assert "one and two" in repr(found)


def test_level_weights_may_be_chosen() -> None:
    frame = rows(14)
    found = lfl.compare(frame, scores=["one", "two"], measure="uniform", **ROLES).pairs[0]
    contrast = contrasts(Cells.from_rows(frame["one"], frame["group"], frame["level"]), "pairwise")
    gap = signed_gap(contrast[0], level_weights(contrast[0], "uniform"))
    assert found.gap.first == pytest.approx(gap.value)
