"""Releases: what the custodian answers, with the noise that is in it and a receipt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike._settings import is_one_of, real
from likeforlike.errors import InputError
from likeforlike.teams import _files
from likeforlike.teams._accounting import read_fraction
from likeforlike.teams._documents import Noise, NoiseLaw
from likeforlike.teams._ledger import Receipt, check_groups, check_receipt

ReleaseKind = Literal["counts", "sums", "groups"]
"""What a release holds: noisy counts, noisy sums, or a randomized group for every row.

Examples
--------
>>> from typing import get_args
>>> from likeforlike.teams._releases import ReleaseKind
>>> get_args(ReleaseKind)
('counts', 'sums', 'groups')
"""

_KINDS: tuple[ReleaseKind, ...] = get_args(ReleaseKind)
# Wider noise than any custodian adds; squares of it are far from what a float holds.
_WIDEST = 1e15


@dataclass(frozen=True, eq=False)
class Release:
    """An answer of the custodian. It may be shown to anybody.

    Attributes
    ----------
    kind : "counts", "sums" or "groups".
    request : SHA-256 of the request it answers.
    groups : names of all groups, as the custodian declared them. With two of them, values are about
        the second: what the first has is the public rest.
    values : integers. Counts (g, codes) or sums (g, d) with g = 1 for two groups, else one row a
        group; groups (n,), a code for every row.
    epsilon, delta : what this answer may tell about one person.
    noise : its distribution.
    rows_per_person : the most rows of one person that were asked about; noise is so much larger.
    receipt : the line of the ledger. Keep it: it shows whether an old ledger was put back.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from likeforlike.teams import Custodian, Ledger
    >>> from likeforlike.teams._requests import CountsRequest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=1.0, groups=["f", "m"])
    ...     custodian = Custodian({1: "f", 2: "m"}, ledger)
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

    def __post_init__(self) -> None:
        if not is_one_of(self.kind, _KINDS):
            raise InputError(f"the release has the kind {self.kind!r}; known: {_KINDS}.")
        object.__setattr__(self, "groups", check_groups(self.groups))
        object.__setattr__(self, "values", _files.whole_numbers(self.values, "values"))
        if self.values.ndim != (1 if self.kind == "groups" else 2) or not self.values.size:
            raise InputError(f"values of {self.kind} cannot have the shape {self.values.shape}.")
        for name in ("epsilon", "delta"):
            amount = getattr(self, name)
            if isinstance(amount, bool) or not 0.0 <= real(amount) < np.inf:
                raise InputError(f"the release has no valid {name!r}; it must be a number >= 0.")
            object.__setattr__(self, name, float(amount))
        if isinstance(self.rows_per_person, bool) or not isinstance(self.rows_per_person, int):
            raise InputError("the release has no valid 'rows_per_person'.")
        if not 1 <= self.rows_per_person <= _WIDEST:
            raise InputError("the release has no valid 'rows_per_person'; it must be 1 or more.")
        _check_noise(self.noise)
        check_receipt(self.receipt)

    def write(self, path: str | Path) -> None:
        """Write the release for the modelers.

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
        types: dict[str, type | tuple[type, ...]] = {
            "kind": str,
            "request": str,
            "groups": list,
            "values": list,
            "epsilon": (int, float),
            "delta": (int, float),
            "noise": dict,
            "rows_per_person": int,
            "receipt": dict,
        }
        return cls(**{name: _files.entry(document, name, kind) for name, kind in types.items()})

    def check(self, kind: ReleaseKind, request: str) -> None:
        """Raise unless this answers a request of this kind and content."""
        if self.kind != kind:
            raise InputError(f"the release holds {self.kind}, and {kind} were asked for.")
        if self.request != request:
            raise InputError(
                "the release answers another request: the rows, scores or levels are not those "
                "that were sent to the custodian."
            )


def _check_noise(noise: Any) -> None:  # noqa: ANN401
    """Raise unless a distribution is named, with a width that it can have."""
    if not isinstance(noise, dict) or set(noise) != {"law", "scale", "variance"}:
        raise InputError("the release does not say what noise is in it.")
    name, scale, variance = noise["law"], noise["scale"], noise["variance"]
    if not is_one_of(name, get_args(NoiseLaw)):
        raise InputError(f"the release has noise of an unknown distribution, {str(name)[:40]!r}.")
    if name == "discrete Laplace":
        width = read_fraction(scale)
        fits = width is not None and 0 < width <= _WIDEST
    elif name == "randomized response":
        fits = isinstance(scale, str) and len(scale) < 40 and 0.0 < _number(scale) <= 1.0
    else:
        fits = scale is None
    if not fits:
        raise InputError(f"the release has no valid scale of {name} noise: {str(scale)[:40]!r}.")
    if name == "randomized response":
        fits = variance is None
    else:
        fits = not isinstance(variance, bool) and 0.0 <= real(variance) <= _WIDEST**2
    if not fits:
        raise InputError(f"the release has no valid variance of its noise: {str(variance)[:40]!r}.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
