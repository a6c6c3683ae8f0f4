import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likeforlike.disparity import Column, encode, numbers

TEXTS = ["b", "a", "b", "c"]


@pytest.mark.parametrize(
    "column",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="category"),
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pa.chunked_array([TEXTS]),
    ],
    ids=["list", "tuple", "array", "objects", "pandas", "category", "polars", "cat", "arrow"],
)
def test_text_of_any_kind_gets_the_same_codes(column: Column) -> None:
    codes = encode(column, "groups")
    assert codes.labels == ("a", "b", "c")
    assert codes.codes.tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize(
    ("column", "labels", "codes"),
    [
        ([True, False, True], (False, True), [1, 0, 1]),
        ([7, -2, 7], (-2, 7), [1, 0, 1]),
        ([10**12, 3], (3, 10**12), [1, 0]),
        (np.array([5, 3], dtype=np.uint8), (3, 5), [1, 0]),
        ([0.5, 0.25], (0.25, 0.5), [1, 0]),
        (np.array(["2020-01-02", "2020-01-01"], dtype="M8[D]"), None, [1, 0]),
        (["a", 1, "a"], (1, "a"), [1, 0, 1]),
        ([("x", 1), ("w", 2)], None, [1, 0]),
    ],
)
def test_labels_come_sorted(
    column: Column, labels: tuple[object, ...] | None, codes: list[int]
) -> None:
    if isinstance(column, list) and isinstance(column[0], tuple):
        pairs = np.empty(len(column), dtype=object)
        pairs[:] = column
        column = pairs
    found = encode(column, "levels")
    assert found.codes.tolist() == codes
    assert labels is None or found.labels == labels


def test_integers_with_holes_get_dense_codes() -> None:
    rng = np.random.default_rng(0)
    column = rng.choice([-5, 0, 3, 900], 200)
    labels, inverse = np.unique(column, return_inverse=True)
    found = encode(column, "levels")
    assert found.labels == tuple(labels.tolist())
    np.testing.assert_array_equal(found.codes, inverse)


@pytest.mark.parametrize(
    "column",
    [
        [1, 2],
        [True, 2.0],
        pd.Series([1.0, 2.0]),
        pl.Series([1, 2]),
        np.array([1, 2], dtype=object),
        pa.chunked_array([[1, 2]]),
    ],
)
def test_numbers_of_any_kind_are_floats(column: Column) -> None:
    found = numbers(column, "scores")
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0]


def test_input_is_not_changed() -> None:
    scores = np.array([3.0, 1.0, 2.0])
    before = scores.copy()
    numbers(scores, "scores")
    encode(scores, "levels")
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("last", ["f", "m", "x", "", "é", "m of more than twelve letters"])
@pytest.mark.parametrize("rows", [1, 2, 3_000])
def test_text_is_numbered_as_labels_are_sorted(last: str, rows: int) -> None:
    texts = [*(["m", "f"] * rows)[1:], last]
    codes = encode(pl.Series(texts), "groups")
    labels = sorted(set(texts))
    assert codes.labels == tuple(labels)
    assert codes.codes.tolist() == [labels.index(text) for text in texts]
