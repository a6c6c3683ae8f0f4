"""The state survives kills, torn lines and several writers, and refuses what it has counted."""

import json
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from likeforlike.errors import InputError
from likeforlike.monitoring._state import append_period, begin_state, read_state


def line(number: int, rows: str = "") -> dict[str, object]:
    return {"period": f"p{number}", "fingerprint": rows or f"f{number}", "log_e": [[0.1] * 8]}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "monitor.state"
    begin_state(path, {"alpha": 0.05})
    return path


def test_periods_are_read_back_in_order(state: Path) -> None:
    assert append_period(state, line(1))
    assert append_period(state, line(2))
    header, periods = read_state(state)
    assert header is not None
    assert header["alpha"] == 0.05
    assert periods == [line(1), line(2)]


def test_beginning_again_changes_nothing(state: Path) -> None:
    before = state.read_bytes()
    assert begin_state(state, {"alpha": 0.01})["alpha"] == 0.05
    assert state.read_bytes() == before


def test_a_period_is_counted_once(state: Path) -> None:
    append_period(state, line(1))
    before = state.read_bytes()
    assert not append_period(state, line(1))
    with pytest.raises(InputError, match="'p1' was already counted with other rows"):
        append_period(state, line(1, "other"))
    with pytest.raises(InputError, match="'p2' was already counted as 'p1'"):
        append_period(state, line(2, "f1"))
    assert state.read_bytes() == before


@pytest.mark.parametrize("cut", [1, 5, 40, 64, 70, 120])
def test_a_torn_last_line_is_written_over(state: Path, cut: int) -> None:
    append_period(state, line(1))
    whole = state.read_bytes()
    append_period(state, line(2))
    state.write_bytes(state.read_bytes()[: len(whole) + cut])
    assert read_state(state)[1] == [line(1)]
    assert append_period(state, line(2))
    assert read_state(state)[1] == [line(1), line(2)]


def test_a_torn_first_line_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "monitor.state"
    path.write_bytes(b"0123abc")
    assert read_state(path) == (None, [])
    begin_state(path, {"alpha": 0.05})
    assert read_state(path)[0] is not None


@pytest.mark.parametrize("old", [b'"p1"', b"0.05"])
def test_edited_lines_are_noticed(state: Path, old: bytes) -> None:
    append_period(state, line(1))
    append_period(state, line(2))
    state.write_bytes(state.read_bytes().replace(old, old[:-1] + b"9" + old[-1:], 1))
    before = state.read_bytes()
    with pytest.raises(InputError, match="damaged or edited in line"):
        append_period(state, line(3))
    assert state.read_bytes() == before


def test_a_removed_line_is_noticed(state: Path) -> None:
    for number in range(3):
        append_period(state, line(number))
    lines = state.read_bytes().splitlines(keepends=True)
    state.write_bytes(b"".join(lines[:2] + lines[3:]) + lines[1])
    with pytest.raises(InputError, match="damaged or edited"):
        read_state(state)


def test_another_file_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    begin_state(path, {"kind": "something else"})
    with pytest.raises(InputError, match="no state of a monitor"):
        read_state(path)


def test_a_folder_is_no_state(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be kept"):
        append_period(tmp_path, line(1))


def test_several_writers_lose_nothing_and_count_nothing_twice(state: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        new = list(pool.map(lambda k: append_period(state, line(k % 40)), range(160)))
    names = [each["period"] for each in read_state(state)[1]]
    assert sum(new) == len(names) == len(set(names)) == 40


WRITER = """
import sys
from likeforlike.monitoring._state import append_period, begin_state
begin_state(sys.argv[1], {"alpha": 0.05})
print("begun", flush=True)
for k in range(400):
    append_period(sys.argv[1], {"period": f"p{k}", "fingerprint": f"f{k}", "text": "x" * 20_000})
"""


@pytest.mark.process
def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """Two at a time; `python -m benchmarks.monitoring --only kills` does it 200 times."""
    path, rng = tmp_path / "monitor.state", random.Random(1)
    call, killed = [sys.executable, "-c", WRITER, str(path)], 0
    for _ in range(10):
        pair = [subprocess.Popen(call, stdout=subprocess.PIPE) for _ in range(2)]
        for process in pair:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            before = read_state(path)[1]
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
            killed += process.wait() != 0
            process.stdout.close()
            after = read_state(path)[1]
            assert after[: len(before)] == before
    assert killed == 20
    for number in range(400):
        append_period(path, {"period": f"p{number}", "fingerprint": f"f{number}"})
    content = path.read_bytes().splitlines()
    names = [json.loads(each[65:])["period"] for each in content[1:]]
    assert sorted(names) == sorted(f"p{k}" for k in range(400))
