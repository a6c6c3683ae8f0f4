"""The paper's claims beside what was measured: its tables, its frontiers, its sentences."""

from likeforlike.claims.evidence import Claim as Claim
from likeforlike.claims.hypervolumes import hypervolumes as hypervolumes
from likeforlike.claims.hypervolumes import volume_differences as volume_differences
from likeforlike.claims.page import reproduction_page as reproduction_page
from likeforlike.claims.published import published_rows as published_rows
from likeforlike.claims.publishing import publish as publish
from likeforlike.claims.results import paper_claims as paper_claims

__all__ = [
    "Claim",
    "hypervolumes",
    "paper_claims",
    "publish",
    "published_rows",
    "reproduction_page",
    "volume_differences",
]
