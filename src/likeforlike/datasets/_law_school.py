"""Law School: grades of the first year, by gender, among people of equal admission test."""

from __future__ import annotations

import polars as pl

from likeforlike.datasets._dataset import Dataset
from likeforlike.datasets._deciles import deciles
from likeforlike.datasets._source import source
from likeforlike.datasets._storage import read

SOURCE = source("law_school")
"""The study was never published as a file; this copy has circulated for years."""

_INPUTS = ("ugpa", "fam_inc", "fulltime", "tier")


def load_law_school() -> Dataset:
    """Load Law School, the LSAC bar passage study of 1991: 21,027 students, 10 levels.

    Y = `zfygpa`, the standardized grade average of the first year; A = `gender`; L =
    `lsat_decile`, decile of the admission test; X = `ugpa` (grade average before), `fam_inc`
    (income bracket of the family), `fulltime` (1 or 2: part-time), `tier` of the school, and L.
    Rows that lack one of these values are dropped first, which leaves the paper's number of rows;
    deciles are cut after that at 30, 32.5, 34, 36, 37, 38, 40, 41 and 44, each edge belonging to
    the level below. The test itself, `lsat`, and all other columns stay in the frame;
    `dnn_bar_pass_prediction` among them is the output of another model.

    References
    ----------
    Wightman & Ramsey (1998). Ghassemi et al. (2025), appendix.

    Examples
    --------
    >>> from likeforlike.datasets import load_law_school
    >>> grades = load_law_school()
    >>> grades.frame.height, grades.features
    (21027, ('ugpa', 'fam_inc', 'fulltime', 'tier', 'lsat_decile'))
    """
    # Types are inferred from all rows: some columns hold nothing for thousands of rows.
    whole = pl.read_csv(read(SOURCE.files[0]), infer_schema_length=None)
    frame = whole.drop_nulls([*_INPUTS, "lsat", "gender", "zfygpa"])
    frame = frame.with_columns(deciles(frame["lsat"]))
    roles = (*_INPUTS, "lsat_decile"), "zfygpa", "gender", ("lsat_decile",)
    return Dataset(frame, *roles, "regression", SOURCE.provenance)
