"""The plain tables hold the columns that they name, by counts known from the publications."""

from tests.support.real import adult, communities, drug


def test_adult() -> None:
    frame = adult().frame
    assert frame.height == 32_561
    assert dict(frame["sex"].value_counts().iter_rows()) == {"Male": 21_790, "Female": 10_771}
    assert frame["occupation"].n_unique() == 15  # 14 occupations, and unknown
    assert (frame["hours"].min(), frame["hours"].max()) == (1, 99)


def test_drug() -> None:
    frame = drug().frame
    assert frame.height == 1_885
    assert dict(frame["gender"].value_counts().iter_rows()) == {0.48246: 942, -0.48246: 943}
    assert frame["education"].n_unique() == 9
    assert frame["used"].sum() == 1_472


def test_communities() -> None:
    frame = communities().frame
    assert frame.height == 1_994
    assert frame["more_black"].sum() == 970
    assert round(frame["crime"].to_numpy().var(), 3) == 0.054
    assert round(frame["income"].quantile(0.5, "linear") or 0.0, 2) == 0.32
