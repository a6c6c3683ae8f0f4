from collections import Counter

import numpy as np
import polars as pl
import pytest

from likeforlike.datasets import load_adult
from likeforlike.errors import InputError
from tests.datasets.raw import counts, mean, rows

NAMES = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
)
REST = ("sex", "occupation", "income")
# occupation: women and men with known occupation, women and men in complete rows.
CELLS = {
    "Adm-clerical": (3769, 1842, 3730, 1810),
    "Craft-repair": (323, 5789, 315, 5705),
    "Exec-managerial": (1748, 4338, 1724, 4260),
    "Farming-fishing": (95, 1395, 95, 1385),
    "Handlers-cleaners": (254, 1818, 253, 1793),
    "Machine-op-inspct": (804, 2218, 793, 2177),
    "Other-service": (2698, 2225, 2642, 2166),
    "Prof-specialty": (2242, 3930, 2203, 3805),
    "Protective-serv": (350, 890, 340, 882),
    "Sales": (1947, 3557, 1921, 3487),
    "Tech-support": (562, 884, 554, 866),
    "Transport-moving": (127, 2228, 125, 2191),
}
UNMERGED = {
    "Protective-serv": (122, 861, 122, 854),
    "Priv-house-serv": (228, 14, 218, 14),
    "Armed-Forces": (0, 15, 0, 14),
}


@pytest.mark.parametrize(("complete", "total"), [(False, 46_033), (True, 45_222)])
@pytest.mark.parametrize("merge", [True, False])
def test_every_cell(complete: bool, total: int, merge: bool) -> None:
    frame = load_adult(complete=complete, merge=merge).frame
    assert frame.height == total
    expected = CELLS if merge else CELLS | UNMERGED
    found = counts(frame, "occupation", "sex")
    assert len(found) == (12 if merge else 14)
    for level, (*known, women, men) in expected.items():
        cells = [women, men] if complete else known
        assert [found[level].get(sex, 0) for sex in ("Female", "Male")] == cells


def test_shares_above_50k() -> None:
    merged, apart = load_adult().frame, load_adult(merge=False).frame
    for frame, female, male in ((apart, 0.123, 0.340), (merged, 0.051, 0.335)):
        for sex, share in (("Female", female), ("Male", male)):
            found = mean(frame, "over_50k", occupation="Protective-serv", sex=sex)
            assert round(found, 3) == share


def test_rows_are_those_of_both_files_in_their_order() -> None:
    raw = [
        row for name in ("adult.data", "adult.test") for row in rows(f"adult/{name}", NAMES.split())
    ]
    assert len(raw) == 48_842
    assert Counter(row["sex"] for row in raw) == {"Male": 32_650, "Female": 16_192}
    assert sum(row["income"].startswith(">50K") for row in raw) == 11_687
    missing = ("workclass", "occupation", "native-country")
    assert [sum(row[name] == "?" for row in raw) for name in missing] == [2799, 2809, 857]
    known = [row for row in raw if row["occupation"] != "?"]
    frame = load_adult(merge=False).frame
    for name in NAMES.split()[:-1]:
        written = ["unknown" if row[name] == "?" else row[name] for row in known]
        assert frame[name].cast(pl.String).to_list() == written
    assert frame["over_50k"].to_list() == [int(row["income"].startswith(">")) for row in known]


def test_roles() -> None:
    adult = load_adult()
    assert adult.features == (*(n for n in NAMES.split() if n not in REST), "occupation")
    assert len(adult.features) == 13
    assert (adult.target, adult.sensitive, adult.legitimate) == ("over_50k", "sex", ("occupation",))
    assert adult.task == "classification"
    assert adult.provenance is not None
    assert adult.provenance.license == "CC BY 4.0"
    assert sorted(adult.provenance.sha256) == ["adult/adult.data", "adult/adult.test"]


def test_unknown_values_are_a_category_of_their_own() -> None:
    frame = load_adult().frame
    assert (frame["native-country"] == "unknown").sum() == 46_033 - 45_222
    assert (frame["workclass"] == "unknown").sum() == 0
    assert frame.null_count().sum_horizontal().sum() == 0
    complete = load_adult(complete=True).frame
    assert (complete["native-country"] == "unknown").sum() == 0


def test_a_sample_is_drawn_without_replacement_and_can_be_drawn_again() -> None:
    whole = load_adult().frame.with_row_index()
    drawn = load_adult(sample=5000)
    assert drawn.frame.height == 5000
    assert drawn.frame["occupation"].n_unique() == 12
    assert drawn.frame.equals(load_adult(sample=5000, random_state=0).frame)
    assert not drawn.frame.equals(load_adult(sample=5000, random_state=1).frame)
    generator = np.random.default_rng(0)
    assert drawn.frame.equals(load_adult(sample=5000, random_state=generator).frame)
    places = np.sort(np.random.default_rng(0).choice(46_033, 5000, replace=False))
    assert np.unique(places).size == 5000
    assert drawn.frame.equals(whole.filter(pl.col("index").is_in(places)).drop("index"))
    assert load_adult(sample=46_033).frame.equals(load_adult().frame)
    assert load_adult(complete=True, sample=45_222).frame.height == 45_222


@pytest.mark.parametrize("sample", [0, -1, 46_034, 10.5])
def test_a_sample_that_cannot_be_drawn(sample: int) -> None:
    with pytest.raises(InputError, match=r"sample must be a whole number from 1 to 46,033"):
        load_adult(sample=sample)


def test_inputs_are_one_hot_or_integer() -> None:
    adult = load_adult()
    one_hot, integer = adult.inputs(), adult.inputs("integer")
    assert integer.names == adult.features
    assert integer.matrix.shape == (46_033, 13)
    occupations = [name for name in one_hot.names if name.startswith("occupation=")]
    assert occupations == [f"occupation={level}" for level in sorted(CELLS)]
    # Alphabetical codes, as in the paper.
    codes = [sorted(CELLS).index(level) for level in adult.frame["occupation"].to_list()]
    np.testing.assert_array_equal(integer.matrix[:, -1], codes)
    block = one_hot.matrix[:, [one_hot.names.index(name) for name in occupations]]
    np.testing.assert_array_equal(block.argmax(axis=1), codes)
    np.testing.assert_array_equal(block.sum(axis=1), 1.0)
    np.testing.assert_array_equal(one_hot.matrix[:, 0], adult.frame["age"])
    nominal = [name for name in adult.features if adult.frame[name].dtype == pl.String]
    values = sum(adult.frame[name].n_unique() for name in nominal)
    assert one_hot.matrix.shape == (46_033, 13 - len(nominal) + values)
    assert not any(name.startswith("sex") for name in one_hot.names)
