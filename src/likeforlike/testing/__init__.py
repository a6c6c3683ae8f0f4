"""Testing: a threshold as an assertion, for pytest and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.testing._parity import assert_parity

__all__ = ["assert_parity"]

lazy_package(__name__, {"_parity": ["assert_parity"]})
