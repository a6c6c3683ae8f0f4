"""Chance with a memory: the same number gives the same call, and the call can be shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

__all__ = ["Draw"]

T = TypeVar("T")

_LONG = 700


class Draw(random.Random):
    """Random numbers of one call.

    Attributes
    ----------
    name : says which call.
    calls : what was called with them.

    Examples
    --------
    >>> from tools.fuzz.draw import Draw
    >>> Draw("dd:3").pick("abc") == Draw("dd:3").pick("abc")
    True
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []

    @cached_property
    def numpy(self) -> np.random.Generator:
        """The same for arrays."""
        return np.random.default_rng(self.getrandbits(64))

    def happens(self, chance: float) -> bool:
        """Whether something happens that has this chance."""
        return self.random() < chance

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[int(self.random() * len(choices))]

    def made(self, makers: Sequence[Callable[[Draw], Any]]) -> Any:  # noqa: ANN401
        """What one of the makers makes."""
        return self.pick(makers)(self)

    def call(self, function: Callable[..., T], *arguments: Any, **settings: Any) -> T:  # noqa: ANN401
        """Call a function, and remember how."""
        self.calls.append((function, arguments, settings))
        return function(*arguments, **settings)

    def told(self) -> list[str]:
        """All calls as text."""
        return [_written(call) for call in self.calls]


def _written(call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]) -> str:
    function, arguments, settings = call
    parts = [_short(value) for value in arguments]
    parts += [f"{name}={_short(value)}" for name, value in settings.items()]
    return f"{getattr(function, '__qualname__', function)}({', '.join(parts)})"


def _short(value: object) -> str:
    try:
        text = f"{type(value).__module__}.{type(value).__name__}:{value!r}"
    except Exception as error:  # noqa: BLE001
        return f"<{type(value).__name__} whose repr raises {error!r}>"
    plain = " ".join(text.removeprefix("builtins.").split())
    return plain if len(plain) < _LONG else f"{plain[:_LONG]}..."
