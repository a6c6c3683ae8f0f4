"""The figures of the source: each counter on a made-up package, and limits for our own."""

import json
from pathlib import Path

import pytest

from tools.house import PACKAGE, REFERENCE, figures, read_package
from tools.house.__main__ import main
from tools.house.imports import cycles, import_graph, longest_chain, module_of
from tools.house.lines import code_tokens, docstring_lines, noqa_comments
from tools.house.modules import Module
from tools.house.names import exported, in_reference, with_example
from tools.house.repeats import repeated, runs
from tools.house.signatures import untyped

# What no change may go beyond. Lower a limit whenever you get below it.
LIMITS = {
    "modules_in_root": 9,
    "exported_entries": 270,
    "exported_names": 240,
    "untyped_signatures": 0,
    "depth": 29,
    "depth_audit": 15,
    "depth_training": 13,
    "cycles": 0,
    "lines": 60_500,
    "lines_repeated_in_shape": 233,
    "lines_repeated_in_text": 217,
    "noqa": 125,
}


@pytest.fixture(scope="module")
def ours() -> dict[str, int]:
    return figures(read_package(PACKAGE), REFERENCE)


@pytest.mark.parametrize("figure", LIMITS)
def test_the_house_stays_within_its_limits(figure: str, ours: dict[str, int]) -> None:
    assert ours[figure] <= LIMITS[figure]


def test_every_exported_name_is_in_the_reference_and_shown(ours: dict[str, int]) -> None:
    assert ours["exported_in_reference"] == ours["exported_names"]
    assert ours["exported_with_example"] == ours["exported_names"]


def test_the_figures_are_of_the_whole_package(ours: dict[str, int]) -> None:
    files = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    assert ours["modules"] == len(files)
    assert ours["lines"] == sum(text.count("\n") for text in files)
    assert 0 < ours["lines_of_docstrings"] < ours["lines_of_code"] < ours["lines"]


def package(folder: Path, **files: str) -> dict[str, Module]:
    """A package `toy`; underscores in pairs stand for a slash, `_init` for `__init__`."""
    for name, text in {"_init": "", **files}.items():
        path = folder / "toy" / f"{name.replace('__', '/').replace('_init', '__init__')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_package(folder / "toy")


# Modules and names ------------------------------------------------------------------------------

COMMANDS = "def audit_command(): ...\nclass FairClassifier: ...\n"


def test_root_and_private_modules_are_counted(tmp_path: Path) -> None:
    modules = package(
        tmp_path, one=COMMANDS, _two="", room___init="", room__three="", room___four=""
    )
    assert sorted(modules) == [
        "toy",
        "toy._two",
        "toy.one",
        "toy.room",
        "toy.room._four",
        "toy.room.three",
    ]
    found = figures(modules, tmp_path)
    assert found["modules_in_root"] == 3
    assert found["modules_private"] == 2


def test_main_is_neither_public_nor_private() -> None:
    module = Module("toy.__main__", Path("toy/__main__.py"), "")
    assert not module.is_public
    assert not module.is_private


NAMES = {
    "_init": "from toy._one import f\n__version__ = '1'\n__all__ = ['__version__', 'f', 'room']\n",
    "_one": "def f(): ...\ndef hidden(): ...\n__all__ = ['f', 'hidden']\n",
    "room___init": "from .inside import g, f\n__all__ = ['f', 'g']\n",
    "room__inside": "from toy._one import f as f\ng = 1\n",
}


def test_a_name_counts_once_wherever_it_is_exported(tmp_path: Path) -> None:
    modules = package(tmp_path, **NAMES, more=COMMANDS)
    assert exported(modules) == {("toy._one", "f"), ("toy.room.inside", "g")}
    assert figures(modules, tmp_path)["exported_entries"] == 5


def test_names_for_type_checkers_are_followed(tmp_path: Path) -> None:
    lazy = "if TYPE_CHECKING:\n    from toy._one import f\n__all__ = ['f']\n"
    modules = package(tmp_path, _init=lazy, _one=NAMES["_one"])
    assert exported(modules) == {("toy._one", "f")}


