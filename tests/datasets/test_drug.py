import numpy as np
import pytest

from likeforlike.datasets import load_drug
from tests.datasets.raw import counts, mean, rows

NAMES = (
    "ID Age Gender Education Country Ethnicity Nscore Escore Oscore Ascore Cscore Impulsive SS "
    "Alcohol Amphet Amyl Benzos Caff Cannabis Choc Coke Crack Ecstasy Heroin Ketamine Legalh LSD "
    "Meth Mushrooms Nicotine Semer VSA"
)
# education, women, men, share of women and of men who used cannabis; by rank.
LEVELS = [
    (-2.43591, 12, 16, 0.750, 0.812),
    (-1.73790, 43, 56, 0.442, 0.821),
    (-1.43719, 14, 16, 0.643, 1.000),
    (-1.22751, 37, 63, 0.703, 0.952),
    (-0.61113, 171, 335, 0.865, 0.970),
    (-0.05921, 136, 134, 0.574, 0.821),
    (0.45468, 293, 187, 0.676, 0.797),
    (1.16365, 179, 104, 0.659, 0.808),
    (1.98437, 57, 32, 0.719, 0.719),
]


@pytest.mark.parametrize("rank", range(9))
def test_every_level(rank: int) -> None:
    frame = load_drug().frame
    education, women, men, women_used, men_used = LEVELS[rank]
    inside = frame.filter(frame["education_rank"] == rank)
    assert inside["Education"].unique().to_list() == [education]
    assert counts(inside, "education_rank", "Gender") == {rank: {"female": women, "male": men}}
    for gender, used in (("female", women_used), ("male", men_used)):
        # Half of the last digit, and a little: 0.8125 is printed as 0.812.
        assert abs(mean(inside, "used_cannabis", Gender=gender) - used) <= 0.0005 + 1e-12


def test_totals() -> None:
    drug = load_drug()
    assert drug.frame.height == 1885
    assert drug.frame["education_rank"].unique().sort().to_list() == list(range(9))
    assert int(drug.targets.sum()) == 1472
    assert (drug.groups == "female").sum() == 942
    assert (drug.groups == "male").sum() == 943
    assert (drug.frame["Semer"] != "CL0").sum() == 8


def test_roles_and_inputs() -> None:
    drug = load_drug()
    traits = ("Nscore", "Escore", "Oscore", "Ascore", "Cscore", "Impulsive", "SS")
    assert drug.features == ("Education", "Country", *traits)
    assert (drug.target, drug.sensitive) == ("used_cannabis", "Gender")
    assert (drug.legitimate, drug.task) == (("education_rank",), "classification")
    matrix, names = drug.inputs()
    assert names == drug.features
    raw = rows("drug/drug_consumption.data", NAMES.split())
    written = [[float(row[name]) for name in names] for row in raw]
    np.testing.assert_array_equal(matrix, written)
    assert drug.frame["ID"].to_list() == [int(row["ID"]) for row in raw]
    assert drug.frame["VSA"].to_list() == [row["VSA"] for row in raw]
    used = [int(row["Cannabis"] != "CL0") for row in raw]
    np.testing.assert_array_equal(drug.targets, used)


def test_loading_again_gives_the_same_rows() -> None:
    assert load_drug().frame.equals(load_drug().frame)
