"""Libraries that only an extra brings: where they are asked for, and what is said without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from likeforlike.errors import MissingDependencyError


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import libraries that an extra brings; say how to install it if one is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        missing = MissingDependencyError(
            f"{library} is not installed; pip install 'likeforlike[{name}]' brings it."
        )
        missing.name = error.name
        raise missing from error
