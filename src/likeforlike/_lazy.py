"""Packages whose public names are imported when they are asked for.

`likeforlike --help` then waits for no array library, and whoever reads the results of experiments
does not wait for torch. Type checkers read the imports under `TYPE_CHECKING` instead.

A name that needs a library which is not installed is not there: `hasattr` says so, as it would of
any other. Whoever imports it by name gets the `ImportError` that says what to install.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from likeforlike.errors import MissingExtra


class _LazyPackage(ModuleType):
    """A package that finds its names in their modules."""

    _homes: dict[str, str]
    _modules: frozenset[str]
    _lacking: dict[str, MissingExtra]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name not in self._modules and name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            return self._found(name)
        except MissingExtra as error:
            self._lacking[name] = error
            raise AttributeError(f"{self.__name__}.{name} cannot be had: {error}") from error

    def _found(self, name: str) -> Any:  # noqa: ANN401
        """A module or a name of this package; what it lacks is said by the first who knows."""
        if name in self._modules:
            return import_module(f"{self.__name__}.{name}")
        home = import_module(f"{self.__name__}.{self._homes[name]}")
        inner = isinstance(home, _LazyPackage) and name in home._homes
        value = home._found(name) if inner else getattr(home, name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """By name, so that a function that uses the package can be sent to another process."""
        return import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        """What is public, modules, and names that begin with an underscore.

        What a package imports for its own use is left out.
        """
        known = {*self._homes, *self._modules}
        own = (
            name
            for name, value in vars(self).items()
            if name.startswith("_") or name in self.__all__ or isinstance(value, ModuleType)
        )
        return sorted({*known, *own})


class _Lacking(MetaPathFinder):
    """Says what to install when a name is imported whose library is missing.

    `from package import name` asks for an attribute first and for a module then, which is where
    this is asked.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:  # noqa: ARG002
        """Find nothing, but complain about a name that is known to lack something."""
        package, _, name = fullname.rpartition(".")
        known = sys.modules.get(package)
        if isinstance(known, _LazyPackage) and name in known._lacking:
            raise known._lacking.pop(name)


def lazy_package(
    package: str, homes: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> None:
    """Let a package import its public names when they are first asked for."""
    module = sys.modules[package]
    vars(module).update(
        _homes={name: home for home, names in homes.items() for name in names},
        _modules=frozenset(modules),
        _lacking={},
    )
    module.__class__ = _LazyPackage
    if not any(isinstance(finder, _Lacking) for finder in sys.meta_path):
        sys.meta_path.append(_Lacking())
