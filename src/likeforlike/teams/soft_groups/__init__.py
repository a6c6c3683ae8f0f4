"""Soft groups from one noisy release: what modelers train on instead of A.

Logistic regression of A on public features needs A only through sums of the features over the
groups. These are released once, with noise; all that is fitted and trained afterwards is made of
the release and of public data, and costs nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.teams.soft_groups._features import request
    from likeforlike.teams.soft_groups._fit import fit, from_file

__all__ = ["fit", "from_file", "request"]

lazy_package(__name__, {"_features": ["request"], "_fit": ["fit", "from_file"]})
