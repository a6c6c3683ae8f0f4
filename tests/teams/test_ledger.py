"""The ledger: budget, replay, crashes, races and changed history."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from likeforlike.errors import InputError
from likeforlike.teams import Custodian, Ledger, OverBudget
from likeforlike.teams._ledger import AlteredLedger
from tests.teams.made import custodian_of, names, one_code

GROUPS = np.arange(100) % 2
DECLARED = ["group 0", "group 1"]


def test_a_request_over_budget_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    custodian.counts(one_code(100), epsilon=0.9)
    before = custodian.ledger.path.read_bytes()
    with pytest.raises(OverBudget, match=r"total to epsilon = 1\.1.*0\.1 is left"):
        custodian.counts(one_code(100, 1, 2), epsilon=0.2)
    assert custodian.ledger.path.read_bytes() == before
    custodian.counts(one_code(100, 1, 2), epsilon=0.1)
    assert custodian.ledger.left == pytest.approx(0.0)


def test_the_whole_budget_may_be_spent_on_one_answer(tmp_path: Path) -> None:
    from tests.teams.made import each_its_own_feature

    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    custodian.sums(each_its_own_feature(100), epsilon=1.0)
    with pytest.raises(OverBudget):
        custodian.counts(one_code(100), epsilon=0.001)


def test_the_same_request_gets_the_same_answer_free_of_charge(tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    first = custodian.counts(one_code(100), epsilon=0.9)
    left = custodian.ledger.left
    again = custodian_of(GROUPS, tmp_path, epsilon=1.0).counts(one_code(100), epsilon=0.9)
    assert (again.values == first.values).all()
    assert again.receipt == first.receipt
    assert custodian.ledger.left == left
    # Another ε is another question, whose answer must be paid.
    with pytest.raises(OverBudget):
        custodian.counts(one_code(100), epsilon=0.8)


def test_files_are_replayed_too(tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    first = custodian.randomize(list(names(100)), epsilon=0.9)
    assert (custodian.randomize(list(names(100)), epsilon=0.9).values == first.values).all()
    assert custodian.ledger.left == pytest.approx(0.1)


def test_a_budget_is_not_changed_afterwards(tmp_path: Path) -> None:
    Ledger(tmp_path / "a", epsilon=1.0, groups=DECLARED)
    assert Ledger(tmp_path / "a").epsilon == 1.0
    with pytest.raises(InputError, match="not changed afterwards"):
        Ledger(tmp_path / "a", epsilon=2.0)
    with pytest.raises(InputError, match="delta"):
        Ledger(tmp_path / "a", delta=1e-3)
    with pytest.raises(InputError, match="does not exist"):
        Ledger(tmp_path / "b")
    with pytest.raises(InputError, match="declare the groups"):
        Ledger(tmp_path / "b", epsilon=1.0)
    with pytest.raises(InputError, match="groups are not changed"):
        Ledger(tmp_path / "a", groups=["group 1", "group 0"])
    for groups in ("fm", ["f"], ["f", "f"], [], ["f", None]):
        with pytest.raises(InputError, match="groups"):
            Ledger(tmp_path / "b", epsilon=1.0, groups=groups)
    assert not (tmp_path / "b").exists()


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = Ledger(tmp_path / "a", epsilon=1.0, groups=DECLARED).path
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_somebody_elses_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content in (b"id,sex\n1,f\n", b"id,sex", b'{"about": 1}\n', b"[]\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a ledger"):
            Ledger(path, epsilon=1.0, groups=DECLARED)
        assert path.read_bytes() == content


# A process that is killed -----------------------------------------------------------------------

ASK = """
import os, signal, sys
import numpy as np
from likeforlike.teams import Custodian, Ledger, OverBudget
from likeforlike.teams._requests import CountsRequest
import likeforlike.teams._custodian as inside
ids = tuple(f"row {k}" for k in range(100))
custodian = Custodian({each: f"group {k % 2}" for k, each in enumerate(ids)}, Ledger(sys.argv[1]))
"""
KILLED = """
def killed(scale): os.kill(os.getpid(), signal.SIGKILL)
inside.discrete_laplace = killed
custodian.counts(CountsRequest(ids, np.zeros(100, np.int64), 1), epsilon=0.2)
"""
RACING = """
sys.stdin.readline()
try:
    custodian.counts(CountsRequest(ids, np.zeros(100, np.int64), 2 + int(sys.argv[2])), epsilon=0.6)
    print("answered")
except OverBudget:
    print("refused")
