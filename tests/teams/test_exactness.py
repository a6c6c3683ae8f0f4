"""Requests at and beyond every bound: what one person can change is never claimed too small."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from likeforlike.errors import InputError
from likeforlike.teams import Custodian, Ledger, Release, Request, soft_groups
from likeforlike.teams._ledger import AlteredLedger
from likeforlike.teams._noise import Cost
from likeforlike.teams._requests import GRID, CountsRequest, SumsRequest
from tests.support.command import call
from tests.teams.made import custodian_of, names, one_code

GROUPS = np.arange(12) % 2
LEAST, MOST = -(2**63), 2**63 - 1


# Numbers at the door ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint32, np.uint64])
def test_narrow_types_are_measured_as_they_are(kind: type, tmp_path: Path) -> None:
    """The largest feature a type holds: its square is far beyond the narrow ones."""
    top = min(GRID, int(np.iinfo(kind).max))
    features: np.ndarray = np.ones((12, 3), kind)
    features[0] = [top if j == 0 else 0 for j in range(3)]
    release = custodian_of(GROUPS, tmp_path).sums(SumsRequest(names(12), features), epsilon=1.0)
    one = custodian_of(GROUPS, tmp_path, name="b").sums(
        SumsRequest(names(12), np.full((12, 1), GRID)), epsilon=1.0
    )
    assert release.noise["variance"] is not None
    assert one.noise["variance"] is not None
    wanted = one.noise["variance"] * top**2 / GRID**2
    assert release.noise["variance"] == pytest.approx(wanted, rel=1e-12)


def written(folder: Path, columns: dict[str, Any], ending: str, **header: Any) -> Path:
    """A request as somebody writes it by hand."""
    rows = len(next(iter(columns.values())))
    said = {"schema": "likeforlike.request", "schema_version": 1, **header}
    path = folder / f"request.{ending}"
    if ending == "parquet":
        notes = json.dumps({"kind": "request", "header": said})
        frame = pl.DataFrame({"id": list(names(rows)), **columns})
        frame.write_parquet(path, metadata={"likeforlike": notes})
        return path
    plain = {name: np.asarray(column).tolist() for name, column in columns.items()}
    path.write_text(json.dumps({**said, "ids": list(names(rows)), "columns": plain}))
    return path


EXTREME = [
    (LEAST, np.int64),
    (LEAST + 1, np.int64),
    (MOST, np.int64),
    (2**63, np.uint64),
    (2**64 - 1, np.uint64),
    (2**64 - GRID, np.uint64),
    (-(2**31), np.int32),
    (2**32, np.int64),
    (2**31 - 1, np.int32),
    (GRID + 1, np.int64),
    (-GRID - 1, np.int64),
]


@pytest.mark.parametrize(("extreme", "kind"), EXTREME)
@pytest.mark.parametrize("door", ["python", "json", "parquet"])
def test_features_beyond_the_grid_are_refused_whatever_their_type(
    door: str, extreme: int, kind: type, tmp_path: Path
) -> None:
    column: np.ndarray = np.array([extreme, 1, 0], kind)
    header = {"kind": "sums", "grid": GRID, "features": 1}

    def enter() -> Request:
        if door == "python":
            return SumsRequest(names(3), column[:, None])
        return Request.read(written(tmp_path, {"f0": column}, door, **header))

    with pytest.raises(InputError, match=r"norm above 1|2\^63"):
        enter()


def test_what_touches_a_bound_is_taken(tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path)
    edge = np.zeros((12, 2), np.int64)
    edge[0], edge[1] = [GRID, 0], [0, -GRID]
    assert custodian.sums(SumsRequest(names(12), edge), epsilon=1.0).values.shape == (1, 2)
    with pytest.raises(InputError, match="row 0 have a norm above 1"):
        SumsRequest(names(12), edge + np.eye(12, 2, 1, dtype=np.int64))
    assert CountsRequest(("a",), np.array([(1 << 20) - 1]), 1 << 20).n_codes == 1 << 20
    for many in ((1 << 20) + 1, 10**12, 2**63, 2**200, 0, -1, True, 1.0, "1"):
        with pytest.raises(InputError, match="n_codes must"):
            CountsRequest(("a",), np.array([0]), many)  # type: ignore[arg-type]


def test_a_thousand_rows_of_a_person_are_still_held(tmp_path: Path) -> None:
    """The largest square there is: a thousand rows of full length, all the same way."""
    ids = names(1001)
    ledger = Ledger(tmp_path / "a", epsilon=1e6, groups=["f", "m"])
    custodian = Custodian(dict.fromkeys(ids, "f"), ledger, dict.fromkeys(ids, "ann"))
    full = SumsRequest(ids[:1000], np.full((1000, 1), -GRID))
    alone = SumsRequest(ids[:1], np.full((1, 1), GRID))
    wide, narrow = (custodian.sums(asked, epsilon=1.0).noise["variance"] for asked in (full, alone))
    assert wide is not None
    assert narrow is not None
    assert wide == pytest.approx(10**6 * narrow, rel=1e-12)
    with pytest.raises(InputError, match="at most 1000"):
        custodian.sums(SumsRequest(ids, np.full((1001, 1), 1)), epsilon=1.0)


def test_a_request_is_not_changed_by_those_who_made_it() -> None:
    features, codes = np.zeros((2, 1), np.int64), np.zeros(2, np.int64)
    sums, counts = SumsRequest(names(2), features), CountsRequest(names(2), codes, 1)
    features[0], codes[0] = LEAST, 5
    assert not sums.features.any()
    assert not counts.codes.any()
    with pytest.raises(ValueError, match="read-only"):
        sums.features[0] = LEAST


# A fuzzer ---------------------------------------------------------------------------------------


def drawn_request(
    rng: np.random.Generator,
) -> tuple[Callable[[], Request], list[list[int]] | None]:
    """A small random request, and its numbers as Python integers if they are whole."""
    rows, many = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    kind = rng.choice(["int8", "int16", "int32", "int64", "uint64", "float64", "bool", "object"])
    top = [1, 3, 127, 32767, 2**20 - 1, 2**20, 2**20 + 1, 2**31 - 1, 2**32, 2**62, MOST, 2**63]
    pool = [0, 0, 1, -1, *(top[k] for k in rng.integers(0, 12, 2)), LEAST, -(2**31), -(2**20)]
    ordinary = rng.random() < 0.8
    size = int(rng.choice([2, 100, 2**10, 2**20]))
    values = [
        [
            int(rng.integers(-size, size + 1)) if ordinary else pool[int(rng.integers(len(pool)))]
            for _ in range(many)
        ]
        for _ in range(rows)
    ]
    ids = [f"row {k}" for k in rng.permutation(6)[:rows]]
    if rng.random() < 0.1:
        ids[-1] = ids[0] if rng.random() < 0.5 else "stranger"
    try:
        array = np.array(values, kind)
    except OverflowError:
        array = np.array(values, object)
    exact = [[int(value) for value in row] for row in array.tolist()]
    told = exact if array.dtype.kind in "iu" else None
    if rng.random() < 0.7:
        return lambda: SumsRequest(tuple(ids), array), told
    most = int(rng.choice([1, 3, 128, 2**20 + 1, 2**62]))
    return lambda: CountsRequest(tuple(ids), array[:, 0], most), told


def test_a_fuzzer_finds_no_request_whose_reach_is_claimed_too_small(tmp_path: Path) -> None:
    """10,000 requests: the noise is for what one person can change, in Python's own integers."""
    rng = np.random.default_rng(20)
    whose = {f"row {k}": "aabbcd"[k] for k in range(6)}
    asked, unit = SumsRequest(("row 0",), np.array([[GRID]])), 0.0
    answered = refused = 0
    for turn in range(10_000):
        if turn % 20 == 0:  # a short ledger is read quickly
            groups = ["f", "m", "x"][: 2 + turn // 20 % 2]
            by_person = turn // 40 % 2 == 1
            ledger = Ledger(tmp_path / f"{turn}", epsilon=1e6, groups=groups)
            held = {row: groups["abcd".index(person) % 2] for row, person in whose.items()}
            custodian = Custodian(held, ledger, whose if by_person else None)
            unit = unit or float(custodian.sums(asked, epsilon=1.0).noise["variance"] or 0.0)
        make, exact = drawn_request(rng)
        before = ledger.path.stat().st_size
        try:
            request = make()
            noise = custodian.answer(request, epsilon=1.0).noise
        except InputError:
            refused += 1
            assert ledger.path.stat().st_size == before
            continue
        answered += 1
        assert exact is not None
        persons: dict[str, list[int]] = {}
        for each, row in zip(request.ids, exact, strict=True):
            person = whose[each] if by_person else each
            reached = persons.get(person, [0] * len(row))
            added = row if isinstance(request, SumsRequest) else [1] * len(row)
            persons[person] = [a + b for a, b in zip(reached, added, strict=True)]
        if isinstance(request, SumsRequest):
            true = max(sum(value * value for value in total) for total in persons.values())
            wanted = Fraction(true * (len(groups) - 1), GRID**2)
            assert noise["variance"] == pytest.approx(unit * float(wanted), rel=1e-12)
        else:
            most = max(total[0] for total in persons.values())
            assert noise["scale"] == str(most * (len(groups) - 1))
    assert answered > 2000
    assert refused > 2000


# What cannot be answered ------------------------------------------------------------------------


def people(folder: Path, epsilon: str = "1") -> None:
    """A table of 40 people and a ledger for it, made by the command."""
    rows = "".join(f"row {k},{'fm'[k % 2]}\n" for k in range(40))
    (folder / "people.csv").write_text("id,sex\n" + rows)
    init = ["init", "people.csv", "--id", "id", "--sensitive", "sex", "--ledger", "a.ledger"]
    made = call(
        "custodian", *init, "--epsilon", epsilon, "--group", "f", "--group", "m", cwd=folder
    )
    assert made.returncode == 0, made.stderr


ZEROS, FORTY = [0] * 40, {"code": [0] * 40}
HOPELESS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "zero features": ({"f0": ZEROS}, {"kind": "sums", "features": 1}, "0.1", "add up to 0"),
    "10^12 codes": (FORTY, {"kind": "counts", "n_codes": 10**12}, "0.1", "n_codes must lie"),
    "3 10^7 codes": (FORTY, {"kind": "counts", "n_codes": 3 * 10**7}, "0.1", "n_codes must lie"),
    "2^63 codes": (FORTY, {"kind": "counts", "n_codes": 2**63}, "0.1", "n_codes must lie"),
    "2^200 codes": (FORTY, {"kind": "counts", "n_codes": 2**200}, "0.1", "n_codes must lie"),
    "10^9 features": ({"f0": ZEROS}, {"kind": "sums", "features": 10**9}, "0.1", "features must"),
    "two features": ({"f0": ZEROS}, {"kind": "sums", "features": 2}, "0.1", "1 column.s. and says"),
    "unequal lengths": (
        {"f0": [1] * 40, "f1": [1]},
        {"kind": "sums", "features": 2},
        "0.1",
        "f1 must have a number for each of 40",
    ),
    "epsilon 1e-19": (FORTY, {"kind": "counts", "n_codes": 1}, "1e-19", "cannot be used"),
    "epsilon 1e-30": (FORTY, {"kind": "counts", "n_codes": 1}, "1e-30", "cannot be used"),
    "epsilon 5e-324": (FORTY, {"kind": "counts", "n_codes": 1}, "5e-324", "cannot be used"),
    "sums, epsilon 1e-19": ({"f0": [1] * 40}, {"kind": "sums", "features": 1}, "1e-19", "cannot"),
    "epsilon 1e308": (FORTY, {"kind": "counts", "n_codes": 1}, "1e308", "cannot be used"),
}


