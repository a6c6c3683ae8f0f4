"""Both teams on the command line, each in a folder of its own, with files that go between them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from likeforlike.errors import InputError
from likeforlike.teams import Custodian, Ledger, Release, Request, soft_groups
from tests.support import schema
from tests.support.command import Called, call

ROWS = 3000
GROUPS = ("quartz", "basalt")


class Teams(NamedTuple):
    """Folders of both teams, and everything that modelers saw on their terminal."""

    modelers: Path
    custodian: Path
    seen: list[Called]


PLAN = ["scores.csv", "--score", "score", "--legitimate", "level", "--id", "id"]
BARE = ["custodian", "init", "people.csv", "--id", "id", "--sensitive", "rock"]
INIT = [*BARE, "--group", "basalt", "--group", "quartz"]
ANSWER = ["custodian", "answer", "request.json", "--ledger", "a.ledger", "--epsilon", "0.5"]


def command(arguments: list[str], folder: Path) -> Called:
    return call(*arguments, cwd=folder)


def person(k: int) -> str:
    return f"person-{k:05d}"


@pytest.fixture(scope="module")
def teams(tmp_path_factory: pytest.TempPathFactory) -> Teams:
    """A plan, an answer and an audit, from one folder to the other and back."""
    rng = np.random.default_rng(0)
    modelers, custodian = (tmp_path_factory.mktemp(name) for name in ("modelers", "custodian"))
    ids = [person(k) for k in range(ROWS)]
    group, level = rng.integers(0, 2, ROWS), rng.integers(0, 3, ROWS)
    score = rng.normal(size=ROWS) + 0.2 * group
    pl.DataFrame({"id": ids, "level": level, "score": score}).write_csv(modelers / "scores.csv")
    held = pl.DataFrame({"id": ids, "rock": [GROUPS[g] for g in group]})
    held.sample(fraction=1.0, shuffle=True, seed=1).write_csv(custodian / "people.csv")
    seen = [command(["audit-plan", *PLAN, "--out", "request.json"], modelers)]
    opened = command([*INIT, "--ledger", "a.ledger", "--epsilon", "1"], custodian)
    assert opened.returncode == 0, opened.stderr
    shutil.copy(modelers / "request.json", custodian)
    answered = command([*ANSWER, "--out", "release.json"], custodian)
    assert answered.returncode == 0, answered.stderr
    assert "left 0.5" in answered.stdout
    shutil.copy(custodian / "release.json", modelers)
    read = [
        "audit-release",
        PLAN[0],
        "release.json",
        *PLAN[1:],
        "--sensitive",
        "rock",
        "--permutations",
        "99",
    ]
    seen.append(command([*read, "--report", "page.html", "--json", "audit.json"], modelers))
    assert [each.returncode for each in seen] == [0, 0], seen
    return Teams(modelers, custodian, seen)


def test_the_audit_is_one(teams: Teams) -> None:
    document = json.loads((teams.modelers / "audit.json").read_text("utf-8"))
    schema.check(document)
    assert document["roles"]["sensitive"] == "rock"
    assert "epsilon = 0.5" in (teams.modelers / "page.html").read_text("utf-8")
    assert "with the same level" in teams.seen[1].stdout


def test_files_are_as_their_schemas_say(teams: Teams) -> None:
    for name in ("request.json", "release.json"):
        document = schema.check_file(teams.modelers / name)
        # It can fail: an entry that is lacking, one that nobody knows, and one of another type.
        for broken in (
            {key: document[key] for key in document if key != "kind"},
            {**document, "sex": "f"},
            {**document, "schema_version": "1"},
        ):
            with pytest.raises(AssertionError):
                schema.check(broken, schema.SCHEMAS[name.removesuffix(".json")])


def test_a_file_of_randomized_groups_is_written_and_booked_once(
    teams: Teams, tmp_path: Path
) -> None:
    for folder, name in ((teams.modelers, "scores.csv"), (teams.custodian, "people.csv")):
        shutil.copy(folder / name, tmp_path)
    assert command([*INIT, "--ledger", "b.ledger", "--epsilon", "2"], tmp_path).returncode == 0
    ask = ["custodian", "randomize", "scores.csv", "--ledger", "b.ledger", "--epsilon", "1.5"]
    written = command([*ask, "--out", "file.json"], tmp_path)
    assert "true one with probability 0.818" in " ".join(written.stdout.split())
    assert "left 0.5" in " ".join(written.stdout.split())
    again = command([*ask, "--out", "again.json"], tmp_path)
    assert "costs nothing" in " ".join(again.stdout.split())
    assert (tmp_path / "file.json").read_text() == (tmp_path / "again.json").read_text()
    assert schema.check_file(tmp_path / "file.json")["kind"] == "groups"
    file, table = Release.read(tmp_path / "file.json"), pl.read_csv(tmp_path / "scores.csv")
    people = pl.read_csv(tmp_path / "people.csv")
    true = table.join(people, on="id", maintain_order="left")["rock"].to_numpy()
    kept = np.mean(np.array(file.groups)[file.values] == true)
    assert abs(kept - 0.818) < 4 * np.sqrt(0.818 * 0.182 / ROWS)
    soft = soft_groups.from_file(table.select("score").to_numpy(), None, table["id"], file)
    assert soft.probabilities.shape == (ROWS, 2)
    refused = command([*ask[:-1], "0.6", "--out", "more.json"], tmp_path)
    assert refused.returncode == 2
    lacking = command([*ask, "--id", "nobody", "--out", "more.json"], tmp_path)
    assert "no column 'nobody'" in " ".join(lacking.stderr.split())
    assert not (tmp_path / "more.json").exists()


def test_no_file_of_the_modelers_has_a_group_of_a_row(teams: Teams) -> None:
    """Whatever names rows names no group, and whatever names groups names no row."""
    texts = {path.name: path.read_text("utf-8") for path in teams.modelers.iterdir()}
    texts |= {f"terminal {k}": said.stdout + said.stderr for k, said in enumerate(teams.seen)}
    assert {"scores.csv", "request.json", "release.json", "page.html", "audit.json"} <= set(texts)
    for name, text in texts.items():
        groups, rows = any(group in text for group in GROUPS), "person-" in text
        assert not (groups and rows), name
        # Nor is there a list with an entry for every row beside those that modelers wrote.
        if name.endswith(".json") and name != "request.json":
            assert longest_list(json.loads(text)) < ROWS / 4
    # The test can fail: the custodian's own table is what must not be there.
    held = (teams.custodian / "people.csv").read_text("utf-8")
    assert any(group in held for group in GROUPS)
    assert "person-" in held


def longest_list(value: object) -> int:
    if isinstance(value, dict):
        return max(map(longest_list, value.values()), default=0)
    if isinstance(value, list):
        return max(len(value), *map(longest_list, value)) if value else 0
    return 0


def test_nothing_the_custodian_says_names_a_group_of_a_row(teams: Teams, tmp_path: Path) -> None:
    """Refusals, too, may be passed on to modelers."""
    held = {person(0): GROUPS[0], person(1): GROUPS[1], person(2): GROUPS[1]}
    custodian = Custodian(held, Ledger(tmp_path / "a", epsilon=0.1, groups=GROUPS))
    asked = Request.read(teams.modelers / "request.json")
    attempts: list[Callable[[], object]] = [
        lambda: custodian.answer(asked, epsilon=0.05),
        lambda: custodian.randomize([person(0), person(1)], epsilon=5.0),
        lambda: Custodian(held, custodian.ledger, dict.fromkeys(held, "one person")),
        lambda: Custodian({**held, person(3): None}, custodian.ledger),
    ]
    for attempt in attempts:
        with pytest.raises(InputError) as refused:
            attempt()
        assert not any(group in str(refused.value) for group in GROUPS)


def test_a_request_is_answered_once_and_the_budget_holds(teams: Teams) -> None:
    again = command([*ANSWER, "--out", "again.json"], teams.custodian)
    assert "costs nothing" in " ".join(again.stdout.split())
    first, second = (
        (teams.custodian / name).read_text() for name in ("release.json", "again.json")
    )
    assert first == second
    more = [*ANSWER[:-1], "0.6", "--out", "more.json"]
    refused = command(more, teams.custodian)
    assert refused.returncode == 2
    assert "0.5 is left" in " ".join(refused.stderr.split())
    assert not (teams.custodian / "more.json").exists()


def test_status_knows_receipts(teams: Teams, tmp_path: Path) -> None:
    status = ["custodian", "status", "--ledger", "a.ledger", "--receipt", "release.json"]
    known = command(status, teams.custodian)
    assert known.returncode == 0
    assert "left 0.5" in known.stdout
    Ledger(tmp_path / "a.ledger", epsilon=1.0, groups=GROUPS)
    shutil.copy(teams.custodian / "release.json", tmp_path)
    unknown = command(status, tmp_path)
    assert unknown.returncode == 1
    assert "older copy" in unknown.stdout


def test_a_table_that_was_changed_is_refused(teams: Teams, tmp_path: Path) -> None:
    for name in ("people.csv", "a.ledger", "request.json"):
        shutil.copy(teams.custodian / name, tmp_path)
    lines = (tmp_path / "people.csv").read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if GROUPS[0] in line)
    lines[at] = lines[at].replace(*GROUPS)
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    before = (tmp_path / "a.ledger").read_bytes()
    moved = command([*ANSWER, "--table", "people.csv", "--out", "release.json"], tmp_path)
    assert moved.returncode == 2
    assert "not the table" in " ".join(moved.stderr.split())
    assert (tmp_path / "a.ledger").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["audit-plan", *PLAN[:-2], "--out", "r.json"], "--id must name"),
        (["audit-plan", *PLAN, "--out", "r.txt"], "must end in"),
        (["audit-plan", *PLAN, "--out", "r.json", "--weight", "level"], "No such option: --weight"),
        (["audit-release", PLAN[0], "none.json", *PLAN[1:]], "cannot be read"),
        (["audit-plan", *PLAN[:-1], "nobody", "--out", "r.json"], "no column 'nobody'"),
        (["audit", *PLAN[:-2]], "--sensitive must name"),
    ],
)
def test_what_is_missing_is_said(teams: Teams, arguments: list[str], words: str) -> None:
    said = command(arguments, teams.modelers)
    assert said.returncode == 2
    assert words in " ".join(said.stderr.split())
    assert not list(teams.modelers.glob("r.*"))


def test_rows_without_a_value_are_refused(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("id,level,score\n1,a,0.5\n2,NA,0.4\n3,a,x\n")
    said = command(["audit-plan", *PLAN, "--out", "r.json"], tmp_path)
    assert "'score' must hold numbers, but 1 of its values are none: 'x'" in said.stderr
    (tmp_path / "people.csv").write_text("id,rock\n1,a\n1,b\n")
    said = command([*INIT, "--ledger", "l", "--epsilon", "1"], tmp_path)
    assert said.returncode == 2
    assert not (tmp_path / "l").exists()
