"""Provenance: which data, which versions, when."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from likeforlike.cells import Cells

__all__ = ["Provenance", "fingerprint", "provenance"]


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
    >>> from likeforlike.provenance import provenance
    >>> found = provenance("abc")
    >>> found.fingerprint, found.created[-6:]
    ('abc', '+00:00')
    """

    fingerprint: str
    versions: dict[str, str]
    created: str


def fingerprint(cells: Cells) -> str:
    """SHA-256 of the scores, levels and groups in cells, in any order of the rows.

    Parameters
    ----------
    cells : the sorted scores.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.provenance import fingerprint
    >>> there = Cells.from_rows([0.1, 0.2], ["f", "m"])
    >>> back = Cells.from_rows([0.2, 0.1], ["m", "f"])
    >>> fingerprint(there) == fingerprint(back)
    True
    """
    digest = hashlib.sha256(repr((cells.levels, cells.groups, cells.resolution)).encode())
    atoms = cells.atoms
    digest.update(atoms.offsets.data)
    digest.update(atoms.values.data)
    if (atoms.counts != 1).any():
        digest.update(atoms.counts.data)
    if cells.weighted:
        digest.update(atoms.mass.data)
    return digest.hexdigest()


def provenance(data: str) -> Provenance:
    """Provenance of figures computed now from data with this fingerprint.

    Parameters
    ----------
    data : the fingerprint.

    Examples
    --------
    >>> from likeforlike.provenance import provenance
    >>> sorted(provenance("abc").versions)
    ['likeforlike', 'numba', 'numpy', 'python']
    """
    versions = {name: version(name) for name in ("likeforlike", "numpy", "numba")}
    versions["python"] = platform.python_version()
    return Provenance(data, versions, datetime.now(UTC).isoformat(timespec="seconds"))