@pytest.mark.parametrize("case", HOPELESS)
def test_what_cannot_be_answered_is_refused_before_it_is_booked(case: str, tmp_path: Path) -> None:
    columns, header, epsilon, words = HOPELESS[case]
    people(tmp_path)
    said = {"schema": "likeforlike.request", "schema_version": 1, "grid": GRID, **header}
    content = json.dumps({**said, "ids": list(names(40)), "columns": columns})
    (tmp_path / "r.json").write_text(content)
    before = (tmp_path / "a.ledger").read_bytes()
    ask = ["custodian", "answer", "r.json", "--ledger", "a.ledger", "--out", "o.json"]
    refused = call(*ask, "--epsilon", epsilon, cwd=tmp_path)
    assert refused.returncode == 2
    assert re.search(words, " ".join(refused.stderr.split()))
    assert (tmp_path / "a.ledger").read_bytes() == before


def test_rows_of_a_person_that_cancel_are_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a", epsilon=1.0, groups=["f", "m"])
    custodian = Custodian({1: "f", 2: "f"}, ledger, {1: "ann", 2: "ann"})
    with pytest.raises(InputError, match="add up to 0 for every person"):
        custodian.sums(SumsRequest(("1", "2"), np.array([[5], [-5]])), epsilon=0.5)
    assert ledger.left == 1.0


