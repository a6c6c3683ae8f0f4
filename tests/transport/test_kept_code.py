"""Machine code on the disk: whatever happens to its files, kernels are compiled and right."""

from __future__ import annotations

import importlib.util
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from numba.core import config

from likeforlike.transport import _numba

KERNELS = """
from likeforlike.transport._jit import compiled

@compiled
def double(number: float) -> float:
    return 2.0 * number

@compiled
def triple(number: float) -> float:
    return 3.0 * number
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ModuleType]:
    """Import a file of kernels anew, as another process would."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kept"))
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)

    def fresh() -> ModuleType:
        monkeypatch.setattr(_numba, "_warned", [], raising=False)
        spec = importlib.util.spec_from_file_location("kernels", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return fresh


def used(kernels: ModuleType) -> tuple[float, float]:
    return kernels.double(2.0), kernels.triple(2.0)


def files(folder: Path, kind: str) -> list[Path]:
    found = sorted((folder / "kept").rglob(f"*.{kind}"))
    assert found
    return found


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def fill(path: Path) -> None:
    path.write_bytes(random.Random(0).randbytes(path.stat().st_size))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [empty, cut, fill, flip])
def test_damaged_code_is_compiled_again_with_one_warning(
    damage: Callable[[Path], None], kind: str, load: Callable[[], ModuleType], tmp_path: Path
) -> None:
    kernels = load()
    assert (kernels.double(2.0), kernels.triple(2.0)) == (4.0, 6.0)
    for path in files(tmp_path, kind):
        damage(path)
    with pytest.warns(RuntimeWarning, match="it is compiled again") as seen:
        results = used(load())
    assert results == (4.0, 6.0)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        healed = load()
        assert (healed.double(2.0), healed.triple(2.0)) == (4.0, 6.0)
        assert not healed.double._called._cache_misses


def test_the_code_of_another_kernel_is_not_taken(
    load: Callable[[], ModuleType], tmp_path: Path
) -> None:
    kernels = load()
    assert (kernels.double(2.0), kernels.triple(2.0)) == (4.0, 6.0)
    double, triple = files(tmp_path, "nbc")
    triple.write_bytes(double.read_bytes())
    with pytest.warns(RuntimeWarning, match="it is compiled again"):
        results = used(load())
    assert results == (4.0, 6.0)


def test_code_that_cannot_be_written_is_used_all_the_same(
    load: Callable[[], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core.caching import IndexDataCacheFile

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert load().double(2.0) == 4.0
