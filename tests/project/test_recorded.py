"""Results stay what they were: public calls held against a record of what they gave.

`tools/record` has the calls, and says how the record is made anew when results are meant to change.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.record import CASES, differences, plain, recorded_text
from tools.record.__main__ import main

PATH = Path(__file__).with_name("recorded.json")
RECORD: dict[str, Any] = json.loads(PATH.read_text("utf-8"))


def marked(name: str) -> Any:
    return pytest.param(name, marks=[pytest.mark.training] if CASES[name].trains else [])


@pytest.mark.parametrize("name", [marked(name) for name in CASES])
def test_results_are_those_of_the_record(name: str) -> None:
    case = CASES[name]
    now = plain(case.make())
    changed = list(differences(RECORD[name], now, case.tolerance, near_zero=case.near_zero))
    assert not changed, "\n".join(f"{name}{line}" for line in changed)


def test_every_case_is_recorded_and_no_other() -> None:
    assert list(RECORD) == list(CASES)


def test_the_record_is_small_and_written_as_the_command_writes_it() -> None:
    assert PATH.stat().st_size < 300_000
    assert recorded_text(RECORD) == PATH.read_text("utf-8")


def leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(leaves(part) for part in value.values())
    return sum(leaves(part) for part in value) if isinstance(value, list) else 1


@pytest.mark.parametrize("name", CASES)
def test_no_case_is_empty(name: str) -> None:
    assert leaves(RECORD[name]) >= 10


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ({"a": [1.0, 2.000001], "b": "x"}, ".a[1]: 2.0 was recorded, now it is 2.000001"),
        ({"a": [1.0, 2.0], "b": "y"}, ".b: 'x' was recorded, now it is 'y'"),
        ({"a": [1.0], "b": "x"}, ".a: 2 entries were recorded, now there are 1"),
        ({"a": [1.0, 2.0]}, ".b: was recorded, now there is none"),
        ({"a": [1.0, None], "b": "x"}, ".a[1]: 2.0 was recorded, now it is None"),
        ({"a": [True, 2.0], "b": "x"}, ".a[0]: 1.0 was recorded, now it is True"),
        ({"a": 1.0, "b": "x"}, ".a: [1.0, 2.0] was recorded, now it is 1.0"),
    ],
)
def test_a_change_is_seen_and_named(after: Any, line: str) -> None:
    assert list(differences({"a": [1.0, 2.0], "b": "x"}, after, 1e-9)) == [line]


def test_the_last_digits_and_new_entries_are_no_change() -> None:
    after: Any = {"a": [1.0, 2.000000001, 1e-13], "b": "x", "new": 3}
    assert list(differences({"a": [1.0, 2.0, 0], "b": "x"}, after, 1e-9)) == []
    assert list(differences({"a": 0.0}, {"a": 1e-11}, 1e-9)) == [
        ".a: 0.0 was recorded, now it is 1e-11"
    ]


@pytest.mark.parametrize("change", ["one value", "order", "shape"])
def test_a_change_inside_a_long_array_is_seen(change: str) -> None:
    values = np.random.default_rng(0).random(1000)
    other = values.copy()
    if change == "one value":
        other[501] += 1e-4
    elif change == "order":
        other[[300, 301]] = other[[301, 300]]
    else:
        other = other.reshape(10, 100)
    assert list(differences(plain(values), plain(values.copy()), 1e-9)) == []
    assert list(differences(plain(values), plain(other), 1e-9))


def test_numbers_that_are_none_are_kept_as_text() -> None:
    assert plain([float("inf"), float("nan"), np.int64(3)]) == ["inf", "nan", 3]


def test_what_cannot_be_recorded_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be recorded; name the figures"):
        plain({"value": object()})


def test_the_command_writes_what_the_cases_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(CASES):
        if name != "adjusted p-values":
            monkeypatch.delitem(CASES, name)
    main(["--out", str(tmp_path / "record.json")])
    written = json.loads((tmp_path / "record.json").read_text("utf-8"))
    assert written == {"adjusted p-values": RECORD["adjusted p-values"]}