def test_deeply_nested_notes_of_a_parquet_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "request.parquet"
    pl.DataFrame({"id": ["a"]}).write_parquet(path, metadata={"likeforlike": "[" * 100_000})
    with pytest.raises(InputError, match="does not hold request"):
        Request.read(path)


@pytest.mark.parametrize("broken", [1.5, True, None, "x", [1], {"a": 1}, 10**30])
def test_columns_that_are_not_whole_numbers_are_refused(broken: object, tmp_path: Path) -> None:
    header = {"schema": "likeforlike.request", "schema_version": 1, "kind": "counts", "n_codes": 2}
    columns = {"code": [0, broken]}
    (tmp_path / "r.json").write_text(json.dumps({**header, "ids": ["a", "b"], "columns": columns}))
    with pytest.raises(InputError, match="whole numbers"):
        Request.read(tmp_path / "r.json")


# Groups -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [("f", "m"), ("f", "m", "nonbinary")])
def test_releases_name_the_declared_groups_whoever_has_them(
    groups: tuple[str, ...], tmp_path: Path
) -> None:
    """The same names and shapes whatever A is, also if everybody has one of the groups."""
    tables = [["f", "m", group] for group in groups] + [[group] * 3 for group in groups]
    seen = set()
    for k, labels in enumerate(tables):
        ledger = Ledger(tmp_path / f"{k}", epsilon=9.0, groups=groups)
        custodian = Custodian(dict(zip("abc", labels, strict=True)), ledger)
        asked = (CountsRequest(("a", "b"), np.zeros(2, int), 1), each_of(("a", "b")))
        told = [custodian.answer(request, epsilon=1.0) for request in asked]
        told.append(custodian.randomize(["a", "b"], epsilon=1.0))
        seen.add(
            tuple((r.kind, r.groups, r.values.shape, str(r.noise), r.rows_per_person) for r in told)
        )
    assert len(seen) == 1
    assert next(iter(seen))[0][1] == groups


