"""Soft groups from one noisy release: what modelers train on instead of A.

Logistic regression of A on public features needs A only through sums of the features over the
groups. These are released once, with noise; all that is fitted and trained afterwards is made of
the release and of public data, and costs nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._features import request as request
    from ._fit import fit as fit
    from ._fit import from_file as from_file

attach(__name__)
