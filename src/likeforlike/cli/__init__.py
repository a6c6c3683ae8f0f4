"""The command line: arguments in, calls out, no logic."""

from __future__ import annotations

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


def main() -> None:
    """Run the command line; an interrupt at any moment ends it with exit code 130."""
    # Imports make a million objects that live until the end: look for garbage among them rarely,
    # and not at all when all of it goes away. Together that is a fifth of a small audit.
    gc.set_threshold(_OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # there may be none, or another kind
            # Letters that a terminal lacks are shown by their number.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
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
