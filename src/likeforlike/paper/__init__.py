"""The paper: its protocol, its experiments run again, and its claims beside what was measured.

Shipped because `likeforlike reproduce` is part of the product, and outside the promise of a stable
interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.paper._claims import paper_claims
    from likeforlike.paper._dcfr_illustration import dcfr_chart, dcfr_illustration
    from likeforlike.paper._evidence import Claim
    from likeforlike.paper._hypervolumes import hypervolumes, volume_differences
    from likeforlike.paper._pages import reproduction_pages
    from likeforlike.paper._protocol import Profile, paper_methods
    from likeforlike.paper._published import inconsistencies, published_rows
    from likeforlike.paper._publishing import publish
    from likeforlike.paper._reproduction import Reproduction, read_reproduction, reproduce

__all__ = [
    "Claim",
    "Profile",
    "Reproduction",
    "dcfr_chart",
    "dcfr_illustration",
    "hypervolumes",
    "inconsistencies",
    "paper_claims",
    "paper_methods",
    "publish",
    "published_rows",
    "read_reproduction",
    "reproduce",
    "reproduction_pages",
    "volume_differences",
]

lazy_package(
    __name__,
    {
        "_claims": ["paper_claims"],
        "_dcfr_illustration": ["dcfr_chart", "dcfr_illustration"],
        "_evidence": ["Claim"],
        "_hypervolumes": ["hypervolumes", "volume_differences"],
        "_pages": ["reproduction_pages"],
        "_protocol": ["Profile", "paper_methods"],
        "_published": ["inconsistencies", "published_rows"],
        "_publishing": ["publish"],
        "_reproduction": ["Reproduction", "read_reproduction", "reproduce"],
    },
)
