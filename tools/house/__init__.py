"""Figures of the source: how large it is, how deep, how much is public, how much is said twice.

    python -m tools.house             # the figures
    python -m tools.house --json      # the same for programs
    python -m tools.house --details   # and the places behind them

Source is read, never imported.

- `modules`: files, parsed, and where a name is defined.
- `names`: what is exported, named in the reference, and shown in an example.
- `imports`: depth and circles.
- `signatures`: those that say "a mapping from text to anything".
- `repeats`: six lines or more that are written twice.
- `lines`: code, docstrings, `noqa`.
"""

from __future__ import annotations

from pathlib import Path

from tools.house.imports import cycles, import_graph, longest_chain, module_of
from tools.house.lines import code_tokens, docstring_lines, noqa_comments
from tools.house.modules import Modules, read_package
from tools.house.names import exported, in_reference, with_example
from tools.house.repeats import repeated
from tools.house.signatures import untyped

__all__ = ["ENTRIES", "PACKAGE", "REFERENCE", "TYPED", "figures", "read_package"]

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "likeforlike"
REFERENCE = ROOT / "docs" / "reference"
# Where the two longest ways into the package begin: `likeforlike audit`, and a training.
ENTRIES = {"audit": "audit_command", "training": "FairClassifier"}
# Rooms whose signatures should have types of their own.
TYPED = (
    "audit",
    "auditing",
    "examination",
    "files",
    "findings",
    "provenance",
    "report",
    "tables",
)


def figures(modules: Modules, reference: Path) -> dict[str, int]:
    """All figures of a package, by name.

    Parameters
    ----------
    modules : of the package, as `read_package` reads them.
    reference : folder with the pages of the reference.
    """
    return {**_names(modules, reference), **_imports(modules), **_lines(modules)}


def _names(modules: Modules, reference: Path) -> dict[str, int]:
    names = exported(modules)
    root = min(
        (module.path.parent for module in modules.values()), key=lambda path: len(path.parts)
    )
    return {
        "modules": len(modules),
        "modules_in_root": sum(module.path.parent == root for module in modules.values()),
        "modules_private": sum(module.is_private for module in modules.values()),
        "exported_entries": sum(len(m.exports) for m in modules.values() if m.is_public),
        "exported_names": len(names),
        "exported_in_reference": len(names & in_reference(modules, reference)),
        "exported_with_example": len(with_example(modules, names)),
        "untyped_signatures": len(untyped(modules, TYPED)),
    }


def _imports(modules: Modules) -> dict[str, int]:
    anywhere = import_graph(modules, anywhere=True)
    at_once = import_graph(modules, anywhere=False)
    starts = {entry: module_of(modules, name) for entry, name in ENTRIES.items()}
    return {
        "depth": len(longest_chain(anywhere)),
        **{
            f"depth_{entry}": len(longest_chain(anywhere, start)) for entry, start in starts.items()
        },
        "depth_at_import": len(longest_chain(at_once)),
        **{
            f"depth_{entry}_at_import": len(longest_chain(at_once, start))
            for entry, start in starts.items()
        },
        "cycles": len(cycles(anywhere)),
    }


def _lines(modules: Modules) -> dict[str, int]:
    sizes = [len(module.text.splitlines()) for module in modules.values()]
    return {
        "lines": sum(sizes),
        "lines_of_code": sum(len(code_tokens(module)) for module in modules.values()),
        "lines_of_docstrings": sum(len(docstring_lines(module)) for module in modules.values()),
        "lines_repeated_in_shape": sum(map(len, repeated(modules, "shape").values())),
        "lines_repeated_in_text": sum(map(len, repeated(modules, "text").values())),
        "lines_of_longest_file": max(sizes),
        "noqa": sum(noqa_comments(module) for module in modules.values()),
    }
