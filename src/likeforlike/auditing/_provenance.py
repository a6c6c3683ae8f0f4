"""Provenance: which data, which versions, when."""

from __future__ import annotations

import hmac
import platform
import secrets
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version

from likeforlike.document._results import Provenance
from likeforlike.errors import InputError

_SHORTEST_SALT = 16


def salted(fingerprint: str, salt: str | None) -> str:
    """HMAC of a fingerprint, with a salt as its key: others cannot try out which data have it."""
    if salt is None:
        return fingerprint
    return hmac.new(salt.encode(), fingerprint.encode(), "sha256").hexdigest()


def new_salt() -> str:
    """A salt that cannot be guessed: 256 bits, as 64 hexadecimal digits."""
    return secrets.token_hex(32)


def check_salt(salt: object, *, needed: bool) -> str | None:
    """The salt that was given; a new one where one is needed and none was given."""
    if salt is None:
        return new_salt() if needed else None
    if not isinstance(salt, str) or len(salt.strip()) < _SHORTEST_SALT:
        raise InputError(
            f"salt must be a text of {_SHORTEST_SALT} letters or more, or it could be guessed; "
            "leave it out to have one made."
        )
    return salt.strip()


def provenance(data: str, salt: str | None = None) -> Provenance:
    """Provenance of figures computed now from data with this fingerprint."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Provenance(data, dict(_versions()), created, salt)


@cache
def _versions() -> dict[str, str]:
    """Of what computes. Reading them takes as long as a quarter of a small audit."""
    versions = {name: version(name) for name in ("likeforlike", "numpy", "numba")}
    return {**versions, "python": platform.python_version()}
