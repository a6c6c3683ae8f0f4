import datetime as dt

import numpy as np
import polars as pl
import pytest

from likeforlike import Cells
from likeforlike.datasets import Dataset, load_loans, make_loans
from likeforlike.datasets._dataset import decile_edges, deciles, input_matrix
from likeforlike.errors import InputError

TABLE = pl.DataFrame(
    {
        "age": [30, 40, 50],
        "city": ["Rome", "Oslo", "Rome"],
        "owner": [True, False, True],
        "grade": [0, 1, 1],
        "sex": ["f", "m", "f"],
        "score": [0.5, 0.25, 1.0],
        "gap": [1.0, None, 2.0],
        "day": [dt.date(2020, 1, day) for day in (1, 2, 3)],
    }
)


def dataset(features: tuple[str, ...], legitimate: tuple[str, ...] = ("grade",)) -> Dataset:
    return Dataset(TABLE, features, "score", "sex", legitimate, "regression")


def test_nominal_columns_become_one_column_a_value() -> None:
    matrix, names = dataset(("age", "city", "owner", "grade")).inputs()
    assert names == ("age", "city=Oslo", "city=Rome", "owner=false", "owner=true", "grade")
    np.testing.assert_array_equal(
        matrix, [[30, 0, 1, 0, 1, 0], [40, 1, 0, 1, 0, 1], [50, 0, 1, 0, 1, 1]]
    )
    assert matrix.dtype == np.float64


def test_or_the_rank_of_the_value() -> None:
    matrix, names = dataset(("owner", "city")).inputs("integer")
    assert names == ("owner", "city")
    np.testing.assert_array_equal(matrix, [[1, 1], [0, 0], [1, 1]])


def test_categories_are_nominal_too() -> None:
    for kind in (pl.Categorical(), pl.Enum(["Rome", "Oslo"])):
        table = TABLE.with_columns(pl.col("city").cast(kind))
        assert input_matrix(table, ["city"]).names == ("city=Oslo", "city=Rome")


def test_the_sensitive_column_is_an_input_only_if_asked_for() -> None:
    data = dataset(("age",))
    assert data.inputs().names == ("age",)
    assert data.inputs(with_sensitive=True).names == ("age", "sex=f", "sex=m")
    both = dataset(("sex", "age"))
    assert both.inputs("integer", with_sensitive=True).names == ("sex", "age")


@pytest.mark.parametrize(
    ("features", "encoding", "message"),
    [
        (("gap",), "one-hot", "column 'gap' has 1 value.* first at row 1"),
        (("day",), "one-hot", "column 'day' has the type Date"),
        (("age",), "binary", "encoding must be one of .* not 'binary'"),
        ((), "one-hot", "no features"),
    ],
)
def test_bad_inputs(features: tuple[str, ...], encoding: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataset(features).inputs(encoding)  # type: ignore[arg-type]


def test_missing_text_is_refused() -> None:
    table = TABLE.with_columns(pl.Series("city", ["Rome", None, "Oslo"]))
    with pytest.raises(InputError, match=r"column 'city' has 1 missing .* row 1"):
        input_matrix(table, ["city"])


def test_roles_must_name_columns() -> None:
    with pytest.raises(InputError, match="no column 'wage'"):
        dataset(("wage",))
    with pytest.raises(InputError, match="target 'score' must not be among the features"):
        dataset(("age", "score"))


def test_groups_levels_and_targets_are_the_columns() -> None:
    data = dataset(("age",))
    assert data.groups.tolist() == ["f", "m", "f"]
    assert data.levels.tolist() == [0, 1, 1]
    assert data.targets.tolist() == [0.5, 0.25, 1.0]


def test_several_legitimate_columns_are_combined() -> None:
    data = dataset(("age",), ("city", "grade"))
    assert data.levels.tolist() == [("Rome", 0), ("Oslo", 1), ("Rome", 1)]
    assert data.levels.shape == (3,)
    cells = Cells.from_rows(data.targets, data.groups, data.levels)
    assert cells.levels == (("Oslo", 1), ("Rome", 0), ("Rome", 1))


def test_without_legitimate_columns_there_is_one_level() -> None:
    assert dataset(("age",), ()).levels.tolist() == [0, 0, 0]


def test_provenance_may_be_unknown() -> None:
    assert dataset(("age",)).provenance is None
    for loans in (load_loans(), make_loans(10)):
        assert loans.provenance is not None
        assert loans.provenance.sha256 == {}


@pytest.mark.parametrize("size", [10, 11, 57, 1000])
def test_deciles_count_the_edges_below(size: int) -> None:
    rng = np.random.default_rng(size)
    column = pl.Series("x", np.round(rng.gamma(2.0, size=size), 1))
    ordered = sorted(column.to_list())
    edges = []
    for tenth in range(1, 10):
        place = tenth * (size - 1) / 10
        low = int(place)
        edges.append(
            ordered[low] + (ordered[min(low + 1, size - 1)] - ordered[low]) * (place - low)
        )
    np.testing.assert_allclose(decile_edges(column), edges, rtol=1e-12)
    exact = decile_edges(column)
    expected = [sum(value > edge for edge in exact) for value in column.to_list()]
    assert deciles(column).to_list() == expected
    assert deciles(column).name == "x_decile"
