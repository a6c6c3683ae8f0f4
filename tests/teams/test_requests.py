"""Requests and releases: what is refused, and that files say what was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likeforlike.errors import InputError
from likeforlike.teams import Custodian, Ledger, Release, Request, randomize
from likeforlike.teams._requests import GRID, CountsRequest, SumsRequest
from tests.support import schema
from tests.teams.made import custodian_of, each_its_own_feature, names, one_code

GROUPS = np.arange(12) % 2


@pytest.mark.parametrize("ending", ["json", "parquet"])
@pytest.mark.parametrize(
    "request_",
    [
        CountsRequest(names(5), np.array([0, 1, 1, 2, 0]), 4),
        SumsRequest(names(3), np.array([[1, -5], [GRID, 0], [0, -GRID]])),
    ],
    ids=["counts", "sums"],
)
def test_a_request_goes_through_a_file(request_: Request, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"request.{ending}"
    request_.write(path)
    if ending == "json":
        schema.check_file(path)
    again = Request.read(path)
    assert type(again) is type(request_)
    assert again.ids == request_.ids
    assert again.digest == request_.digest
    for name, column in request_._columns().items():
        assert (again._columns()[name] == column).all()


def test_a_digest_is_of_everything_that_is_asked() -> None:
    asked = CountsRequest(names(4), np.array([0, 1, 1, 0]), 2)
    others = [
        CountsRequest(names(4), np.array([0, 1, 1, 1]), 2),
        CountsRequest(names(4), np.array([0, 1, 1, 0]), 3),
        CountsRequest(names(4)[::-1], np.array([0, 1, 1, 0]), 2),
        CountsRequest(("row 0", "row 1", "row 2", "row 33"), np.array([0, 1, 1, 0]), 2),
    ]
    assert len({asked.digest, *(other.digest for other in others)}) == 5


@pytest.mark.parametrize("kind", ["counts", "sums", "groups"])
@pytest.mark.parametrize("groups", [2, 3])
def test_a_release_goes_through_a_file(kind: str, groups: int, tmp_path: Path) -> None:
    custodian = custodian_of(np.arange(12) % groups, tmp_path)
    release = {
        "counts": lambda: custodian.counts(one_code(12, 1, 4), epsilon=0.5),
        "sums": lambda: custodian.sums(each_its_own_feature(12), epsilon=0.5),
        "groups": lambda: custodian.randomize(list(names(12)), epsilon=0.5),
    }[kind]()
    release.write(tmp_path / "release.json")
    schema.check_file(tmp_path / "release.json")
    again = Release.read(tmp_path / "release.json")
    assert (again.values == release.values).all()
    rows = groups if groups > 2 else 1
    shape = {"counts": (rows, 4), "sums": (rows, 12), "groups": (12,)}[kind]
    assert again.values.shape == release.values.shape == shape
    for name in ("kind", "request", "groups", "epsilon", "delta", "noise", "receipt"):
        assert getattr(again, name) == getattr(release, name)
    assert custodian.ledger.holds(again.receipt)


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_noise_grows_with_what_one_person_can_change(groups: int, tmp_path: Path) -> None:
    """Two groups: one released count moves. More: one falls and another rises."""
    custodian = custodian_of(np.arange(30) % groups, tmp_path)
    twice = 1 if groups == 2 else 2
    counts = custodian.counts(one_code(30), epsilon=0.5)
    assert counts.noise["scale"] == str(2 * twice)
    asked = SumsRequest(names(30), np.full((30, 1), GRID // 2))
    sums = custodian.sums(asked, epsilon=1.0).noise["variance"]
    two = custodian_of(np.arange(30) % 2, tmp_path, name="two").sums(asked, epsilon=1.0)
    assert sums is not None
    assert two.noise["variance"] is not None
    assert sums == pytest.approx(twice * two.noise["variance"])


def test_answers_are_right_up_to_their_noise(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    groups, codes = rng.integers(0, 3, 5000), rng.integers(0, 4, 5000)
    custodian = custodian_of(groups, tmp_path)
    counts = custodian.counts(CountsRequest(names(5000), codes, 4), epsilon=1.0)
    true = np.array([np.bincount(codes[groups == g], minlength=4) for g in range(3)])
    assert np.abs(counts.values - true).max() < 2 * 30  # e^-30 of the time
    features = rng.normal(size=(5000, 3))
    features /= 1.01 * np.linalg.norm(features, axis=1, keepdims=True)
    whole = np.trunc(features * GRID).astype(np.int64)
    sums = custodian.sums(SumsRequest(names(5000), whole), epsilon=1.0)
    exact = np.array([whole[groups == g].sum(axis=0) for g in range(3)])
    assert sums.noise["variance"] is not None
    off = np.abs(sums.values - exact) / GRID
    assert off.max() < 7 * np.sqrt(sums.noise["variance"])
    assert off.max() > 0.01 * np.sqrt(sums.noise["variance"])


REFUSED: dict[str, tuple[Callable[[Custodian], Any], str]] = {
    "a row twice": (
        lambda _: CountsRequest(("a", "b", "a"), np.zeros(3, np.int64), 1),
        "'a' twice, again at row 2",
    ),
    "nobody": (lambda _: CountsRequest((), np.zeros(0, np.int64), 1), "ids is empty"),
    "a code too high": (
        lambda _: CountsRequest(("a", "b"), np.array([0, 2]), 2),
        "between 0 and 1",
    ),
    "too few codes": (lambda _: CountsRequest(("a", "b"), np.array([0]), 2), "ids have 2"),
    "a long row": (
        lambda _: SumsRequest(("a", "b"), np.array([[1, 0], [GRID, 1]])),
        "row 1 have a norm above 1",
    ),
    "a very long row": (
        lambda _: SumsRequest(("a",), np.array([[1 << 62, 1 << 62]])),
        "row 0 have a norm above 1",
    ),
    "a stranger": (
        lambda held: held.counts(CountsRequest(("row 0", "x"), np.zeros(2, int), 1), epsilon=1.0),
        "no row 'x'",
    ),
    "twice in a file": (lambda held: held.randomize(["row 1", "row 1"], epsilon=1.0), "twice"),
    "no budget": (lambda held: held.counts(one_code(12), epsilon=0.0), "epsilon must be"),
    "another kind": (
        lambda held: held.answer("counts", epsilon=1.0),  # type: ignore[arg-type]
        "request must be",
    ),
    "a group nobody declared": (
        lambda held: Custodian({1: "group 0", 2: "f"}, held.ledger),
        r"holds \['f'\], and the groups declared",
    ),
    "one group of a file": (
        lambda _: randomize(["f", "f"], labels=["f"], epsilon=1.0),
        "two or more",
    ),
    "a group of a file that nobody named": (
        lambda _: randomize(["f", "x"], labels=["f", "m"], epsilon=1.0),
        r"\['x'\], which labels does not name",
    ),
    "a missing group": (lambda held: Custodian({1: "f", 2: None}, held.ledger), "missing at row 1"),
    "ids that read the same": (
        lambda held: Custodian({1: "group 0", "1": "group 1"}, held.ledger),
        "twice",
    ),
    "whose row": (lambda held: Custodian({1: "f", 2: "m"}, held.ledger, {1: "x"}), "whose row '2'"),
    "two groups of a person": (
        lambda held: Custodian({1: "group 0", 2: "group 1"}, held.ledger, {1: "x", 2: "x"}),
        "rows with different groups",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_and_nothing_booked(case: str, tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path)
    before = custodian.ledger.path.read_bytes()
    ask, words = REFUSED[case]
    with pytest.raises(InputError, match=words):
        ask(custodian)
    assert custodian.ledger.path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "likeforlike.audit"}, "not a release"),
        ({"schema_version": 2}, "reads 1"),
        ({"kind": "gradients"}, "kind 'gradients'"),
        ({"values": [0.5]}, "whole numbers"),
        ({"values": [[1], [1, 2]]}, "equal length"),
        ({"noise": {}}, "what noise"),
        ({"receipt": {}}, "receipt"),
        ({"epsilon": "much"}, "'epsilon'"),
        ({"delta": -1}, "'delta'"),
    ],
)
def test_a_damaged_release_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "release.json"
    custodian_of(GROUPS, tmp_path).counts(one_code(12), epsilon=1.0).write(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=words):
        Release.read(path)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "\udcff"])
def test_what_is_no_request_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"request\.json"):
        Request.read(path)
    with pytest.raises(InputError, match="cannot be read"):
        Request.read(tmp_path / "none.json")


def test_columns_make_a_custodian(tmp_path: Path) -> None:
    import polars as pl

    table = pl.DataFrame({"id": [1, 2, 3], "sex": ["f", "m", "m"], "who": ["a", "b", "b"]})
    ledger = Ledger(tmp_path / "a", epsilon=9.0, groups=["f", "m"])
    custodian = Custodian.of_columns(table["id"], table["sex"], ledger, table["who"])
    release = custodian.counts(CountsRequest(("2", "3"), np.zeros(2, np.int64), 1), epsilon=1.0)
    assert release.rows_per_person == 2
