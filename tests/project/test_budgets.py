"""Budgets of the source: what no change may go beyond. Lower one whenever it is undercut."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import likeforlike

PACKAGE = Path(likeforlike.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
BUDGETS = {"files": 202, "lines": 64_620, "carriers": 170, "shared names": 0, "participles": 42}


def is_carrier(node: ast.ClassDef) -> bool:
    """Whether a class only carries data from one step to the next."""
    bases = {ast.unparse(base) for base in node.bases}
    if bases & {"NamedTuple", "TypedDict"}:
        return True
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    named = [each for each in methods if not each.name.startswith("__")]
    decorated = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    return decorated and len(named) <= 2


def measure(files: list[Path]) -> dict[str, int]:
    trees = [ast.parse(path.read_text("utf-8")) for path in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    carriers = Counter(node.name.lstrip("_") for node in classes if is_carrier(node))
    functions = [node.name.strip("_") for node in nodes if isinstance(node, ast.FunctionDef)]
    return {
        "files": len(files),
        "lines": sum(len(path.read_text("utf-8").splitlines()) for path in files),
        "carriers": carriers.total(),
        "shared names": sum(count for count in carriers.values() if count > 1),
        "participles": sum(
            name.split("_")[0].endswith("ed") and name.split("_")[0] not in {"need", "speed"}
            for name in functions
        ),
    }


@cache
def measure_package() -> dict[str, int]:
    return measure(FILES)


@pytest.mark.parametrize("budget", BUDGETS)
def test_source_stays_within_its_budget(budget: str) -> None:
    assert measure_package()[budget] <= BUDGETS[budget]


def test_each_count_sees_what_it_counts(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        "@dataclass\nclass A: ...\nclass B(NamedTuple): ...\nclass _B(TypedDict): ...\n"
        "def merged_rows(): ...\ndef merge_rows(): ...\n"
    )
    assert measure([file]) == {
        "files": 1,
        "lines": 6,
        "carriers": 3,
        "shared names": 2,
        "participles": 1,
    }
