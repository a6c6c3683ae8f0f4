import polars as pl
import pytest

from likeforlike.datasets import dataset_of_table
from likeforlike.errors import InputError

FRAME = pl.DataFrame(
    {
        "income": ["low", "high", "low", "high", None],
        "debt": [0.1, float("nan"), 0.3, 0.4, 0.5],
        "sex": ["f", "m", "m", "f", "m"],
        "paid": [True, False, True, False, True],
        "amount": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)


def test_two_values_make_a_classification_and_incomplete_rows_are_counted() -> None:
    data, left_out = dataset_of_table(FRAME, target="paid", sensitive="sex", legitimate=["income"])
    assert data.task == "classification"
    assert data.features == ("income", "debt", "amount")
    assert data.targets.tolist() == [1, 1, 0]
    assert left_out == 2


def test_numbers_make_a_regression() -> None:
    data, left_out = dataset_of_table(FRAME, target="amount", sensitive="sex", features=["paid"])
    assert data.task == "regression"
    assert left_out == 0
    assert data.targets.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("frame", "target", "message"),
    [
        (FRAME, "nothing", "there is no column 'nothing'; the table has"),
        (FRAME.with_columns(paid=pl.lit(1)), "paid", "has 1 different values"),
        (FRAME.with_columns(paid=pl.Series(list("abcde"))), "paid", "has 3 different values"),
        (FRAME.with_columns(paid=pl.lit(None)), "paid", "no row of 5 has a value"),
    ],
)
def test_bad_tables(frame: pl.DataFrame, target: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataset_of_table(frame, target=target, sensitive="sex")
