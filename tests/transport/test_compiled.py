"""Kernels are compiled once each, for plain numbers, by the first call of any thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import config, event

from likeforlike.transport import compiled


@compiled
def add(total: int, number: int) -> int:
    """Add."""
    return total + number


@compiled
def add_up(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """Sum, by a counter that begins at the constant 0."""
    total = 0
    for number in numbers:
        total = add(total, number)
    return total


@pytest.fixture
def compilations() -> Any:
    """Functions of this file that numba compiles during a test, with their signatures."""
    seen: list[tuple[str, str]] = []

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, happened: Any) -> None:
            function = happened.data["dispatcher"].py_func
            if function.__module__ == __name__:
                seen.append((function.__name__, str(happened.data["args"])))

        def on_end(self, happened: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield seen


def test_a_kernel_inside_another_is_compiled_once_and_for_no_constant(
    compilations: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))  # nothing is compiled yet
    fresh = compiled(add_up.py_func)  # type: ignore[attr-defined]
    assert fresh(np.arange(5)) == 10
    assert compiled(add.py_func)(2, 3) == 5  # type: ignore[attr-defined]
    names = [name for name, _ in compilations]
    assert names.count("add_up") == 1
    # Once for Python, and once for other kernels unless one has called it in this process.
    assert names.count("add") in (1, 2)
    assert not any("Literal" in signature for _, signature in compilations)


def test_threads_share_one_kernel() -> None:
    fresh = compiled(add_up.py_func)  # type: ignore[attr-defined]
    numbers = np.arange(100)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fresh, [numbers] * 32))
    assert found == [4950] * 32
    assert len(fresh._called.signatures) == 1  # type: ignore[attr-defined]


def test_the_original_and_its_words_stay() -> None:
    assert add.py_func(1, 2) == 3  # type: ignore[attr-defined]
    assert add.__doc__ == "Add."
    assert add.__name__ == "add"
