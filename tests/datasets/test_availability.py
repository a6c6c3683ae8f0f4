from collections.abc import Callable
from pathlib import Path

import pytest

from likeforlike.datasets import (
    Dataset,
    available,
    load_adult,
    load_communities,
    load_drug,
    load_law_school,
)
from likeforlike.datasets._public import SOURCES
from tests.datasets.toy import put
from tests.support.needs import cases
from tests.support.real import content

LOADERS: dict[str, Callable[[], Dataset]] = {
    "adult": load_adult,
    "drug": load_drug,
    "law_school": load_law_school,
    "communities": load_communities,
}
COME_ALONG = {"adult", "drug", "communities"}


def copy(name: str, place: Path) -> Path:
    put(place / name, content(name))
    return place / name


def states() -> dict[str, str]:
    return {found.name: found.state for found in available()}


def test_every_public_data_set_is_listed() -> None:
    assert [found.name for found in available()] == list(LOADERS)


@pytest.mark.parametrize("name", cases(LOADERS))
def test_rows_and_sizes_are_those_of_the_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = (source for source in SOURCES if source.name == name)
    copies = [copy(file.path, tmp_path) for file in source.files]
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path))
    (found,) = (entry for entry in available() if entry.name == source.name)
    data = LOADERS[source.name]()
    assert found.rows == data.frame.height
    assert found.size == sum(path.stat().st_size for path in copies)
    assert data.provenance is not None
    assert found.license == data.provenance.license
    assert data.provenance == source.provenance
    assert found.state == "in LIKEFORLIKE_DATA"


def test_with_nothing_set_all_but_one_come_with_the_package(cache: Path) -> None:
    assert {name for name, state in states().items() if state == "with the package"} == COME_ALONG
    assert states()["law_school"] == "to be fetched"
    assert not cache.exists()


@pytest.mark.usefixtures("empty_bundle")
def test_nothing_is_at_hand(cache: Path) -> None:
    assert set(states().values()) == {"to be fetched"}
    assert not cache.exists()


@pytest.mark.usefixtures("empty_bundle")
def test_a_data_set_is_where_the_worst_placed_of_its_files_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path / "data"))
    copy("adult/adult.data", tmp_path / "data")
    assert states()["adult"] == "to be fetched"
    kept = copy("adult/adult.test", cache)
    assert states()["adult"] == "in the cache"
    copy("adult/adult.test", tmp_path / "data")
    assert states()["adult"] == "in LIKEFORLIKE_DATA"
    (tmp_path / "data" / "adult" / "adult.test").unlink()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert states()["adult"] == "damaged"
    assert states()["drug"] == "to be fetched"


def test_a_folder_with_some_of_the_files_leaves_the_rest_to_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    monkeypatch.setenv("LIKEFORLIKE_DATA", str(tmp_path / "data"))
    copy("adult/adult.data", tmp_path / "data")
    assert states()["adult"] == "with the package"
    assert load_adult().frame.height == 46_033
    assert not cache.exists()


def test_origins_are_public_and_of_the_files_they_are_for() -> None:
    for source in SOURCES:
        for file in source.files:
            assert file.path.startswith(f"{source.name}/")
            assert file.origins
            name = file.path.rpartition("/")[2]
            assert all(
                origin.startswith("https://") and origin.endswith(name) for origin in file.origins
            )
