"""Forty people whose figures a person with a pencil could check, and tables made of them."""

from __future__ import annotations

from typing import Any

import polars as pl

# sex, category, base pay, variable pay, hours per year
FORTY: list[tuple[str, str, float, float, float]] = (
    [("f", "a", 20_000.0 + 500.0 * k, 0.0, 1000.0) for k in range(5)]
    + [("f", "a", 24_000.0, 1_200.0, 1600.0), ("f", "a", 24_000.0, 0.0, 1600.0)]
    + [("f", "a", 26_000.0, 900.0, 1800.0), ("f", "a", 30_000.0, 0.0, 1800.0)]
    + [("m", "a", 22_000.0 + 700.0 * k, 300.0 * (k % 2), 1600.0) for k in range(8)]
    + [("f", "b", 31_000.0 + 250.0 * k, 2_000.0 * (k % 3), 1800.0) for k in range(8)]
    + [("m", "b", 33_000.0, 3_000.0, 1800.0)] * 3
    + [("m", "b", 30_000.0 + 900.0 * k, 100.0 * k, 1750.0) for k in range(6)]
    + [("m", "c", 90_000.0, 40_000.0, 1900.0)]
    + [("x", "b", 33_000.0, 3_000.0, 1800.0), ("f", "c", 70_000.0, 0.0, 1000.0)]
    + [("m", "d", 28_000.0, 0.0, 1500.0), ("m", "d", 29_000.0, 500.0, 1500.0)]
    + [("f", "b", 33_000.0, 3_000.0, 900.0)]
)


def forty() -> pl.DataFrame:
    columns = ("sex", "category", "base", "variable", "hours")
    return pl.DataFrame(FORTY, schema=columns, orient="row")


ROLES: dict[str, Any] = {
    "base": "base",
    "variable": "variable",
    "sensitive": "sex",
    "category": "category",
    "hours": "hours",
}
