"""Names of columns as callers give them: one, several, or none."""

from __future__ import annotations

from collections.abc import Sequence

from likeforlike.errors import InputError


def column_names(columns: str | Sequence[str] | None, argument: str) -> tuple[str, ...]:
    """One column or several, as a tuple."""
    try:
        named = texts(() if columns is None else columns)
        hash(named)  # what cannot be the name of a column often cannot be hashed, either
        return named
    except TypeError as error:
        raise InputError(
            f"{argument} must be a column or a list of columns, not {columns!r}."
        ) from error


def sensitive_columns(columns: str | Sequence[str]) -> tuple[str, ...]:
    """The sensitive columns, of which there is one at least."""
    named = column_names(columns, "sensitive")
    if not named:
        raise InputError(f"sensitive must be a column or a list of columns, not {columns!r}.")
    return named


def texts(given: str | Sequence[str]) -> tuple[str, ...]:
    """One text or several, as a tuple."""
    return (given,) if isinstance(given, str) else tuple(given)
