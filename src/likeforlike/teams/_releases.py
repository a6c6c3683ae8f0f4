"""Releases: what the custodian answers, with the noise that is in it and a receipt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike.errors import InputError
from likeforlike.teams import _files
from likeforlike.teams._documents import Noise
from likeforlike.teams._ledger import Receipt

ReleaseKind = Literal["counts", "sums", "groups"]
"""What a release holds: noisy counts, noisy sums, or a randomised group for every row.

Examples
--------
>>> from typing import get_args
>>> from likeforlike.teams import ReleaseKind
>>> get_args(ReleaseKind)
('counts', 'sums', 'groups')
"""

_KINDS: tuple[ReleaseKind, ...] = ("counts", "sums", "groups")


@dataclass(frozen=True, eq=False)
class Release:
    """An answer of the custodian. It may be shown to anybody.

    Attributes
    ----------
    kind : "counts", "sums" or "groups".
    request : SHA-256 of the request it answers.
    groups : names of all groups. With two of them, values are about the second: what the first has
        is the public rest.
    values : integers. Counts (g, codes) or sums (g, d) with g = 1 for two groups, else one row a
        group; groups (n,), a code for every row.
    epsilon, delta : what this answer may tell about one person.
    noise : its law.
    rows_per_person : the most rows of one person that were asked about; noise is so much larger.
    receipt : the line of the ledger. Keep it: it shows whether an old ledger was put back.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from likeforlike.teams import CountsRequest, Custodian, Ledger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     custodian = Custodian({1: "f", 2: "m"}, Ledger(f"{folder}/a.ledger", epsilon=1.0))
    ...     asked = CountsRequest(("1", "2"), np.array([0, 0]), 1)
    ...     release = custodian.counts(asked, epsilon=0.5)
    >>> release.groups, release.values.shape, release.noise["scale"]
    (('f', 'm'), (1, 1), '2')
    """

    kind: ReleaseKind
    request: str
    groups: tuple[str, ...]
    values: IntArray
    epsilon: float
    delta: float
    noise: Noise
    rows_per_person: int
    receipt: Receipt

    def write(self, path: str | Path) -> None:
        """Write the release for the modellers.

        Parameters
        ----------
        path : of a JSON file.
        """
        _files.write_document(
            path,
            {
                "schema": "likeforlike.release",
                "schema_version": 1,
                "kind": self.kind,
                "request": self.request,
                "groups": list(self.groups),
                "values": self.values.tolist(),
                "epsilon": self.epsilon,
                "delta": self.delta,
                "noise": self.noise,
                "rows_per_person": self.rows_per_person,
                "receipt": self.receipt,
            },
        )

    @classmethod
    def read(cls, path: str | Path) -> Release:
        """The release in a file.

        Parameters
        ----------
        path : of a JSON file that `write` made.
        """
        document = _files.read_document(path, "likeforlike.release")
        kind = next((known for known in _KINDS if document.get("kind") == known), None)
        if kind is None:
            raise InputError(f"{path} has the kind {document.get('kind')!r}; known: {_KINDS}.")
        noise, receipt = (_files.entry(document, name, dict) for name in ("noise", "receipt"))
        return cls(
            kind=kind,
            request=_files.entry(document, "request", str),
            groups=tuple(_files.texts(_files.entry(document, "groups", list), "groups")),
            values=_files.whole_numbers(_files.entry(document, "values", list), "values"),
            epsilon=_amount(document, "epsilon"),
            delta=_amount(document, "delta"),
            noise=_noise(noise),
            rows_per_person=_files.entry(document, "rows_per_person", int),
            receipt=_receipt(receipt),
        )

    def check(self, kind: ReleaseKind, request: str) -> None:
        """Raise unless this answers a request of this kind and content."""
        if self.kind != kind:
            raise InputError(f"the release holds {self.kind}, and {kind} were asked for.")
        if self.request != request:
            raise InputError(
                "the release answers another request: the rows, scores or levels are not those "
                "that were sent to the custodian."
            )
        if not np.isfinite(self.values).all() or len(self.groups) < 2:
            raise InputError("the release is damaged.")


def _amount(document: dict[str, Any], name: str) -> float:
    amount = float(_files.entry(document, name, (int, float)))
    if not 0.0 <= amount < math.inf:
        raise InputError(f"the release has no valid {name!r}.")
    return amount


def _noise(noise: dict[str, Any]) -> Noise:
    if set(noise) != {"law", "scale", "variance"}:
        raise InputError("the release does not say what noise is in it.")
    return {"law": noise["law"], "scale": noise["scale"], "variance": noise["variance"]}


def _receipt(receipt: dict[str, Any]) -> Receipt:
    if set(receipt) != {"entry", "hash"}:
        raise InputError("the release has no valid receipt.")
    return {"entry": receipt["entry"], "hash": receipt["hash"]}
