"""The layers of the library, lowest first, and what each package in them knows.

A package imports only from layers below its own, so those side by side do not know each other.
`tests/project/test_imports.py` holds the imports to it, `docs/architecture.md` shows it as a
picture.
"""

from __future__ import annotations

__all__ = ["FOUNDATION", "LAYERS"]

FOUNDATION = {
    "_arrays": "types of arrays",
    "_forks": "forked processes",
    "_lazy": "names and libraries on demand",
    "_settings": "settings as they are given",
    "_text": "values and progress as text",
    "errors": "errors and warnings",
}
"""Modules that everything stands on; they may know each other."""

LAYERS: list[dict[str, str]] = [
    FOUNDATION,
    {
        "transport": "optimal transport on the line",
        "files": "files read and written",
        "_plots": "drawing with matplotlib",
    },
    {"smoothing": "curves along a number"},
    {"disparity": "cells, contrasts, distances"},
    {"inference": "tests, estimates, intervals", "penalties": "disparities with gradients"},
    {"classical": "figures people hand in", "sensitivity": "doubt and drivers"},
    {"document": "what an audit found"},
    {
        "training": "models under penalties",
        "datasets": "tables with roles",
        "report": "the page",
    },
    {"repair": "repair of scores"},
    {"auditing": "from a table to a finding"},
    {
        "_load": "what was saved",
        "experiments": "many models compared",
        "teams": "A held by others",
        "testing": "thresholds as assertions",
        "integrations": "in other programs",
    },
    {
        "paper": "its experiments run again",
        "monitoring": "scores and periods compared",
        "payroll": "pay of women and men",
    },
    {"app": "audits in a browser"},
    {"cli": "the command line"},
    {"__init__": "what `import likeforlike` offers", "__main__": "`python -m likeforlike`"},
]