def each_of(ids: tuple[str, ...]) -> SumsRequest:
    return SumsRequest(ids, np.eye(len(ids), dtype=np.int64) * GRID)


def test_groups_are_declared_when_a_ledger_is_made(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,sex\n1,f\n2,f\n3,rare one\n")
    init = ["custodian", "init", "people.csv", "--id", "id", "--sensitive", "sex", "--ledger", "a"]
    init += ["--epsilon", "1"]
    bare = call(*init, cwd=tmp_path)
    assert bare.returncode == 2
    assert "--group f --group 'rare one'" in " ".join(bare.stderr.split())
    lacking = call(*init, "--group", "f", "--group", "m", cwd=tmp_path)
    assert lacking.returncode == 2
    assert "holds ['rare one']" in " ".join(lacking.stderr.split())
    assert call(*init, "--group", "f", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "a").exists()
    declared = ["--group", "f", "--group", "m", "--group", "rare one"]
    assert "3 groups (f, m, rare one)" in call(*init, *declared, cwd=tmp_path).stdout
    assert Ledger(tmp_path / "a").groups == ("f", "m", "rare one")
    # People with two groups are found before there is a ledger, too.
    (tmp_path / "twice.csv").write_text("id,sex,who\n1,f,ann\n2,m,ann\n")
    init[2], init[8] = "twice.csv", "b"
    twice = call(*init, "--person", "who", "--group", "f", "--group", "m", cwd=tmp_path)
    assert "rows with different groups" in " ".join(twice.stderr.split())
    assert not (tmp_path / "b").exists()


# Ledgers, releases and receipts that are not what they should be --------------------------------


def test_a_ledger_that_was_emptied_or_exchanged_is_noticed(tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    path, other = custodian.ledger.path, custodian_of(GROUPS, tmp_path, 1.0, "other").ledger.path
    for content in (b"", other.read_bytes()):
        path.write_bytes(content)
        for use in (
            lambda: custodian.ledger.left,
            lambda: custodian.counts(one_code(12), epsilon=0.1),
            lambda: custodian.randomize(list(names(12)), epsilon=0.1),
        ):
            with pytest.raises(AlteredLedger, match="emptied, or another one"):
                use()
        assert path.read_bytes() == content


def test_what_keeps_nothing_is_no_ledger(tmp_path: Path) -> None:
    paths = [tmp_path, tmp_path / "a\0b"]
    if os.name == "posix":
        os.mkfifo(tmp_path / "pipe")
        paths += [tmp_path / "pipe", Path("/dev/null")]
    for path in paths:
        with pytest.raises(InputError, match=r"is not a file|cannot be opened"):
            Ledger(path, epsilon=1.0, groups=["f", "m"])
    said = call("custodian", "status", "--ledger", paths[-1], cwd=tmp_path)
    assert said.returncode == 2


def chained(entries: list[dict[str, Any]]) -> str:
    """Lines whose hashes fit: what somebody can write who knows how ledgers are made."""
    before, lines = "", []
    for number, entry in enumerate(entries):
        said = {k: v for k, v in entry.items() if k != "hash"} | {"entry": number, "before": before}
        before = sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        lines.append(json.dumps({**said, "hash": before}, sort_keys=True) + "\n")
    return "".join(lines)


FORGED: list[tuple[int, dict[str, Any]]] = [
    (0, {"epsilon": "1/0"}),
    (0, {"epsilon": "0"}),
    (0, {"epsilon": "-1"}),
    (0, {"epsilon": 1}),
    (0, {"epsilon": "1e999999999"}),
    (0, {"epsilon": "9" * 400}),
    (0, {"epsilon": "9" * 5000}),
    (0, {"delta": "x"}),
    (0, {"delta": 0.0}),
    (0, {"delta": float("nan")}),
    (0, {"about": None}),
    (0, {"groups": None}),
    (0, {"groups": ["f"]}),
    (0, {"groups": ["f", 1]}),
    (0, {"kind": None}),
    (1, {"epsilon": "1/0"}),
    (1, {"epsilon": "-97"}),
    (1, {"epsilon": "-97", "rho": "98"}),
    (1, {"rho": "-1/2"}),
    (1, {"rho": None}),
    (1, {"epsilon": "0", "rho": "0"}),
    (1, {"epsilon": ["1"]}),
    (1, {"kind": None}),
    (1, {"kind": "opening"}),
    (1, {"kind": ["booking"]}),
    (1, {"what": None}),
    (1, {"at": 5}),
    (1, {"request": None}),
    (2, {"request": 7}),
    (2, {"kind": "gift"}),
]


@pytest.mark.parametrize(("line", "change"), FORGED)
def test_forged_lines_with_fresh_hashes_are_noticed(
    line: int, change: dict[str, Any], tmp_path: Path
) -> None:
    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    custodian.counts(one_code(12), epsilon=0.5)
    path = custodian.ledger.path
    entries = [json.loads(each) for each in path.read_text().splitlines()]
    path.write_text(chained(entries))
    assert Ledger(path).left == 0.5
    for remove in (False, True):
        entries[line] |= change
        for name, value in change.items():
            if remove and value is None:
                del entries[line][name]
        path.write_text(chained(entries))
        with pytest.raises(InputError, match=r"not what was written there|is not a ledger"):
            Ledger(path)
        assert call("custodian", "status", "--ledger", path).returncode == 2


@pytest.mark.parametrize(
    "value", [None, 5, "x", [[0.5]], [[10**30]], [[1, 2]], [1], [], {}, [[True]], [[1], [1, 2]]]
)
def test_a_forged_answer_is_not_passed_on(value: object, tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    custodian.counts(one_code(12), epsilon=0.5)
    custodian.randomize(list(names(12)), epsilon=0.25)
    path = custodian.ledger.path
    entries = [json.loads(each) for each in path.read_text().splitlines()]
    for entry in entries:
        if entry["kind"] == "answer":
            entry["value"] = value
    path.write_text(chained(entries))
    again = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    with pytest.raises(AlteredLedger, match="does not fit the request"):
        again.counts(one_code(12), epsilon=0.5)
    with pytest.raises(AlteredLedger, match="does not fit the request"):
        again.randomize(list(names(12)), epsilon=0.25)


BROKEN: dict[str, list[Any]] = {
    "noise scale": ["x", "1/0", [], 10**400, "0", "-1", "1e400", None, "1" + "0" * 400, "9" * 30],
    "noise variance": ["<b>", -1, 10**400, None, [], True, 1e300],
    "noise law": ["normal", None, [], 10**400],
    "epsilon": [10**400, -1, True, None, []],
    "delta": [10**400, "0", True],
    "receipt entry": ["a", 1.5, -1, True, None, []],
    "receipt hash": [5, None, []],
    "groups": [[], ["f"], ["f", "f"], ["f", None], "fm", [["f"], None]],
    "values": [[], [[]], [1], [[True]], [[10**30]], [[[1]]], [[None]]],
    "rows_per_person": [0, -1, 1.5, True, 10**400],
    "kind": [[], None, 1],
    "request": [[], None, 1],
}
DAMAGED = [(name, value) for name, values in BROKEN.items() for value in values]


@pytest.mark.parametrize(("name", "value"), DAMAGED, ids=lambda each: str(each)[:20])
def test_a_damaged_release_is_refused_by_both_doors(
    name: str, value: object, tmp_path: Path
) -> None:
    path = tmp_path / "release.json"
    release = custodian_of(GROUPS, tmp_path).counts(one_code(12), epsilon=1.0)
    release.write(path)
    known = json.loads(path.read_text())
    whole, _, part = name.partition(" ")
    known[whole] = {**known[whole], part: value} if part else value
    path.write_text(json.dumps(known))
    with pytest.raises(InputError):
        Release.read(path)
    status = ["custodian", "status", "--ledger", "a.ledger", "--receipt", "release.json"]
    assert call(*status, cwd=tmp_path).returncode == 2
    if name != "request":
        entries = {k: v for k, v in known.items() if k not in ("schema", "schema_version")}
        with pytest.raises(InputError):
            Release(**entries)


@pytest.mark.parametrize("receipt", [{}, None, {"entry": "a", "hash": ""}, {"entry": 1.5}, []])
def test_a_damaged_receipt_is_refused(receipt: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="receipt"):
        custodian_of(GROUPS, tmp_path).ledger.holds(receipt)


def test_a_file_that_tells_nothing_makes_no_soft_groups(tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path)
    path = tmp_path / "release.json"
    custodian.randomize(list(names(12)), epsilon=1.0).write(path)
    known = json.loads(path.read_text())
    known["noise"]["scale"] = "0.5"
    path.write_text(json.dumps(known))
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(InputError, match="a group for every row"):
        soft_groups.from_file(X, None, list(names(12)), Release.read(path))


# Others, meanwhile ------------------------------------------------------------------------------


@pytest.mark.process
def test_the_ledger_is_free_while_noise_is_drawn(tmp_path: Path) -> None:
    """Another process asks for the status in the middle of an answer."""
    ledger = Ledger(tmp_path / "a", epsilon=1.0, groups=["f", "m"])
    status = [sys.executable, "-m", "likeforlike", "custodian", "status", "--ledger", "a"]

    def draw() -> list[int]:
        told = subprocess.run(
            status, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
        )
        return ["Spent 0.5 of epsilon = 1 " in told.stdout]

    value, _ = ledger.answer("request", "counts", Cost(epsilon=Fraction(1, 2)), draw)
    assert value == [True]


def test_who_asks_the_same_meanwhile_gets_the_same(tmp_path: Path) -> None:
    """Both pay, and one answer is told: two would tell twice as much."""
    ledger, cost = Ledger(tmp_path / "a", epsilon=1.0, groups=["f", "m"]), Cost(Fraction(1, 4))
    inner = []

    def draw() -> int:
        inner.append(Ledger(tmp_path / "a").answer("request", "counts", cost, lambda: 7))
        return 8

    outer = ledger.answer("request", "counts", cost, draw)
    assert outer == (7, inner[0][1])
    assert ledger.left == 0.5
    kinds = [entry["kind"] for entry in ledger.entries()]
    assert kinds == ["opening", "booking", "booking", "answer"]


FULL = """
import resource, sys
import numpy as np
from likeforlike.teams import Custodian, Ledger
from likeforlike.teams._requests import CountsRequest
ledger = Ledger(sys.argv[1])
room = ledger.path.stat().st_size + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
custodian = Custodian({"a": "f", "b": "m"}, ledger)
try:
    custodian.counts(CountsRequest(("a", "b"), np.array([0, 1]), 4000), epsilon=0.5)
except ValueError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("room", "words", "left"),
    [
        (50, "nothing was booked and nothing answered", 1.0),
        (2000, "the budget for it was spent", 0.5),
    ],
)
def test_a_full_disk_says_what_was_spent(
    room: int, words: str, left: float, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "a", epsilon=1.0, groups=["f", "m"])
    if os.name != "posix":  # limits of files are set so there only
        return
    told = subprocess.run(
        [sys.executable, "-c", FULL, str(ledger.path), str(room)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert told.stdout.startswith("InputError")
    assert words in told.stdout
    assert ledger.left == left


def test_an_answer_that_cannot_be_written_is_not_lost(tmp_path: Path) -> None:
    people(tmp_path)
    request = CountsRequest(names(40), np.zeros(40, int), 1)
    request.write(tmp_path / "r.json")
    ask = ["custodian", "answer", "r.json", "--ledger", "a.ledger", "--epsilon", "0.5", "--out"]
    if sys.platform != "linux":  # which has a disk that is always full
        return
    full = call(*ask, "/dev/full", cwd=tmp_path)
    assert full.returncode == 2
    assert "kept in the ledger" in " ".join(full.stderr.split())
    again = call(*ask, "o.json", cwd=tmp_path)
    assert "costs nothing" in " ".join(again.stdout.split())
