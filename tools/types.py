"""How complete the types of the public surface are, as `pyright --verifytypes` counts them.

    python -m pip install basedpyright      # pyright with everything it needs, nothing to fetch
    python -m tools.types

Public is what users can reach without a leading underscore. The exit code is 0 if every type there
is known, and 1 otherwise. Types that other libraries leave unknown do not count, unless they are
those of a base class.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which
from typing import Any

__all__ = ["incomplete", "main", "verified"]

SOURCE = Path(__file__).parents[1] / "src"
_PROGRAM = "basedpyright"


def verified(package: str) -> dict[str, Any]:
    """What the program says about the types of a package, which it reads in `src`.

    It looks for other libraries where the interpreter that runs this has them. It is told so by the
    environment, because it does not follow its own option `--pythonpath` from inside a package.
    """
    folder = str(Path(sys.executable).parent)
    path = os.pathsep.join([folder, os.environ.get("PATH", "")])
    program = which(_PROGRAM, path=path)
    if program is None:
        raise SystemExit(f"{_PROGRAM} is not installed: python -m pip install {_PROGRAM}")
    done = subprocess.run(
        [program, "--verifytypes", package, "--ignoreexternal", "--outputjson"],
        env={**os.environ, "PATH": path, "VIRTUAL_ENV": sys.prefix, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(done.stdout)["typeCompleteness"]
    return found


def incomplete(found: Mapping[str, Any]) -> Iterator[str]:
    """Public names whose type is not known, with the reason.

    Parameters
    ----------
    found : as `verified` gives it.

    Examples
    --------
    >>> from tools.types import incomplete
    >>> reasons = [{"message": "Type is missing"}, {"message": "so it was guessed"}]
    >>> name = {"name": "toy.f", "isExported": True, "isTypeKnown": False, "diagnostics": reasons}
    >>> list(incomplete({"symbols": [name, {**name, "isTypeKnown": True}]}))
    ['toy.f: Type is missing; so it was guessed']
    """
    for symbol in found["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"]:
            reasons = (" ".join(each["message"].split()) for each in symbol["diagnostics"])
            yield f"{symbol['name']}: {'; '.join(reasons)}"


def main() -> None:
    """Print what is incomplete, and the share of public names with known types."""
    found = verified("likeforlike")
    counts = found["exportedSymbolCounts"]
    known, whole = counts["withKnownType"], sum(counts.values())
    unknown = list(incomplete(found))
    score = f"{known} of {whole} public names have known types: {found['completenessScore']:.1%}"
    print("\n".join([*unknown, score]))  # noqa: T201
    raise SystemExit(1 if unknown else 0)


if __name__ == "__main__":
    main()
