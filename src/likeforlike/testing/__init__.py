"""Testing: a threshold as an assertion, for pytest and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._parity import assert_parity as assert_parity

attach(__name__)