@pytest.mark.parametrize(
    ("page", "named"),
    [
        ("::: toy.f\n", {("toy._one", "f")}),
        ("::: toy.room.g\n    options:\n      heading_level: 3\n", {("toy.room.inside", "g")}),
        ("::: toy.room\n", {("toy._one", "f"), ("toy.room.inside", "g")}),
        ("Text about toy.f and ::: toy.room.g\n", set()),
    ],
)
def test_the_reference_names_what_its_pages_list(
    page: str, named: set[tuple[str, str]], tmp_path: Path
) -> None:
    modules = package(tmp_path, **NAMES)
    (tmp_path / "page.md").write_text(page)
    assert in_reference(modules, tmp_path) == named


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('def f():\n    """Do.\n\n    >>> f()\n    """\n', True),
        ('class f:\n    """Be.\n\n    >>> f()\n    """\n', True),
        ('f = 1\n"""What.\n\n>>> f\n1\n"""\n', True),
        ('def f():\n    """Do."""\n', False),
        ('class f:\n    def g(self):\n        """>>> f().g()"""\n', False),
        ('f = 1\ng = 2\n""">>> g"""\n', False),
        ("def f():\n    # >>> f()\n    ...\n", False),
    ],
)
def test_an_example_is_one_in_the_docstring(text: str, shown: bool, tmp_path: Path) -> None:
    modules = package(tmp_path, one=text)
    assert with_example(modules, {("toy.one", "f")}) == ({("toy.one", "f")} if shown else set())


# Imports ----------------------------------------------------------------------------------------


def test_depth_is_the_longest_chain(tmp_path: Path) -> None:
    modules = package(
        tmp_path,
        a="from toy.b import x\nimport toy.d\n",
        b="from toy import c\n",
        c="import numpy\n",
        d="",
    )
    graph = import_graph(modules, anywhere=True)
    assert longest_chain(graph) == ["toy.a", "toy.b", "toy.c"]
    assert longest_chain(graph, "toy.b") == ["toy.b", "toy.c"]
    assert longest_chain(graph, "toy.d") == ["toy.d"]


def test_a_late_import_counts_only_if_all_are_asked_for(tmp_path: Path) -> None:
    modules = package(tmp_path, a="def f():\n    from toy.b import x\n", b="")
    assert longest_chain(import_graph(modules, anywhere=True), "toy.a") == ["toy.a", "toy.b"]
    assert longest_chain(import_graph(modules, anywhere=False), "toy.a") == ["toy.a"]


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_type_checkers_do_not_count(test: str, tmp_path: Path) -> None:
    modules = package(tmp_path, a=f"if {test}:\n    from toy.b import x\n", b="")
    assert import_graph(modules, anywhere=True)["toy.a"] == frozenset()


def test_a_name_of_a_package_leads_through_the_package(tmp_path: Path) -> None:
    room = {"room___init": "from toy.room.inside import x\n", "room__inside": ""}
    modules = package(tmp_path, a="from toy.room import x\n", b="from .room import inside", **room)
    graph = import_graph(modules, anywhere=True)
    assert longest_chain(graph, "toy.a") == ["toy.a", "toy.room", "toy.room.inside"]
    assert longest_chain(graph, "toy.b") == ["toy.b", "toy.room.inside"]


def test_cycles_are_found_and_counted_whole(tmp_path: Path) -> None:
    late = "def f():\n    import toy.a\n"
    modules = package(tmp_path, a="import toy.b\n", b=late, c="import toy.a\nimport toy.d", d="")
    graph = import_graph(modules, anywhere=True)
    assert cycles(graph) == [["toy.a", "toy.b"]]
    assert longest_chain(graph) == ["toy.c", "toy.a", "toy.b"]
    assert cycles(import_graph(modules, anywhere=False)) == []


def test_an_entry_must_be_defined_once(tmp_path: Path) -> None:
    modules = package(tmp_path, a="class Model: ...\n", b="from toy.a import Model\n")
    assert module_of(modules, "Model") == "toy.a"
    with pytest.raises(
        SystemExit, match=r"Other should be defined in one module, but it is in \[\]"
    ):
        module_of(modules, "Other")


# Signatures -------------------------------------------------------------------------------------


