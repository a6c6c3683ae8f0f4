"""Results go where they were sent: through links, into pipes, with the user's permissions."""

from __future__ import annotations

import os
import select
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans
from likeforlike.files import check_writable
from tests.support.command import call

ROLES = ("--score", "approved", "--sensitive", "sex", "--legitimate", "income")


@pytest.fixture(scope="module")
def audit() -> lfl.Audit:
    return lfl.audit(
        load_loans(400).frame,
        score="approved",
        sensitive="sex",
        legitimate="income",
        permutations=9,
    )


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("mask", "expected"), [(0o077, 0o600), (0o002, 0o664), (0o022, 0o644)])
def test_new_files_have_the_permissions_of_the_user(
    mask: int, expected: int, audit: lfl.Audit, tmp_path: Path
) -> None:
    with umask(mask):
        audit.to_html(tmp_path / "page.html")
        audit.to_json(tmp_path / "audit.json")
    assert {mode(path) for path in tmp_path.iterdir()} == {expected}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_is_there_keeps_its_permissions(audit: lfl.Audit, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    path.chmod(0o640)
    audit.to_html(path)
    assert mode(path) == 0o640
    assert path.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("there", [True, False])
def test_links_are_followed(there: bool, audit: lfl.Audit, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "page.html"
    if there:
        target.write_text("before")
    link, second = tmp_path / "page.html", tmp_path / "second.html"
    link.symlink_to(target)
    second.symlink_to("page.html")
    audit.to_html(second)
    assert link.is_symlink()
    assert second.is_symlink()
    assert target.read_text().startswith("<!doctype html>")
    assert [path.name for path in target.parent.iterdir()] == ["page.html"]


def test_a_pipe_is_written_into(audit: lfl.Audit, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()), daemon=True)
    reader.start()
    audit.to_json(path)
    reader.join(timeout=30)
    assert path.is_fifo()
    assert received[0].startswith(b"{")


def test_a_device_is_written_into(audit: lfl.Audit, tmp_path: Path) -> None:
    import pty

    master, slave = pty.openpty()
    device = tmp_path / "terminal"
    device.symlink_to(os.ttyname(slave))
    writer = threading.Thread(target=audit.to_json, args=(device,), daemon=True)
    writer.start()
    received = b""
    # A terminal holds little, so the writer waits for the reader. The reader waits for nobody: the
    # last byte may have been read before the writer is seen to have ended.
    while writer.is_alive() or select.select([master], [], [], 0)[0]:
        if select.select([master], [], [], 0.05)[0]:
            received += os.read(master, 1 << 16)
    assert received.startswith(b"{")
    assert received.rstrip().endswith(b"}")
    assert device.is_char_device()
    assert device.is_symlink()


@pytest.mark.process
def test_standard_output_by_its_name_keeps_what_was_printed(tmp_path: Path) -> None:
    import subprocess
    import sys

    load_loans(400).frame.write_csv(tmp_path / "loans.csv")
    command = [sys.executable, "-m", "likeforlike", "audit", "loans.csv", *ROLES]
    with (tmp_path / "out.txt").open("w") as out:
        options = ["--permutations", "9", "--json", "/dev/stdout"]
        subprocess.run([*command, *options], stdout=out, cwd=tmp_path, check=True)
    said = (tmp_path / "out.txt").read_text()
    assert said.startswith("{")
    assert "with the same income" in said
    assert said.endswith("Written: /dev/stdout\n")


def test_a_link_into_nowhere_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    load_loans(400).frame.write_csv(tmp_path / "loans.csv")
    (tmp_path / "page.html").symlink_to(tmp_path / "absent" / "page.html")
    done = call("audit", "loans.csv", *ROLES, "--report", "page.html", cwd=tmp_path)
    assert done.returncode == 2
    assert f"cannot be written: no folder {tmp_path / 'absent'}" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("option", ["--report", "--json", "--junit", "--pairs"])
@pytest.mark.parametrize("path", ["", "."])
def test_a_folder_for_a_file_names_its_option(option: str, path: str, tmp_path: Path) -> None:
    table = tmp_path / "loans.csv"
    load_loans(100).frame.write_csv(table)
    refused = call("audit", table, *ROLES, f"{option}={path}")
    assert refused.returncode == 2
    assert f"{option} must be a file to write" in " ".join(refused.stderr.split())


def test_a_path_with_a_null_is_refused() -> None:
    with pytest.raises(lfl.errors.InputError, match="--json must be a file to write"):
        check_writable("a\0b", "--json")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="has no folder that only seems open")
def test_a_folder_that_takes_no_files_is_refused() -> None:
    with pytest.raises(lfl.errors.InputError, match=r"/proc/x cannot be written: .* in /proc"):
        check_writable("/proc/x")
