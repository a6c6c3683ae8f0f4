"""Machine code that comes with the package: used where it fits, and nowhere else."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from numba.core import config

from likeforlike.transport import _numba, compiled
from likeforlike.transport._atoms import segment_sums
from tools import kernels

KERNEL: Any = segment_sums
ROOT = Path(__file__).parents[2]
NUMBERS = np.array([0.1, 0.2, 0.3, 1e16, -1e16, 0.7]), np.ones(6), np.array([0, 2, 2, 6])
SUMS = np.array([0.1 + 0.2, 0.0, 0.3 + 1e16 - 1e16 + 0.7])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of one kernel, for this processor and for no feature beyond any."""
    path = tmp_path_factory.mktemp("made") / f"any{_numba.SUFFIX}"
    code = f"""
import numpy as np
from pathlib import Path
from likeforlike.transport import _numba
from likeforlike.transport._atoms import segment_sums
from tools.kernels import write_archive
_numba.FOLDER = Path("nowhere")
segment_sums(np.ones(2), np.ones(2), np.array([0, 2]))
write_archive(Path({str(path)!r}), [])
"""
    cache = {"NUMBA_CACHE_DIR": str(path.parent / "cache"), "NUMBA_DISABLE_INTEL_SVML": "1"}
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **cache, **paths}, check=True)
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with that archive, on a machine that has compiled nothing yet."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / made.name).write_bytes(made.read_bytes())
    monkeypatch.setattr(_numba, "FOLDER", shipped)
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "USING_SVML", False)  # as where the archive was made
    _numba._open_archive.cache_clear()
    return shipped


@pytest.fixture(autouse=True)
def forget() -> Any:
    """Let later tests look for archives of their own."""
    yield
    _numba._open_archive.cache_clear()


def add_up() -> tuple[Any, bool]:
    """Sum by the kernel as another process would; return also whether it was compiled."""
    fresh: Any = compiled(KERNEL.py_func)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sums = fresh(*NUMBERS)
    return sums, bool(fresh._called._cache_misses)


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the description of the archive."""
    (path,) = folder.iterdir()
    with ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    description = json.loads(content[_numba.DESCRIPTION])
    change(description)
    content[_numba.DESCRIPTION] = json.dumps(description).encode()
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, member in content.items():
            archive.writestr(name, member)


def test_code_that_fits_is_used_and_nothing_is_compiled_or_written(
    folder: Path, tmp_path: Path
) -> None:
    sums, compiled_here = add_up()
    assert sums.tobytes() == KERNEL.py_func(*NUMBERS).tobytes() == SUMS.tobytes()
    assert not compiled_here
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told.update(python="cpython-27"),
        lambda told: told.update(numba="0.1"),
        lambda told: told.update(llvmlite="0.1"),
        lambda told: told.update(system="s390x-unknown-linux-gnu"),
        lambda told: told.update(svml=True),
        lambda told: told["features"].append("avx4096"),
        lambda told: told["sources"].update({"__init__.py": "another version"}),
        lambda told: told["sources"].update({"transport/_atoms.py": "changed since"}),
        lambda told: told["sources"].update({"transport/_removed.py": "gone"}),
        lambda told: told.pop("features"),
    ],
    ids=[
        *("python", "numba", "llvmlite", "system", "svml"),
        *("processor", "version", "source", "removed source", "damage"),
    ],
)
def test_code_made_for_something_else_is_compiled_in_silence(
    change: Callable[[dict[str, Any]], object], folder: Path
) -> None:
    rewrite(folder, change)
    sums, compiled_here = add_up()
    assert sums.tobytes() == SUMS.tobytes()
    assert compiled_here


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_damaged_archive_is_compiled_in_silence(share: float, folder: Path) -> None:
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    content[int(share * len(content)) :] = b"damage"
    path.write_bytes(content)
    sums, compiled_here = add_up()
    assert (sums.tobytes(), compiled_here) == (SUMS.tobytes(), True)


def test_damaged_code_is_compiled_in_silence(folder: Path) -> None:
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    (kernel,) = (found for found in ZipFile(path).infolist() if "segment_sums" in found.filename)
    middle = kernel.header_offset + kernel.compress_size // 2
    content[middle : middle + 9] = b"otherwise"
    path.write_bytes(content)
    sums, compiled_here = add_up()
    assert (sums.tobytes(), compiled_here) == (SUMS.tobytes(), True)


def test_types_that_did_not_come_along_are_compiled(folder: Path) -> None:
    numbers, weights, ends = NUMBERS
    fresh: Any = compiled(KERNEL.py_func)
    np.testing.assert_allclose(fresh(numbers[::1], weights, ends), SUMS)
    strided = fresh(np.repeat(numbers, 2)[::2], weights, ends)
    assert strided.tobytes() == SUMS.tobytes()
    assert len(fresh._called._cache_hits) == len(fresh._called._cache_misses) == 1


def test_the_archive_that_makes_most_of_the_processor_is_taken(folder: Path) -> None:
    feature = min(_numba.processor_features())
    (path,) = folder.iterdir()
    plain = path.rename(folder / f"z{_numba.SUFFIX}")
    (folder / f"a{_numba.SUFFIX}").write_bytes(plain.read_bytes())
    plain.rename(folder.parent / "aside")
    rewrite(folder, lambda told: told.update(features=[feature], note="wider"))
    rewrite(folder, lambda told: told.pop("note"))
    (folder.parent / "aside").rename(plain)
    archive = _numba._open_archive()
    assert archive is not None
    assert json.loads(archive.read(_numba.DESCRIPTION))["features"] == [feature]


@pytest.mark.parametrize(
    ("settings", "wide", "some"),
    [
        ({"CPU_NAME": None, "CPU_FEATURES": None}, True, True),
        ({"CPU_NAME": "haswell", "CPU_FEATURES": None}, False, True),
        ({"CPU_NAME": None, "CPU_FEATURES": "+sse2,-avx2"}, False, False),
        ({"CPU_NAME": "generic", "CPU_FEATURES": ""}, False, False),
    ],
)
def test_settings_of_numba_say_what_code_may_use(
    settings: dict[str, Any], wide: bool, some: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_numba, "get_host_cpu_features", lambda: "+sse2,+avx2,+avx512f,-sha")
    for name, value in settings.items():
        monkeypatch.setattr(config, name, value)
    found = _numba.processor_features()
    assert ("avx512f" in found, "avx2" in found) == (wide, some)
    assert "sha" not in found


def test_processors_are_those_that_this_machine_can_try() -> None:
    found = kernels.find_processors(all_kinds=True)
    here = kernels.find_processors(all_kinds=False)
    assert len(here) <= 1
    known = platform.machine().lower() in ("x86_64", "amd64")
    assert found in ([], list(kernels.PROCESSORS))
    assert bool(here) == bool(found)
    assert known or not found


def test_only_what_extras_bring_may_be_missing_from_the_calls(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from likeforlike.errors import MissingDependencyError

    def lack() -> None:
        raise MissingDependencyError("torch is not installed.")

    monkeypatch.setitem(kernels.CALLS, "lack", lack)
    kernels.make_calls(["lack", "measure"])
    assert capsys.readouterr().err == "lack: torch is not installed.\n"
