from hashlib import sha256

import numpy as np
import pytest

from likeforlike.datasets import load_communities
from likeforlike.datasets._dataset import decile_edges
from likeforlike.datasets._public import COLUMNS
from likeforlike.errors import InputError
from tests.datasets.raw import counts, cross_validated_error, mean, rows

# SHA-256 of the names that were published for the 128 columns, one a line.
NAMES = "b80f51109fa077568d2475ff11713bdb48ba5661db033f8b59ef5d14b619310f"
# places of the lower and the upper group, and their mean crime; by decile of income.
LEVELS = [
    (55, 160, 0.159, 0.451),
    (80, 149, 0.190, 0.442),
    (70, 113, 0.172, 0.380),
    (83, 128, 0.187, 0.406),
    (93, 91, 0.172, 0.404),
    (130, 76, 0.152, 0.336),
    (101, 74, 0.132, 0.237),
    (130, 78, 0.106, 0.190),
    (124, 59, 0.082, 0.131),
    (158, 42, 0.065, 0.103),
]
# In data of two decimals more than 0.05 is at least 0.06.
THRESHOLDS = [
    ("median", 0.486, 42, 0),
    (0.06, 0.486, 42, 0),
    (0.05, 0.521, 55, 0),
    ("mean", 0.296, 11, 0),
    (0.5, 0.120, 3, 3),
]


@pytest.mark.parametrize("decile", range(10))
def test_every_level(decile: int) -> None:
    frame = load_communities().frame
    lower, upper, lower_mean, upper_mean = LEVELS[decile]
    inside = frame.filter(frame["medIncome_decile"] == decile)
    assert counts(inside, "medIncome_decile", "black_share") == {
        decile: {"lower": lower, "upper": upper}
    }
    assert round(mean(inside, "ViolentCrimesPerPop", black_share="lower"), 3) == lower_mean
    assert round(mean(inside, "ViolentCrimesPerPop", black_share="upper"), 3) == upper_mean


@pytest.mark.parametrize(("threshold", "share", "smallest", "small"), THRESHOLDS)
def test_every_threshold(threshold: float, share: float, smallest: int, small: int) -> None:
    places = load_communities(threshold=threshold)
    assert round(float((places.groups == "upper").mean()), 3) == share
    sizes = cell_sizes(places.levels, places.groups == "upper")
    assert min(sizes) == smallest
    assert sum(size < 5 for size in sizes) == small


def test_the_frame_allows_other_groups() -> None:
    frame = load_communities().frame
    more_black = (frame["racepctblack"] > frame["racePctWhite"]).to_numpy()
    sizes = cell_sizes(frame["medIncome_decile"].to_numpy(), more_black)
    assert round(float(more_black.mean()), 3) == 0.123
    assert (min(sizes), sum(size < 5 for size in sizes)) == (4, 1)


def cell_sizes(levels: np.ndarray, upper: np.ndarray) -> list[int]:
    return [
        int(((levels == level) & (upper == side)).sum()) for level in range(10) for side in (0, 1)
    ]


def test_totals() -> None:
    places = load_communities()
    assert places.frame.height == 1994
    sizes = np.bincount(places.levels)
    assert (sizes.size, sizes.min(), sizes.max()) == (10, 175, 229)
    assert round(float(places.targets.var()), 3) == 0.054
    share = places.frame["racepctblack"].to_numpy()
    assert np.median(share) == 0.06
    assert round(float(share.mean()), 2) == 0.18
    assert ((share == 0).sum(), (share == 1).sum()) == (134, 56)
    np.testing.assert_allclose(
        decile_edges(places.frame["medIncome"]),
        [0.14, 0.18, 0.22, 0.26, 0.32, 0.38, 0.44, 0.53, 0.657],
        rtol=1e-12,
    )
    assert places.frame["state"].n_unique() == 46
    assert places.frame["communityname"].n_unique() == 1828


def test_columns_have_the_names_that_were_published() -> None:
    """That is: the second word of every line of communities.names that opens with @attribute."""
    assert len(COLUMNS) == 128
    assert sha256("\n".join(COLUMNS).encode()).hexdigest() == NAMES


def test_98_predictors_with_one_value_filled() -> None:
    places = load_communities()
    matrix, names = places.inputs()
    assert names == places.features
    assert matrix.shape == (1994, 98)
    assert not {"racepctblack", "medIncome", "state", "LemasSwornFT"} & set(names)
    raw = rows("communities/communities.data", list(COLUMNS))
    filled = 0
    for column, name in enumerate(names):
        known = [float(row[name]) for row in raw if row[name] != "?"]
        filled += len(raw) - len(known)
        written = [np.median(known) if row[name] == "?" else float(row[name]) for row in raw]
        np.testing.assert_array_equal(matrix[:, column], written)
    assert filled == 1
    missing = places.frame.null_count().row(0, named=True)
    assert (missing["county"], missing["community"], missing["OtherPerCap"]) == (1174, 1177, 0)
    assert list(missing.values()).count(1675) == 22


def test_124_inputs_of_the_paper() -> None:
    places = load_communities(features="paper")
    matrix, names = places.inputs()
    assert matrix.shape == (1994, 124)
    outside = {"communityname", "racepctblack", "medIncome", "ViolentCrimesPerPop"}
    assert names == tuple(name for name in COLUMNS if name not in outside)
    raw = rows("communities/communities.data", list(COLUMNS))
    for name in ("county", "LemasSwornFT", "PolicBudgPerPop"):
        known = [float(row[name]) for row in raw if row[name] != "?"]
        written = [np.median(known) if row[name] == "?" else float(row[name]) for row in raw]
        np.testing.assert_array_equal(matrix[:, names.index(name)], written)
    plain = load_communities()
    np.testing.assert_array_equal(places.groups, plain.groups)
    np.testing.assert_array_equal(places.levels, plain.levels)


def test_roles() -> None:
    places = load_communities()
    assert (places.target, places.sensitive) == ("ViolentCrimesPerPop", "black_share")
    assert (places.legitimate, places.task) == (("medIncome_decile",), "regression")
    assert places.frame.equals(load_communities().frame)


def test_linear_regression_errs_as_in_the_paper() -> None:
    places = load_communities()
    more = places.frame.select("racepctblack", "medIncome").to_numpy()
    hundred = np.column_stack([places.inputs().matrix, more])
    assert round(cross_validated_error(hundred, places.targets), 3) == 0.019
    level = places.levels.astype(np.float64)[:, None]
    assert round(cross_validated_error(level, places.targets), 3) == 0.044


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": "mode"}, "threshold must be a number or one of .* not 'mode'"),
        ({"threshold": 1.0}, r"threshold 1\.0 puts all places in one group.*below 1"),
        ({"threshold": -0.1}, r"threshold -0\.1 puts all places in one group"),
        ({"threshold": float("nan")}, "threshold nan puts all places in one group"),
        ({"features": "all"}, "features must be one of .* not 'all'"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_communities(**arguments)  # type: ignore[arg-type]
