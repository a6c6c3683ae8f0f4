"""A private folder goes away with its process, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from likeforlike.app._folder import private_folder, remove_abandoned

OWN = """
import time
from likeforlike.app._folder import private_folder
with private_folder() as folder:
    (folder / "table.csv").write_text("score")
    print(folder, flush=True)
    time.sleep(60)
"""


def wait_until(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made, here and in processes."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.process
def test_only_its_owner_reads_it_and_it_goes(temporary: Path) -> None:
    with private_folder() as folder:
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "table.csv").write_text("score")
        remove_abandoned()  # another app that starts meanwhile
        assert (folder / "table.csv").exists()
    assert not list(temporary.iterdir())


@pytest.mark.process
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_kill_leaves_no_file(temporary: Path, ending: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWN],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert (folder / "table.csv").exists()
        owner.send_signal(ending)
        assert owner.wait() != 0
    assert wait_until(lambda: not folder.exists())


@pytest.mark.process
def test_the_next_start_removes_what_was_left(temporary: Path) -> None:
    left, new, other = (temporary / f"likeforlike-{name}" for name in ("app-a", "app-b", "b"))
    for folder in (left, new, other):
        folder.mkdir()
        (folder / "table.csv").write_text("score")
    (left / "lock").touch()  # of a process that is no more
    with private_folder() as folder:
        assert not left.exists()
        assert new.exists()  # it may be another's that is only being made
        os.utime(new, (1, 1))
        remove_abandoned()
        assert not new.exists()
        assert folder.exists()
    assert list(temporary.iterdir()) == [other]
