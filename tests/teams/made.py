"""Custodians and requests for the tests, and a custodian that adds no noise as a control."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from likeforlike.teams import Custodian, Ledger
from likeforlike.teams._requests import GRID, CountsRequest, SumsRequest


def names(size: int) -> tuple[str, ...]:
    return tuple(f"row {k}" for k in range(size))


def custodian_of(
    groups: np.ndarray, folder: Path, epsilon: float = 1e6, name: str = "a.ledger"
) -> Custodian:
    """A custodian of rows `names(n)`, with a budget that tests of other things do not reach."""
    held = {each: f"group {g}" for each, g in zip(names(groups.size), groups, strict=True)}
    declared = [f"group {g}" for g in range(max(2, int(groups.max()) + 1))]
    return Custodian(held, Ledger(folder / name, epsilon=epsilon, groups=declared))


def one_code(size: int, code: int = 0, codes: int = 1) -> CountsRequest:
    return CountsRequest(names(size), np.full(size, code), codes)


def each_its_own_code(size: int) -> CountsRequest:
    """The crafted request: every row alone in a code of its own."""
    return CountsRequest(names(size), np.arange(size), size)


def each_its_own_feature(size: int) -> SumsRequest:
    """The same for sums: every row along an axis of its own, as long as is allowed."""
    return SumsRequest(names(size), np.eye(size, dtype=np.int64) * GRID)


@contextmanager
def without_noise() -> Iterator[None]:
    """What a custodian would be who forgets the noise."""
    at = "likeforlike.teams._custodian."
    with (
        patch(at + "discrete_laplace", lambda _: 0),
        patch(at + "discrete_gaussian", lambda _: 0),
        patch(at + "randomize_codes", lambda codes, *_: codes),
    ):
        yield
