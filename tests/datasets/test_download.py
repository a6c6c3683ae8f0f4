"""Fetching from a real server: what arrives whole is kept, anything else changes nothing."""

from __future__ import annotations

import errno
import io
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from likeforlike.datasets import _public as download
from likeforlike.datasets import _public as storage
from likeforlike.errors import InputError
from tests.datasets.server import (
    Answer,
    Serve,
    Stall,
    fails,
    hangs_up,
    sends,
    sends_without_length,
    serving,
)
from tests.datasets.toy import CHANGED, FILE, GOOD, contents, put, zipped


def test_a_good_file_is_fetched_once_and_kept(cache: Path, serve: Serve) -> None:
    address, asked = serve({"/toy.data": sends(GOOD)})
    file = replace(FILE, origins=(f"{address}/toy.data",))
    assert storage.state(file) == "to be fetched"
    assert storage.read(file) == GOOD
    assert contents(cache) == {"toy/toy.data": GOOD}
    assert storage.state(file) == "in the cache"
    assert storage.read(file) == GOOD
    assert asked == ["/toy.data"]


def test_a_file_without_a_promised_length(cache: Path, serve: Serve) -> None:
    address, _ = serve({"/toy.data": sends_without_length(GOOD)})
    assert storage.read(replace(FILE, origins=(f"{address}/toy.data",))) == GOOD
    assert contents(cache) == {"toy/toy.data": GOOD}


def test_a_file_inside_an_archive(cache: Path, serve: Serve) -> None:
    address, _ = serve({"/toy.zip": sends(zipped("inner/toy.data", GOOD))})
    assert storage.read(replace(FILE, origins=(f"{address}/toy.zip#inner/toy.data",))) == GOOD
    assert contents(cache) == {"toy/toy.data": GOOD}


BAD_ANSWERS: list[tuple[str, Answer, str]] = [
    ("toy.data", sends(GOOD[:-1], len(GOOD)), r"255,999 bytes, not 256,000|IncompleteRead"),
    ("toy.data", sends(GOOD[:1000]), r"its SHA-256 is \w{64}, not \w{64} \(1,000 bytes, not"),
    ("toy.data", sends(CHANGED), r"its SHA-256 is \w{64}, not \w{64}"),
    ("toy.data", sends(GOOD + b"x"), r"256,001 bytes, not 256,000"),
    ("toy.data", sends(b""), r"0 bytes, not 256,000"),
    ("toy.data", fails(404), "HTTP Error 404: Not Found"),
    ("toy.data", fails(503), "HTTP Error 503: Service Unavailable"),
    ("toy.data", hangs_up, "closed connection"),
    ("toy.data", sends_without_length(GOOD[:100_000]), "100,000 bytes, not 256,000"),
    ("toy.zip#toy.data", sends(zipped("other.data", GOOD)), "no item named 'toy.data'"),
    ("toy.zip#toy.data", sends(zipped("toy.data", CHANGED)), "its SHA-256 is"),
    ("toy.zip#toy.data", sends(zipped("toy.data", GOOD + b"xy")), r"256,001 bytes, not 256,000"),
    ("toy.zip#toy.data", sends(b"<html>Down for maintenance</html>"), "not a zip file"),
    ("toy.zip#toy.data", sends(zipped("toy.data", GOOD)[:-30]), "not a zip file"),
]


@pytest.mark.parametrize("kept", [None, CHANGED], ids=["empty cache", "damaged copy"])
@pytest.mark.parametrize(("place", "answer", "reason"), BAD_ANSWERS)
def test_a_bad_download_changes_nothing_and_says_what_to_do(
    cache: Path, serve: Serve, place: str, answer: Answer, reason: str, kept: bytes | None
) -> None:
    if kept is not None:
        put(cache / FILE.path, kept)
    before = contents(cache)
    address, _ = serve({f"/{place.partition('#')[0]}": answer})
    with pytest.raises(InputError, match=reason) as caught:
        storage.read(replace(FILE, origins=(f"{address}/{place}",)))
    said = str(caught.value)
    assert said.startswith(f"toy/toy.data could not be fetched: {address}/{place}: ")
    assert f"put the file at {cache / FILE.path} yourself" in said
    assert "set LIKEFORLIKE_DATA to a folder that holds toy/toy.data" in said
    assert ("is damaged and was not used" in said) == (kept is not None)
    assert "\n" not in said
    assert contents(cache) == before


def test_an_archive_with_a_damaged_member(cache: Path, serve: Serve) -> None:
    archive = bytearray(zipped("toy.data", GOOD))
    archive[60] ^= 0xFF
    address, _ = serve({"/toy.zip": sends(bytes(archive))})
    with pytest.raises(InputError, match=r"toy\.data could not be fetched"):
        storage.read(replace(FILE, origins=(f"{address}/toy.zip#toy.data",)))
    assert contents(cache) == {}


