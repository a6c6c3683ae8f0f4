"""What comes with the package: that it is what was published, and may be passed on."""

from __future__ import annotations

import hashlib
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from likeforlike.datasets import _public as storage
from likeforlike.datasets import load_adult, load_communities, load_drug
from likeforlike.datasets._public import SOURCES, DataFile, Source, read_bundle
from likeforlike.errors import InputError
from tests.datasets.toy import CHANGED, FILE, GOOD, contents, put
from tests.support.real import BUNDLE, LAW_SCHOOL, content
from tools.bundle import main, packed

ROOT = Path(__file__).parents[2]
ATTRIBUTION = BUNDLE / "ATTRIBUTION.txt"
FREE = [source for source in SOURCES if source.license == "CC BY 4.0"]
FILES = [file for source in FREE for file in source.files]
(DRUG,) = storage.DRUG.files


def test_it_holds_the_files_that_anybody_may_pass_on_and_no_others() -> None:
    assert {source.name for source in FREE} == {"adult", "drug", "communities"}
    held = set(contents(BUNDLE)) - {ATTRIBUTION.name}
    assert held == {f"{file.path}.xz" for file in FILES}
    assert f"{LAW_SCHOOL.path}.xz" not in held
    assert read_bundle(LAW_SCHOOL) is None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path)
def test_unpacked_it_is_what_was_published(file: DataFile) -> None:
    unpacked = content(file.path)
    assert len(unpacked) == file.size
    assert hashlib.sha256(unpacked).hexdigest() == file.sha256
    assert read_bundle(file) == unpacked


@pytest.mark.parametrize("source", FREE, ids=lambda source: source.name)
def test_the_attribution_names_every_data_set_and_its_files(source: Source) -> None:
    said = ATTRIBUTION.read_text("utf-8")
    assert "CC BY 4.0" in said
    assert "https://creativecommons.org/licenses/by/4.0/" in said
    (entry,) = (part for part in said.split("\n\n") if f"  {source.origin}\n" in part)
    # A citation is made of authors and year, title, publisher and DOI.
    authors, _, rest = source.citation.partition(" (")
    year, _, rest = rest.partition("), ")
    title, _, doi = rest.partition(", UCI Machine Learning Repository, ")
    lines = entry.splitlines()
    assert lines[0] == title
    assert lines[1].endswith(f", {year}")
    assert all(author in lines[1] for author in authors.replace(" &", ",").split(", "))
    assert lines[2].strip() == doi
    for file in source.files:
        assert f"  {file.path}\n    {file.sha256}" in entry


def test_data_sets_load_with_nothing_set_and_nothing_is_written(cache: Path) -> None:
    loaded = load_adult(), load_drug(), load_communities()
    assert [data.frame.height for data in loaded] == [46_033, 1_885, 1_994]
    assert not cache.exists()


@pytest.fixture
def toy(empty_bundle: Path, cache: Path) -> Path:
    """Where the toy file is in the bundle, packed and good; it is nowhere else."""
    put(empty_bundle / f"{FILE.path}.xz", packed(GOOD))
    assert storage.read(FILE) == GOOD
    return empty_bundle / f"{FILE.path}.xz"


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (packed(CHANGED), r"its SHA-256 is \w{64}, not \w{64}\."),
        (packed(GOOD[:-1]), r"its SHA-256 is .* \(255,999 bytes, not 256,000\)\."),
        (packed(GOOD)[:-20], r"it cannot be unpacked \(Compressed data ended before .*\)\."),
        (b"", r"it cannot be unpacked \(.*\)\."),
        (
            b"version https://git-lfs.github.com/spec/v1",
            r"it cannot be unpacked \(.* format .*\)\.",
        ),
    ],
    ids=["changed", "shorter", "cut", "empty", "pointer"],
)
def test_a_broken_installation_is_not_hidden(
    toy: Path, cache: Path, damaged: bytes, reason: str
) -> None:
    toy.write_bytes(damaged)
    put(cache / FILE.path, GOOD)
    with pytest.raises(InputError, match=reason) as caught:
        storage.read(FILE)
    said = str(caught.value)
    assert said.startswith(f"{toy} came with likeforlike and is not the file")
    assert "Install likeforlike again, or set LIKEFORLIKE_DATA to a folder that holds toy" in said
    assert "\n" not in said
    assert storage.state(FILE) == "damaged"


def test_a_bundled_file_that_cannot_be_read_is_reported(toy: Path) -> None:
    toy.unlink()
    toy.mkdir()
    with pytest.raises(InputError, match=r"it cannot be unpacked \(.*Install likeforlike again"):
        storage.read(FILE)
    assert storage.state(FILE) == "damaged"


def test_the_folder_of_data_goes_before_the_package(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.write_bytes(packed(CHANGED))
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path / "data"))
    put(tmp_path / "data" / FILE.path, GOOD)
    assert storage.state(FILE) == "in LIKEFORLIKE_DATA"
    assert storage.read(FILE) == GOOD


def test_a_damaged_copy_in_the_folder_of_data_is_refused_though_a_good_one_came_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path))
    put(tmp_path / DRUG.path, content(DRUG.path)[:-1])
    with pytest.raises(InputError, match=r"Restore it, or remove it so that another copy is found"):
        load_drug()
    assert storage.state(DRUG) == "damaged"
    (tmp_path / DRUG.path).unlink()
    assert storage.state(DRUG) == "with the package"
    assert load_drug().frame.height == 1_885


def test_the_package_goes_before_the_cache(toy: Path, cache: Path) -> None:
    assert toy.exists()
    put(cache / FILE.path, CHANGED)
    assert storage.state(FILE) == "with the package"
    assert storage.read(FILE) == GOOD
    assert contents(cache) == {FILE.path: CHANGED}


def test_a_python_without_lzma_looks_elsewhere(
    toy: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lzma", None)
    assert toy.exists()
    assert storage.state(FILE) == "to be fetched"
    put(cache / FILE.path, GOOD)
    assert storage.state(FILE) == "in the cache"
    assert storage.read(FILE) == GOOD


def originals(place: Path) -> Path:
    for file in FILES:
        put(place / file.path, content(file.path))
    return place


@pytest.mark.process
def test_packing_gives_the_same_bytes_every_time(tmp_path: Path) -> None:
    folder = originals(tmp_path / "originals")
    put(folder / LAW_SCHOOL.path, b"never to be passed on")
    command = [sys.executable, "-m", "tools.bundle", str(folder), "--into", str(tmp_path / "made")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    made = contents(tmp_path / "made")
    assert made[f"{DRUG.path}.xz"] == packed(content(DRUG.path))
    assert set(made) == {f"{file.path}.xz" for file in FILES}
    for file in FILES:
        assert file.damage(lzma.decompress(made[f"{file.path}.xz"])) is None


@pytest.mark.parametrize(
    ("left", "reason"),
    [(b"1,0.49788", "is not the file that was published: its SHA-256"), (None, "No such file")],
)
def test_nothing_is_packed_unless_all_is_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], left: bytes | None, reason: str
) -> None:
    damaged = originals(tmp_path / "originals") / DRUG.path
    damaged.unlink()
    if left is not None:
        damaged.write_bytes(left)
    with pytest.raises(SystemExit) as caught:
        main([str(tmp_path / "originals"), "--into", str(tmp_path / "bundle")])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("python -m tools.bundle: ")
    assert str(damaged) in said
    assert reason in said
    assert not (tmp_path / "bundle").exists()
