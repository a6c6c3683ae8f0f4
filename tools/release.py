"""The notes of a release, for a tag that agrees with the version of the package.

    python -m tools.release v0.1.0 > notes.md

The notes are the section of `CHANGELOG.md` for that version. A tag that names another version, or a
version without a section, ends with an error, so nothing is published. It needs nothing but Python.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main", "notes", "version"]

ROOT = Path(__file__).parents[1]


def version(source: str) -> str:
    """The version that the text of `likeforlike/__init__.py` gives.

    Examples
    --------
    >>> from tools.release import version
    >>> version('__version__ = "1.2.0"')
    '1.2.0'
    """
    found = re.search(r'^__version__ = "([^"]+)"$', source, re.M)
    if found is None:
        raise SystemExit("src/likeforlike/__init__.py gives no __version__.")
    return found[1]


def notes(tag: str, released: str, changelog: str) -> str:
    """The section of a changelog for the version that a tag names.

    Parameters
    ----------
    tag : `v` and a version.
    released : version of the package, which the tag must name.
    changelog : text with a heading `## [version]` for every release.

    Examples
    --------
    >>> from tools.release import notes
    >>> changelog = chr(10).join(["## [1.0.0] - 2030-01-01", "- All.", "## [0.9.0]", "- Half."])
    >>> notes("v1.0.0", "1.0.0", changelog)
    '- All.'
    """
    if tag != f"v{released}":
        raise SystemExit(f"The tag {tag} must be v{released}, the version of the package.")
    sections = re.split(r"^## \[([^\]]+)\].*$", changelog, flags=re.M)
    texts = dict(zip(sections[1::2], sections[2::2], strict=True))
    text = texts.get(released, "").strip()
    if not text:
        raise SystemExit(f"CHANGELOG.md says nothing under ## [{released}].")
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the notes of the release that the tag on the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("tag", help="v and a version, as in v0.1.0")
    given = parser.parse_args(arguments)
    package = ROOT / "src" / "likeforlike" / "__init__.py"
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    print(notes(given.tag, version(package.read_text("utf-8")), changelog))  # noqa: T201


if __name__ == "__main__":
    main()
