"""A process that does one job: it reads what to do from standard input, and ends with its parent.

The job is a command of `likeforlike`, which is run as in a terminal, or a look at the columns of a
file. Errors are a line on standard error, as those of commands are.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from likeforlike.errors import InputError

_BAD_INPUT, _UNEXPECTED = 2, 70


def main() -> None:
    """Read the job, a line of JSON, and do it."""
    # Without a buffer: a thread that waits in one keeps Python from ending.
    with open(0, "rb", buffering=0, closefd=False) as given:
        job: dict[str, Any] = json.loads(given.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if "command" in job:
        sys.argv = ["likeforlike", *job["command"]]
        runpy.run_module("likeforlike", run_name="__main__", alter_sys=False)
        return
    try:
        from likeforlike.app._columns import describe_file

        found = describe_file(Path(job["file"]), job["reading"])
    except InputError as error:
        _end(_BAD_INPUT, " ".join(str(error).split()))
    except BaseException as error:  # noqa: BLE001 a panic inside an engine is no Exception
        traceback.print_exc()
        _end(_UNEXPECTED, f"unexpected error: {type(error).__name__}")
    else:
        Path("columns.json").write_text(json.dumps(found), "utf-8")


def _end(code: int, sentence: str) -> None:
    print(f"likeforlike: {sentence}", file=sys.stderr)  # noqa: T201
    sys.exit(code)


def _end_with_parent() -> None:
    """End at once when the other end of standard input closes."""
    while os.read(0, 1):
        pass
    os._exit(_UNEXPECTED)


if __name__ == "__main__":
    main()