def test_a_download_that_stalls(cache: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_TIMEOUT", 0.2)
    address, _ = serve({"/toy.data": Stall(GOOD)})
    with pytest.raises(InputError, match="timed out"):
        storage.read(replace(FILE, origins=(f"{address}/toy.data",)))
    assert contents(cache) == {}


def test_nobody_answers(cache: Path) -> None:
    with serving({}) as (address, _):
        pass
    with pytest.raises(InputError, match="refused"):
        storage.read(replace(FILE, origins=(f"{address}/toy.data",)))
    assert contents(cache) == {}


def test_endless_answers_are_cut_short(
    cache: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_LARGEST", len(GOOD))
    address, _ = serve({"/toy.data": sends(GOOD * 4)})
    with pytest.raises(InputError, match="not 256,000"):
        storage.read(replace(FILE, origins=(f"{address}/toy.data",)))
    assert contents(cache) == {}


def test_the_next_origin_is_asked(cache: Path, serve: Serve) -> None:
    address, asked = serve(
        {"/changed": sends(CHANGED), "/gone": fails(410), "/good": sends(GOOD), "/late": fails(500)}
    )
    origins = tuple(f"{address}/{name}" for name in ("changed", "gone", "good", "late"))
    assert storage.read(replace(FILE, origins=origins)) == GOOD
    assert asked == ["/changed", "/gone", "/good"]
    assert contents(cache) == {"toy/toy.data": GOOD}


def test_every_origin_is_named_when_all_fail(serve: Serve) -> None:
    address, _ = serve({"/changed": sends(CHANGED)})
    with pytest.raises(InputError) as caught:
        storage.read(replace(FILE, origins=(f"{address}/changed", f"{address}/gone")))
    assert f"{address}/changed: its SHA-256 is" in str(caught.value)
    assert f"{address}/gone: HTTP Error 404" in str(caught.value)


def test_a_damaged_copy_in_the_cache_is_replaced(cache: Path, serve: Serve) -> None:
    put(cache / FILE.path, GOOD[:5000])
    address, asked = serve({"/toy.data": sends(GOOD)})
    file = replace(FILE, origins=(f"{address}/toy.data",))
    assert storage.state(file) == "damaged"
    assert storage.read(file) == GOOD
    assert contents(cache) == {"toy/toy.data": GOOD}
    assert asked == ["/toy.data"]


@pytest.mark.parametrize("kept", [None, CHANGED])
@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (KeyboardInterrupt("stop"), KeyboardInterrupt, "stop"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            InputError,
            r"toy\.data cannot be written: No space left on device\. Set LIKEFORLIKE_CACHE",
        ),
    ],
)
def test_writing_that_breaks_off_leaves_the_cache_as_it_was(
    cache: Path,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    kept: bytes | None,
    error: BaseException,
    expected: type[BaseException],
    message: str,
) -> None:
    if kept is not None:
        put(cache / FILE.path, kept)
    before = contents(cache)

    def broken(source: str, target: Path) -> None:
        assert Path(source).read_bytes() == GOOD
        raise error

    monkeypatch.setattr(os, "replace", broken)
    address, _ = serve({"/toy.data": sends(GOOD)})
    with pytest.raises(expected, match=message):
        storage.read(replace(FILE, origins=(f"{address}/toy.data",)))
    assert contents(cache) == before


def test_a_quicker_process_that_holds_the_file_open_does_no_harm(
    cache: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(source: str, target: Path) -> None:
        put(Path(target), GOOD)
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr(os, "replace", refused)
    address, _ = serve({"/toy.data": sends(GOOD)})
    assert storage.read(replace(FILE, origins=(f"{address}/toy.data",))) == GOOD
    assert contents(cache) == {"toy/toy.data": GOOD}


def test_a_cache_that_is_no_folder(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "file", b"")
    monkeypatch.setenv("LIKEFORLIKE_CACHE", str(tmp_path / "file"))
    address, _ = serve({"/toy.data": sends(GOOD)})
    with pytest.raises(InputError, match=r"cannot be written: .* Set LIKEFORLIKE_CACHE"):
        storage.read(replace(FILE, origins=(f"{address}/toy.data",)))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_shown_on_a_terminal_only(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    answers: dict[str, Answer] = {
        "/toy.data": sends(GOOD),
        "/unknown": sends_without_length(GOOD),
    }
    address, _ = serve(answers)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for place in answers:
        file = replace(FILE, origins=(f"{address}{place}",))
        assert download.download(file) == GOOD
        assert capfd.readouterr() == ("", "")
        with monkeypatch.context() as patch:
            terminal = Terminal()
            patch.setattr(sys, "stderr", terminal)
            assert download.download(file) == GOOD
            assert "fetching toy/toy.data" in terminal.getvalue()
            patch.setenv("TERM", "dumb")
            patch.setattr(sys, "stderr", dumb := Terminal())
            assert download.download(file) == GOOD
            assert dumb.getvalue() == ""
        assert capfd.readouterr() == ("", "")
