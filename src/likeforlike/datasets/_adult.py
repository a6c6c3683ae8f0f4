"""Adult: who earns more than 50,000 dollars a year, by sex, among people of equal occupation."""

from __future__ import annotations

import numpy as np
import polars as pl

from likeforlike.datasets._dataset import Dataset
from likeforlike.datasets._source import source
from likeforlike.datasets._storage import read
from likeforlike.errors import InputError

SOURCE = source("adult")
"""The two files as UCI publishes them; the paper uses them together."""

_SCHEMA = {
    "age": pl.Int64,
    "workclass": pl.String,
    "fnlwgt": pl.Int64,
    "education": pl.String,
    "education-num": pl.Int64,
    "marital-status": pl.String,
    "occupation": pl.String,
    "relationship": pl.String,
    "race": pl.String,
    "sex": pl.String,
    "capital-gain": pl.Int64,
    "capital-loss": pl.Int64,
    "hours-per-week": pl.Int64,
    "native-country": pl.String,
    "income": pl.String,
}
_NOT_FEATURES = ("sex", "occupation", "income")
# The paper joins the two rarest occupations to a third, since some of their cells are empty.
_MERGED = {"Armed-Forces": "Protective-serv", "Priv-house-serv": "Protective-serv"}


def load_adult(
    *,
    sample: int | None = None,
    complete: bool = False,
    merge: bool = True,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Load Adult, the US census of 1994: 46,033 people, 12 occupations.

    Y = `over_50k`, 1 if the income exceeds 50,000 dollars; A = `sex`; L = `occupation`, by name;
    X = the 12 other columns and the occupation. Both published files are read as one; rows whose
    occupation is unknown are dropped, for they belong to no level. An unknown country (or class of
    work) is the value `"unknown"`, a category of its own, so that inputs have no gaps.

    Parameters
    ----------
    sample : draw this many rows uniformly without replacement, kept in the order of the file;
        the paper draws 5,000. `None` keeps all.
    complete : keep only the 45,222 rows where nothing is unknown.
    merge : join Armed-Forces and Priv-house-serv to Protective-serv, as the paper does; `False`
        keeps 14 occupations.
    random_state : seed or generator of the draw.

    References
    ----------
    Becker & Kohavi (1996), doi:10.24432/C5XW20. Ghassemi et al. (2025), appendix.

    Examples
    --------
    >>> from likeforlike.datasets import load_adult
    >>> adult = load_adult(sample=5000)
    >>> adult.frame.height, adult.frame["occupation"].n_unique(), adult.inputs("integer").names[-1]
    (5000, 12, 'occupation')
    """
    whole = pl.concat([_rows(read(file)) for file in SOURCE.files])
    frame = whole.drop_nulls(None if complete else "occupation").with_columns(
        pl.col("workclass", "native-country").fill_null("unknown"),
        (pl.col("income") == ">50K").cast(pl.Int64),
    )
    frame = frame.rename({"income": "over_50k"})
    if merge:
        frame = frame.with_columns(pl.col("occupation").replace(_MERGED))
    if sample is not None:
        frame = _drawn(frame, sample, random_state)
    features = (*(name for name in _SCHEMA if name not in _NOT_FEATURES), "occupation")
    roles = features, "over_50k", "sex", ("occupation",)
    return Dataset(frame, *roles, "classification", SOURCE.provenance)


def _rows(content: bytes) -> pl.DataFrame:
    """Rows of one file. The second opens with a line that is no row and ends labels with a stop."""
    lines = content.strip().replace(b", ", b",")
    frame = pl.read_csv(
        lines,
        has_header=False,
        schema=_SCHEMA,
        null_values="?",
        skip_rows=int(lines.startswith(b"|")),
    )
    return frame.with_columns(pl.col("income").str.strip_chars_end("."))


def _drawn(
    frame: pl.DataFrame, sample: int, random_state: int | np.random.Generator | None
) -> pl.DataFrame:
    if not (1 <= sample <= frame.height and sample == int(sample)):
        raise InputError(
            f"sample must be a whole number from 1 to {frame.height:,}, the rows there are, not "
            f"{sample}."
        )
    rng = np.random.default_rng(random_state)
    return frame[np.sort(rng.choice(frame.height, int(sample), replace=False))]
