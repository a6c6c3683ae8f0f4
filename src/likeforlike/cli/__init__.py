"""The command line: arguments in, calls out, no logic."""

from __future__ import annotations

import codecs
import gc
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._app import app as app

attach(__name__)

# How many new objects make Python look for garbage; usually some hundreds do.
_OBJECTS = 100_000
_UNEXPECTED, _INTERRUPTED = 70, 130
_PLAIN = {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2013": "-", "\u2212": "-"}


def _spell_out(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write a mark that a terminal lacks as a plain one, and a letter by its number."""
    if isinstance(error, UnicodeEncodeError):
        mark = _PLAIN.get(error.object[error.start])
        if mark is not None:
            return mark, error.start + 1
    return codecs.backslashreplace_errors(error)


def main() -> None:
    """Run the command line; an interrupt at any moment ends it with exit code 130."""
    # Imports make a million objects that live until the end: look for garbage among them rarely,
    # and not at all when all of it goes away. Together that is a fifth of a small audit.
    gc.set_threshold(_OBJECTS)
    codecs.register_error("likeforlike", _spell_out)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # there may be none, or another kind
            stream.reconfigure(errors="likeforlike")  # type: ignore[union-attr]
    try:
        from likeforlike.cli._app import app as app

        app()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception:  # noqa: BLE001 a broken installation must not look like a verdict
        traceback.print_exc()
        sys.exit(_UNEXPECTED)
    finally:
        # `python -m` ends with another code if an interrupt ever left text that is run, as that
        # of a dataclass is while it is imported, even if it was caught. The next text forgets it.
        exec("")
        # DuckDB counts what is left of it at the end, and complains of all that was not collected.
        if "duckdb" not in sys.modules:
            gc.freeze()
