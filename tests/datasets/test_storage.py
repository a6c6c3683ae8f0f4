"""Where files are looked for, that damaged ones are refused, and processes that fetch at once."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Barrier

import pytest

from likeforlike.datasets import _public as drug
from likeforlike.datasets import _public as storage
from likeforlike.datasets import load_adult, load_drug
from likeforlike.errors import InputError
from tests.datasets.server import Serve, Stall, sends
from tests.datasets.toy import CHANGED, FILE, GOOD, contents, put, zipped
from tests.support.real import content

(DRUG,) = drug.DRUG.files
# By this name it does not come with the package.
FETCHED = "drug/fetched.data"
FETCH = f"""
import sys
from dataclasses import replace
from likeforlike.datasets import _public as drug
file = replace(drug.DRUG.files[0], path="{FETCHED}", origins=(sys.argv[1],))
drug.DRUG = replace(drug.DRUG, files=(file,))
print(drug.load_drug().frame.height)
"""


def fetching(origin: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, origin],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.process
def test_two_processes_that_fetch_at_once_do_no_harm(cache: Path, serve: Serve) -> None:
    published = content(DRUG.path)
    both = Barrier(2, timeout=60)

    def answer_both_together(handler: BaseHTTPRequestHandler) -> None:
        both.wait()
        sends(published)(handler)

    address, asked = serve({"/drug": answer_both_together})
    processes = [fetching(f"{address}/drug") for _ in range(2)]
    said = [process.communicate(timeout=120) for process in processes]
    assert said == [("1885\n", "")] * 2
    assert asked == ["/drug", "/drug"]
    assert contents(cache) == {FETCHED: published}


@pytest.mark.process
def test_a_process_killed_while_it_fetches_leaves_nothing(cache: Path, serve: Serve) -> None:
    stall = Stall(content(DRUG.path))
    address, _ = serve({"/drug": stall})
    process = fetching(f"{address}/drug")
    assert stall.half_sent.wait(120)
    process.kill()
    process.communicate(timeout=60)
    assert contents(cache) == {}


@pytest.mark.usefixtures("empty_bundle")
def test_a_fetched_data_set_equals_the_one_at_hand(
    cache: Path, tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = content(DRUG.path)
    address, _ = serve({"/drug.zip": sends(zipped("drug_consumption.data", published))})
    file = replace(DRUG, origins=(f"{address}/drug.zip#drug_consumption.data",))
    with monkeypatch.context() as patch:
        patch.setattr(drug, "DRUG", replace(drug.DRUG, files=(file,)))
        fetched = load_drug()
    assert contents(cache) == {DRUG.path: published}
    put(tmp_path / "data" / DRUG.path, published)
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path / "data"))
    at_hand = load_drug()
    assert fetched.frame.equals(at_hand.frame)
    assert fetched.provenance == at_hand.provenance
    assert at_hand.provenance is not None
    assert at_hand.provenance.sha256 == {DRUG.path: hashlib.sha256(published).hexdigest()}


def test_a_changed_byte_in_the_folder_of_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path))
    for name in ("adult.data", "adult.test"):
        put(tmp_path / "adult" / name, content(f"adult/{name}"))
    assert load_adult().frame.height == 46_033
    damaged = tmp_path / "adult" / "adult.test"
    changed = bytearray(damaged.read_bytes())
    expected = hashlib.sha256(changed).hexdigest()
    changed[1_000_000] ^= 1
    damaged.write_bytes(changed)
    with pytest.raises(InputError) as caught:
        load_adult()
    found = hashlib.sha256(changed).hexdigest()
    assert str(caught.value) == (
        f"{damaged} is not the file that was published: its SHA-256 is {found}, not {expected}. "
        "Restore it, or remove it so that another copy is found or fetched."
    )


def test_a_truncated_file_in_the_folder_of_data_is_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path))
    put(tmp_path / FILE.path, GOOD[:-1])
    # Not even a good copy in the cache hides that the folder named holds a bad one.
    put(cache / FILE.path, GOOD)
    with pytest.raises(InputError, match=r"toy\.data is not .* \(255,999 bytes, not 256,000\)"):
        storage.read(FILE)
    assert storage.state(FILE) == "damaged"


def test_the_folder_of_data_goes_before_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache / FILE.path, GOOD)
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path / "data"))
    assert storage.state(FILE) == "in the cache"
    assert storage.read(FILE) == GOOD
    put(tmp_path / "data" / FILE.path, GOOD)
    assert storage.state(FILE) == "in LIKEFORLIKE_DATA"
    put(cache / FILE.path, CHANGED)
    assert storage.read(FILE) == GOOD


def test_what_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path))
    (tmp_path / FILE.path).mkdir(parents=True)
    with pytest.raises(InputError, match=r"toy\.data cannot be read: "):
        storage.read(FILE)
    assert storage.state(FILE) == "damaged"


@pytest.mark.parametrize(
    ("system", "variables", "expected"),
    [
        ("Linux", {"LIKEFORLIKE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ("Linux", {"XDG_CACHE_HOME": "/b"}, "/b/likeforlike"),
        ("Linux", {}, "/home/me/.cache/likeforlike"),
        ("Linux", {"LIKEFORLIKE_CACHE": "", "XDG_CACHE_HOME": ""}, "/home/me/.cache/likeforlike"),
        ("Linux", {"LIKEFORLIKE_CACHE": "~/data"}, "/home/me/data"),
        ("Darwin", {}, "/home/me/Library/Caches/likeforlike"),
        ("Windows", {"LOCALAPPDATA": "/local"}, "/local/likeforlike/Cache"),
        ("Windows", {}, "/home/me/.cache/likeforlike"),
    ],
)
def test_where_the_cache_is(
    monkeypatch: pytest.MonkeyPatch, system: str, variables: dict[str, str], expected: str
) -> None:
    for name in ("LIKEFORLIKE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": "/home/me", "USERPROFILE": "/home/me"} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(platform, "system", lambda: system)
    assert storage.cache_folder() == Path(expected)


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LIKEFORLIKE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InputError, match="set LIKEFORLIKE_CACHE to a folder"):
        storage.cache_folder()
