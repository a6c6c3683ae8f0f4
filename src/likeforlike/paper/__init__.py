"""The paper: its protocol, its experiments run again, and its claims beside what was measured.

Shipped because `likeforlike reproduce` is part of the product, and outside the promise of a stable
interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._claims import paper_claims as paper_claims
    from ._dcfr_illustration import dcfr_chart as dcfr_chart
    from ._dcfr_illustration import dcfr_illustration as dcfr_illustration
    from ._evidence import Claim as Claim
    from ._hypervolumes import hypervolumes as hypervolumes
    from ._hypervolumes import volume_differences as volume_differences
    from ._pages import reproduction_pages as reproduction_pages
    from ._protocol import Profile as Profile
    from ._protocol import paper_methods as paper_methods
    from ._published import inconsistencies as inconsistencies
    from ._published import published_rows as published_rows
    from ._publishing import publish as publish
    from ._reproduction import Reproduction as Reproduction
    from ._reproduction import read_reproduction as read_reproduction
    from ._reproduction import reproduce as reproduce

attach(__name__)
