"""Every public name says what it is, what it takes, and shows itself at work.

Public is what `__all__` names in the package, in its subpackages and in the modules beside them.
All that is lacking is listed at once, one line a name.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints, is_typeddict

import likeforlike
from likeforlike._arrays import FloatArray
from likeforlike.disparity import Column, numbers

# What the command line can do is told by its own --help.
NOT_TO_BE_CALLED = {"cli"}

ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : ?(.*)")
ARRAYS = re.compile(r"\b(Column|FloatArray|IntArray|ndarray|NDArray|Tensor)\b")
# A shape such as (n,) or (k, g), or a word for who else says it.
SHAPE = re.compile(r"\([\w. +]+,[\w., +]*\)|\bas (for|there)\b|\bin the shape of\b")
LEAST_WORDS = 3


class Thing(NamedTuple):
    """A public name: where it is offered, and what it is."""

    module: ModuleType
    name: str
    value: Any

    @property
    def path(self) -> str:
        return f"{self.module.__name__}.{self.name}"


def public_modules() -> list[ModuleType]:
    inside = [
        found.name
        for found in pkgutil.iter_modules(likeforlike.__path__)
        if found.name not in NOT_TO_BE_CALLED
    ]
    modules = [likeforlike, *(importlib.import_module(f"likeforlike.{name}") for name in inside)]
    return [module for module in modules if hasattr(module, "__all__")]


def public_things() -> Iterator[Thing]:
    """Each thing once, where it is offered first."""
    known: set[int] = set()
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            described = inspect.isclass(value) or inspect.isroutine(value)
            if not described:
                yield Thing(module, name, value)
            elif id(value) not in known:
                known.add(id(value))
                yield Thing(module, name, value)


def described_parameters(doc: str) -> dict[str, str]:
    """What the entries `name : text` and `one, other : text` of a docstring say of each name."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in doc.splitlines():
        entry = ENTRY.fullmatch(line)
        if entry:
            names = entry[1].replace("*", "").split(", ")
            found.update(dict.fromkeys(names, entry[2]))
        elif line.startswith("    "):
            found.update({name: f"{found[name]} {line.strip()}" for name in names})
        else:
            names = []
    return found


def named_parameters(call: Callable[..., Any]) -> list[inspect.Parameter]:
    """Those a caller may name; `*args` and `**settings` have no names to look for."""
    if is_typeddict(call):
        kind = inspect.Parameter.KEYWORD_ONLY
        return [inspect.Parameter(name, kind) for name in get_type_hints(call)]
    signature = inspect.signature(call)
    unnamed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind not in unnamed and parameter.name not in ("self", "cls")
    ]


def faults_of_parameters(
    call: Callable[..., Any], doc: str, fallback: str = "", *, in_prose: bool
) -> Iterator[str]:
    """Parameters that nothing is said of, and arrays without a shape.

    A function has entries or at least `code`; a short method may speak of its parameters in plain
    words (`in_prose`), or leave them to its class (`fallback`).
    """
    entries = {**described_parameters(fallback), **described_parameters(doc)}
    both = f"{doc}\n{fallback}"
    for parameter in named_parameters(call):
        name = parameter.name
        if name in entries:
            if ARRAYS.search(str(parameter.annotation)) and not SHAPE.search(entries[name]):
                yield f"no shape of `{name}`"
        elif f"`{name}`" not in both and not (in_prose and re.search(rf"\b{name}\b", doc)):
            yield f"nothing about `{name}`"


def faults_of_result(call: Callable[..., Any], doc: str) -> Iterator[str]:
    """Arrays that come back without a shape."""
    returned = str(inspect.signature(call).return_annotation)
    if ARRAYS.match(returned.removeprefix("tuple[").removeprefix("npt.")) and not SHAPE.search(doc):
        yield "no shape of the result"


def docstring(value: Any) -> str:
    """As written: dataclasses make up a docstring of their own, which does not count."""
    doc = inspect.getdoc(value) or ""
    made_up = inspect.isclass(value) and doc.startswith(f"{value.__name__}(")
    return "" if made_up else doc


def faults_of_prose(doc: str, name: str) -> Iterator[str]:
    opening = doc.partition("\n\n")[0]
    words = {word.lower() for word in re.findall(r"\w+", opening)}
    if len(words - set(name.lower().split("_"))) < LEAST_WORDS:
        yield "says nothing" if doc else "no docstring"


def faults_of_example(doc: str) -> Iterator[str]:
    _, heading, example = doc.partition("Examples\n--------\n")
    if not heading or ">>>" not in example:
        yield "no example"
    if "+SKIP" in doc:
        yield "an example that is skipped"


def faults_of_constant(thing: Thing) -> Iterator[str]:
    """Constants and names of types are told by the text below them, where they are defined."""
    homes = [thing.module, *inner_modules()]
    holding = (home for home in homes if getattr(home, thing.name, None) is thing.value)
    if not any(thing.name in constants(home) for home in holding):
        yield "no text below it"


