"""The paper: its protocol, its experiments run again, and its claims next to what was measured.

Shipped because `likeforlike reproduce` is part of the product, and outside the promise of a stable
interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._claims import paper_claims as paper_claims
    from ._publishing import publish as publish
    from ._reproduction import Reproduction as Reproduction
    from ._reproduction import reproduce as reproduce

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._protocol import Profile as Profile
    from ._protocol import paper_methods as paper_methods
    from ._protocol import protocol_methods as protocol_methods
    from ._protocol import protocol_task as protocol_task
    from ._reproduction import read_reproduction as read_reproduction

attach(__name__)
