"""Provenance: which data, which versions, when."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where figures come from.

    Attributes
    ----------
    fingerprint : SHA-256 of the sorted scores, levels and groups that were measured. Neither the
        order of the rows nor the engine that held them changes it.
    versions : of likeforlike, Python and the libraries that compute.
    created : when, in coordinated universal time.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> len(audit.provenance.fingerprint), audit.provenance.created[-6:]
    (64, '+00:00')
    """

    fingerprint: str
    versions: dict[str, str]
    created: str


def provenance(data: str) -> Provenance:
    """Provenance of figures computed now from data with this fingerprint."""
    versions = {name: version(name) for name in ("likeforlike", "numpy", "numba")}
    versions["python"] = platform.python_version()
    return Provenance(data, versions, datetime.now(UTC).isoformat(timespec="seconds"))
