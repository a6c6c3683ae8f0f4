"""The public files read with nothing but the standard library, to check the loaders against."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt
import polars as pl

from tests.support.real import content

Row = dict[str, str]


def rows(path: str, names: list[str] | None = None) -> list[Row]:
    """Rows of a file as they are written, without blank lines and lines that are no rows."""
    text = io.StringIO(content(path).decode(), newline="")
    lines = [line for line in csv.reader(text, skipinitialspace=True) if len(line) > 1]
    header, body = (lines[0], lines[1:]) if names is None else (names, lines)
    return [dict(zip(header, line, strict=True)) for line in body]


def counts(frame: pl.DataFrame, level: str, group: str) -> dict[Hashable, dict[Hashable, int]]:
    """Rows of every cell: {level: {group: rows}}."""
    found: dict[Hashable, dict[Hashable, int]] = {}
    for level_of, group_of in zip(frame[level].to_list(), frame[group].to_list(), strict=True):
        cells = found.setdefault(level_of, {})
        cells[group_of] = cells.get(group_of, 0) + 1
    return found


def mean(frame: pl.DataFrame, target: str, **where: Hashable) -> float:
    """Mean of a column over the rows where other columns have these values."""
    chosen = np.ones(frame.height, dtype=bool)
    for column, value in where.items():
        chosen &= frame[column].to_numpy() == value
    return float(frame[target].to_numpy()[chosen].mean())


def cross_validated_error(
    inputs: npt.NDArray[np.float64], target: npt.NDArray[np.float64]
) -> float:
    """Mean squared error of linear regression, 5-fold."""
    order = np.random.default_rng(0).permutation(target.size)
    design = np.column_stack([np.ones(target.size), inputs])
    errors = []
    for fold in range(5):
        held = order[fold::5]
        rest = np.setdiff1d(order, held)
        slope = np.linalg.lstsq(design[rest], target[rest], rcond=None)[0]
        errors.append((target[held] - design[held] @ slope) ** 2)
    return float(np.concatenate(errors).mean())
