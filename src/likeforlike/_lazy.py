"""Packages whose public names are imported when they are first used.

A package lists its public names once, as imports that type checkers read:

    if TYPE_CHECKING:
        from ._distances import dd as dd

    attach(__name__)

and `attach` reads the same lines. What other packages of the library need goes below a second
line, `if TYPE_CHECKING:  # what other packages use`: it is imported like the rest, but is neither
in `__all__` nor in `dir`, and may change at any time.

`likeforlike --help` then waits for no array library, boosted trees do not wait for torch, and a
name that needs a missing library is simply absent: `hasattr` is false, and importing it by name
raises the `ImportError` that says what to install.

Libraries that only an extra brings are imported within `extra`, which says what to install where
they are missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

from likeforlike.errors import MissingDependencyError

_IMPORT = re.compile(r"^    from (\S+) import (\w+) as \2$", re.MULTILINE)
_INTERNAL = "if TYPE_CHECKING:  # what other packages use"


class _LazyPackage(ModuleType):
    """A package that imports its public names on first use."""

    _homes: dict[str, str]
    _offered: frozenset[str]
    _lacking: dict[str, MissingDependencyError]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            return self._find(name)
        except MissingDependencyError as error:
            self._lacking[name] = error
            raise AttributeError(f"{self.__name__}.{name} is not available: {error}") from error

    def _find(self, name: str) -> Any:  # noqa: ANN401
        """Import a public name from its module; the innermost package reports what is missing."""
        if self._homes[name] == self.__name__:
            return import_module(f"{self.__name__}.{name}")
        home = import_module(self._homes[name])
        inner = isinstance(home, _LazyPackage) and name in home._homes
        value = home._find(name) if inner else getattr(home, name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """Pickle by name, so that functions that use the package reach other processes."""
        return import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return sorted(
            {*self._offered, "__version__"} if hasattr(self, "__version__") else self._offered
        )


class _MissingNames(MetaPathFinder):
    """Raise what to install when a name is imported whose library is missing.

    `from package import name` asks for an attribute first and for a module then, which is where
    this finder is asked.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:  # noqa: ARG002
        """Find nothing, but raise for a name that is known to lack a library."""
        package, _, name = fullname.rpartition(".")
        known = sys.modules.get(package)
        if isinstance(known, _LazyPackage) and name in known._lacking:
            raise known._lacking.pop(name)


def attach(package: str) -> None:
    """Import the public names of a package, those below its `if TYPE_CHECKING:`, on first use."""
    module = sys.modules[package]
    source = Path(str(module.__file__)).read_text("utf-8")
    homes = {name: resolve_name(home, package) for home, name in _IMPORT.findall(source)}
    public = frozenset(name for _, name in _IMPORT.findall(source.partition(_INTERNAL)[0]))
    names = sorted(name for name in public if homes[name] != package)
    vars(module).update(__all__=names, _homes=homes, _offered=public, _lacking={})
    module.__class__ = _LazyPackage
    if not any(isinstance(finder, _MissingNames) for finder in sys.meta_path):
        sys.meta_path.append(_MissingNames())


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import libraries that an extra brings; say how to install it if one is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        missing = MissingDependencyError(
            f"{library} is not installed; pip install 'likeforlike[{name}]' brings it."
        )
        missing.name = error.name
        raise missing from error