@cache
def inner_modules() -> list[ModuleType]:
    """All modules but the command line, which would run."""
    found = pkgutil.walk_packages(likeforlike.__path__, "likeforlike.")
    names = [module.name for module in found if module.name.split(".")[1] not in NOT_TO_BE_CALLED]
    return [importlib.import_module(name) for name in names]


@cache
def constants(module: ModuleType) -> set[str]:
    """Names a module assigns and says something about in a string below."""
    body = ast.parse(inspect.getsource(module)).body
    told: set[str] = set()
    for statement, below in pairwise(body):
        said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if said and isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            told.update(target.id for target in targets if isinstance(target, ast.Name))
    return told


def own_members(cls: type) -> Iterator[tuple[type, str]]:
    """Public names that a class has from itself or from a parent in the same project."""
    project = cls.__module__.partition(".")[0]
    for name in dir(cls):
        definer = next((parent for parent in cls.__mro__ if name in vars(parent)), object)
        if definer.__module__.partition(".")[0] == project and not name.startswith("_"):
            yield definer, name


def faults_of_members(cls: type) -> Iterator[str]:
    """Methods and properties; the fields of a class are its parameters."""
    for definer, name in own_members(cls):
        member = vars(definer)[name]
        path = f"{definer.__module__}.{definer.__qualname__}.{name}"
        if isinstance(member, property | cached_property):
            read = member.func if isinstance(member, cached_property) else member.fget
            assert read is not None
            doc = inspect.getdoc(read) or ""
            faults = [*faults_of_prose(doc, ""), *faults_of_result(read, doc)]
        elif isinstance(member, staticmethod | classmethod) or inspect.isroutine(member):
            call = getattr(cls, name)
            doc = docstring(call)  # one that says nothing itself has the text of its parent
            faults = [
                *faults_of_prose(doc, ""),
                *faults_of_parameters(call, doc, docstring(cls), in_prose=True),
                *faults_of_result(call, doc),
            ]
        else:
            continue
        yield from (f"{path}: {fault}" for fault in faults)


def faults(thing: Thing) -> Iterator[str]:
    value, path = thing.value, thing.path
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        yield from (f"{path}: {fault}" for fault in faults_of_constant(thing))
        return
    path = f"{value.__module__}.{value.__qualname__}"
    doc = docstring(value)
    found = [*faults_of_prose(doc, thing.name), *faults_of_example(doc)]
    if not (inspect.isclass(value) and issubclass(value, BaseException)):
        found += faults_of_parameters(value, doc, in_prose=False)
    if inspect.isroutine(value):
        found += faults_of_result(value, doc)
    yield from (f"{path}: {fault}" for fault in found)
    if inspect.isclass(value):
        yield from faults_of_members(value)


def test_every_public_name_is_described_and_shown() -> None:
    found = sorted({fault for thing in public_things() for fault in faults(thing)})
    assert not found, f"{len(found)} lacking:\n" + "\n".join(found)


def test_every_example_is_one_that_the_tests_run() -> None:
    """An example in a docstring that doctest does not look at would rot unseen."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    unseen = []
    for thing in public_things():
        value = thing.value
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        home = importlib.import_module(value.__module__)
        run = {test.name for test in finder.find(home) if test.examples}
        if ">>>" in docstring(value) and f"{home.__name__}.{value.__qualname__}" not in run:
            unseen.append(thing.path)
    assert not unseen


# ---------------------------------------------------------------------------------------------
# The look itself: each fault is seen.


def undescribed(scores: Column, bins: int) -> FloatArray:
    """Something with scores that is told at length and never shown.

    Parameters
    ----------
    scores : numbers.
    """
    return numbers(scores, str(bins))


class Half:
    """A class with a property and a method that are not told, and one that is.

    Examples
    --------
    >>> 1
    1
    """

    @property
    def whole(self) -> int:
        return 1

    def part(self, size: int) -> None:
        """A method that is told in a few words."""

    def share(self, size: int) -> None:
        """A method that speaks of its size in a few words."""


def test_the_look_sees_what_is_lacking() -> None:
    module = importlib.import_module(__name__)
    function = set(faults(Thing(module, "undescribed", undescribed)))
    path = f"{__name__}.undescribed"
    assert function == {
        f"{path}: no example",
        f"{path}: no shape of `scores`",
        f"{path}: nothing about `bins`",
        f"{path}: no shape of the result",
    }
    path = f"{__name__}.Half"
    assert set(faults(Thing(module, "Half", Half))) == {
        f"{path}.whole: no docstring",
        f"{path}.part: nothing about `size`",
    }
    assert list(faults_of_prose("", "anything")) == ["no docstring"]
    assert list(faults_of_prose("The fast sort.", "fast_sort")) == ["says nothing"]
    assert list(faults_of_constant(Thing(module, "LEAST_WORDS", LEAST_WORDS))) == [
        "no text below it"
    ]
    assert "Outcome" in constants(importlib.import_module("likeforlike.document._results"))