"""


@pytest.mark.process
def test_a_kill_after_booking_loses_budget_and_never_gains_any(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a", epsilon=0.5, groups=DECLARED)
    done = subprocess.run(
        [sys.executable, "-c", ASK + KILLED, str(ledger.path)], check=False, timeout=120
    )
    assert done.returncode == -signal.SIGKILL
    assert ledger.left == pytest.approx(0.3)
    assert [entry["kind"] for entry in ledger.entries()] == ["opening", "booking"]
    # Nothing was told, and nothing is given back: the same question is booked once more.
    custodian_of(GROUPS, tmp_path, 0.5, "a").counts(one_code(100), epsilon=0.2)
    assert ledger.left == pytest.approx(0.1)
    with pytest.raises(OverBudget):
        custodian_of(GROUPS, tmp_path, 0.5, "a").counts(one_code(100, 0, 2), epsilon=0.2)


@pytest.mark.process
def test_five_racing_processes_never_overspend(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "a", epsilon=2.0, groups=DECLARED)
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", ASK + RACING, str(ledger.path), str(k)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for k in range(5)
    ]
    for each in racing:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    told = [each.communicate(timeout=120)[0].strip() for each in racing]
    assert sorted(told) == ["answered"] * 3 + ["refused"] * 2
    assert ledger.left == pytest.approx(0.2)
    assert len(ledger.entries()) == 7


# Lines that were cut short or changed -----------------------------------------------------------


def answered(folder: Path) -> Custodian:
    custodian = custodian_of(GROUPS, folder, epsilon=1.0)
    custodian.counts(one_code(100), epsilon=0.2)
    custodian.counts(one_code(100, 1, 2), epsilon=0.3)
    return custodian


def test_a_torn_last_line_is_taken_back(tmp_path: Path) -> None:
    custodian = answered(tmp_path)
    path, left = custodian.ledger.path, custodian.ledger.left
    whole = path.read_bytes()
    *_, answer = whole.splitlines(keepends=True)
    for torn in (b"{", answer[:40], answer[:-2]):
        path.write_bytes(whole + torn)
        assert custodian.ledger.left == left
        assert path.read_bytes() == whole


def test_a_line_that_lacks_its_end_only_counts(tmp_path: Path) -> None:
    custodian = answered(tmp_path)
    whole, left = custodian.ledger.path.read_bytes(), custodian.ledger.left
    custodian.ledger.path.write_bytes(whole[:-1])
    assert custodian.ledger.left == left
    assert custodian.ledger.path.read_bytes() == whole


def test_every_cut_keeps_what_was_booked_before_it(tmp_path: Path) -> None:
    """Wherever a write stops, spent is what the whole lines say, and answering goes on."""
    custodian = answered(tmp_path)
    path, lines = (
        custodian.ledger.path,
        custodian.ledger.path.read_bytes().splitlines(keepends=True),
    )
    before = b"".join(lines[:3])
    for cut in range(0, len(lines[3]), 17):
        path.write_bytes(before + lines[3][:cut])
        assert custodian.ledger.spent == pytest.approx(0.2)
        assert path.read_bytes() == before


def test_a_torn_first_line_is_begun_again(tmp_path: Path) -> None:
    path = Ledger(tmp_path / "a", epsilon=1.0, groups=DECLARED).path
    path.write_bytes(path.read_bytes()[:60])
    assert Ledger(path, epsilon=2.0, groups=DECLARED).left == 2.0


@pytest.mark.parametrize("line", range(5))
def test_a_changed_line_is_noticed(line: int, tmp_path: Path) -> None:
    custodian = answered(tmp_path)
    path = custodian.ledger.path
    entries = [json.loads(each) for each in path.read_text().splitlines()]
    entries[line]["epsilon"] = "1/1000"
    path.write_text("".join(json.dumps(each, sort_keys=True) + "\n" for each in entries))
    for touch in (lambda: custodian.ledger.left, lambda: Ledger(path)):
        with pytest.raises(AlteredLedger, match=f"line {line + 1} "):
            touch()
    with pytest.raises(AlteredLedger):
        custodian.counts(one_code(100), epsilon=0.2)


@pytest.mark.parametrize("lines", [[0, 2, 3, 4], [0, 1, 3, 2, 4], [1, 2, 3, 4], [0, 0, 1, 2, 3, 4]])
def test_lines_taken_out_swapped_or_repeated_are_noticed(lines: list[int], tmp_path: Path) -> None:
    custodian = answered(tmp_path)
    path = custodian.ledger.path
    written = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(written[k] for k in lines))
    with pytest.raises(InputError, match=r"not what was written there|is not a ledger"):
        _ = custodian.ledger.left


def test_receipts_tell_an_old_ledger_that_was_put_back(tmp_path: Path) -> None:
    custodian = custodian_of(GROUPS, tmp_path, epsilon=1.0)
    first = custodian.counts(one_code(100), epsilon=0.2)
    old = custodian.ledger.path.read_bytes()
    second = custodian.counts(one_code(100, 1, 2), epsilon=0.3)
    assert custodian.ledger.holds(first.receipt)
    assert custodian.ledger.holds(second.receipt)
    custodian.ledger.path.write_bytes(old)
    assert custodian.ledger.left == pytest.approx(0.8)
    assert custodian.ledger.holds(first.receipt)
    assert not custodian.ledger.holds(second.receipt)
    # A new answer takes the old one's place in the file, and not its hash.
    custodian.counts(one_code(100, 1, 3), epsilon=0.3)
    assert not custodian.ledger.holds(second.receipt)