def test_untyped_signatures_are_seen_under_other_names(tmp_path: Path) -> None:
    modules = package(
        tmp_path,
        report__format="Part = Mapping[str, Any]\nRow = Mapping[str, float]\n",
        report__page=(
            "from toy.report.format import Part, Row\n"
            "def page(part: Part, row: Row, *, more: dict[str, Any]) -> list[Part]: ...\n"
            "class Page:\n    rows: Sequence[Mapping[str, Any]]\n    size: int\n"
        ),
        other="def f(part: Mapping[str, Any]): ...\n",
    )
    assert untyped(modules, ("report",)) == [
        "toy.report.page.page: Part",
        "toy.report.page.page: dict[str, Any]",
        "toy.report.page.page: list[Part]",
        "toy.report.page.Page: Sequence[Mapping[str, Any]]",
    ]
    assert untyped(modules, ("other",)) == ["toy.other.f: Mapping[str, Any]"]


# Lines ------------------------------------------------------------------------------------------

MIXED = '''"""What this is,
in two lines."""

import os  # noqa: F401

TEXT = """one
two"""
"""What the text is."""


def f(x):
    """Do."""
    # A comment.
    return (
        x
    )
'''


def test_lines_of_code_and_of_docstrings_are_told_apart(tmp_path: Path) -> None:
    module = package(tmp_path, one=MIXED)["toy.one"]
    assert docstring_lines(module) == {1, 2, 8, 12}
    assert sorted(code_tokens(module)) == [4, 6, 7, 11, 14, 15, 16]
    assert noqa_comments(module) == 1


# Repeats ----------------------------------------------------------------------------------------

LOOP = """def {0}({1}):
    total = 0
    for {2} in {1}:
        if {2} > {3}:
            total += {2} * 2
        else:
            total -= {2}
    return total
"""


def test_code_with_other_names_has_the_same_shape(tmp_path: Path) -> None:
    modules = package(
        tmp_path,
        a=LOOP.format("sum_up", "values", "value", 3),
        b="# A comment moves it down.\n\n" + LOOP.format("count", "rows", "row", 5),
    )
    lines = list(range(2, 9))
    assert repeated(modules, "shape") == {"toy.a": lines, "toy.b": [n + 2 for n in lines]}
    assert repeated(modules, "text") == {}
    assert [(run.module, run.first, run.last, run.lines) for run in runs(modules, "shape")] == [
        ("toy.a", 2, 8, 7),
        ("toy.b", 4, 10, 7),
    ]


def test_code_that_is_the_same_to_the_letter_counts_with_its_head(tmp_path: Path) -> None:
    same = LOOP.format("sum_up", "values", "value", 3)
    modules = package(tmp_path, a=same, b=same.replace("total = 0", "total  =  0"))
    assert repeated(modules, "text") == {name: list(range(1, 9)) for name in ("toy.a", "toy.b")}


def test_code_may_be_repeated_inside_a_file_but_not_by_itself(tmp_path: Path) -> None:
    once = LOOP.format("f", "xs", "x", 1)
    modules = package(tmp_path, a=once + LOOP.format("g", "ys", "y", 2), b="x = [\n    0,\n]\n")
    assert repeated(modules, "shape") == {"toy.a": [*range(2, 9), *range(10, 17)]}
    assert repeated(package(tmp_path / "other", a=once), "shape") == {}


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    y = 0\n    if x > y:\n        y += x\n    print(y)\n    return y\n",
        "import a\nfrom b import c\nimport l\nfrom d import e as f\nimport g as h\nimport i\n",
        "__all__ = ['a',\n'b', 'c',\n'd',\n'e', 'f', 'g',\n'h',\n'i', 'j',\n'k']\n",
        "x = [\n    1,\n    2,\n    3,\n    4,\n    5,\n    6,\n    7,\n]\n",
        "class A:\n    a: int\n    b: str = ''\n    c: float\n    d: f[g]\n    e: h\n    i: j\n",
        "def f(\n    a: int,\n    b: str = '',\n    *,\n    c: d[e],\n    g,\n    h=1,\n): ...\n",
    ],
    ids=["five lines and a head", "imports", "exports", "values", "fields", "parameters"],
)
def test_what_says_nothing_is_not_repeated_in_shape(text: str, tmp_path: Path) -> None:
    assert repeated(package(tmp_path, a=text, b=text), "shape") == {}


# The command ------------------------------------------------------------------------------------


def test_the_command_prints_the_figures(
    ours: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--json"])
    assert json.loads(capsys.readouterr().out) == ours
    main(["--details"])
    printed = capsys.readouterr().out
    assert f"depth training {ours['depth_training']:>21}" in printed
    assert f"untyped signatures ({ours['untyped_signatures']})" in printed
    assert "likeforlike.cli" in printed
