"""A file on its way into the private folder, and names that would like to be more than names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likeforlike.app._jobs import Job
from likeforlike.app._words import WORDS
from tests.app.asking import Answer, Asked, Elements, form_of

SCRIPT = "<script>alert(1)</script>"
HOSTILE = [
    *(SCRIPT, f"{SCRIPT}.csv", '"><img src=x onerror=alert(2)>.csv', "' onfocus=alert(3) '.csv"),
    *("../../etc/passwd.csv", "..\\..\\boot.csv", "/etc/passwd", "C:\\pay.csv", "..", "a/../b.csv"),
    *("nul\0byte.csv", "line\r\nX-Evil: 1.csv", "\u202egnp.csv", "\u2066a\u2069.csv"),
    *("=HYPERLINK(1).csv", "+cmd|' /C calc'!A0.csv", "{{ 7*7 }}{% raw %}.csv", "&lt;b&gt;.csv"),
    *("x" * 5_000 + ".csv", "😀é\U000e0041.csv"),
]


def send(asked: Asked, name: str, content: bytes, size: int = 1 << 16) -> Answer:
    body, headers = form_of(name, content)
    blocks = [body[k : k + size] for k in range(0, len(body), size)]
    return asked.ask("POST", asked.path, blocks, headers=headers)


@pytest.fixture
def describe(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Columns that every file has: no process looks at them."""
    columns: list[dict[str, Any]] = []

    def start(job: Job, work: object) -> None:
        found = {"rows": 2, "columns": columns, "further": 0, "sheets": []}
        (job.folder / "columns.json").write_text(json.dumps(found))
        job.state = "done"

    monkeypatch.setattr(Job, "start", start)
    return columns


def column(name: str, role: str = "") -> dict[str, Any]:
    known = {"kind": "text", "samples": [name], "distinct": 1, "missing": 0.5, "why": "free"}
    return {"name": name, "role": role} | known


def check_harmless(answer: Answer) -> Elements:
    """Check that a page has no element or attribute but the app's own."""
    page = Elements(answer.body)
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert [list(attributes) for attributes in scripts] == [["src", "defer"]]
    assert not [tag for tag, _ in page.tags if tag in ("img", "b")]
    assert not [name for _, attributes in page.tags for name in attributes if name[:2] == "on"]
    assert "49" not in page.words
    for hidden in "\0\u202e\u2066\U000e0041":
        assert hidden not in answer.body
    return page


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_files_are_text(
    asked: Asked, tmp_path: Path, describe: list[dict[str, Any]], name: str
) -> None:
    describe.append(column("score", "score"))
    asked.open()
    answer = send(asked, name, b"score\n1\n")
    assert answer.status == 303, answer.body
    page = check_harmless(asked.ask("GET", answer.headers["location"]))
    assert len(page.words) < 3_000
    check_harmless(asked.ask("GET", asked.path))
    (file,) = tmp_path.rglob("table*")
    assert file.relative_to(tmp_path).parts[1:] == (file.name,)
    assert file.name in ("table", "table.csv")
    assert file.read_bytes() == b"score\n1\n"


def test_hostile_labels_are_text(asked: Asked, describe: list[dict[str, Any]]) -> None:
    describe += [column(name) for name in HOSTILE]
    asked.open()
    answer = send(asked, "table.csv", b"score\n1\n")
    page = check_harmless(asked.ask("GET", answer.headers["location"]))
    selects = [each for tag, each in page.tags if tag == "select" and each["name"] != "kind"]
    assert len(selects) == len(HOSTILE)
    assert SCRIPT in page.words
    assert all(select["aria-label"] for select in selects)


def test_choices_that_lack_something_are_asked_for_again(
    asked: Asked, describe: list[dict[str, Any]]
) -> None:
    describe += [column("score"), column("sex")]
    asked.open()
    place = send(asked, "table.csv", b"score,sex\n1,f\n").headers["location"]
    answer = asked.ask("POST", f"{place}/run", b"kind=audit&role0=&role1=sensitive&threshold=5%25")
    assert answer.status == 422
    assert WORDS["choose_score"] in answer.body
    assert WORDS["choose_sensitive"] not in answer.body
    assert 'value="5%"' in answer.body
    for body in (b"kind=rm&threshold=", b"kind=audit", b"\xff\x00&&=="):
        assert asked.ask("POST", f"{place}/run", body).status == 400


def test_a_removed_file_is_gone(
    asked: Asked, tmp_path: Path, describe: list[dict[str, Any]]
) -> None:
    describe.append(column("score"))
    asked.open()
    place = send(asked, "table.csv", b"score\n1\n").headers["location"]
    assert list(tmp_path.iterdir())
    assert asked.ask("POST", f"{place}/remove").status == 303
    assert not list(tmp_path.iterdir())
    assert asked.ask("GET", place).status == 404


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200) | st.sampled_from([b"", b"\r\n--", b"\r\n----x", b"\r\n" * 9]),
    size=st.integers(1, 300),
)
def test_bytes_arrive_as_they_were_sent(
    asked: Asked, tmp_path: Path, describe: list[dict[str, Any]], content: bytes, size: int
) -> None:
    if not asked.cookie:
        asked.open()
    if b"\r\n------x" in content:
        return
    place = send(asked, "table.csv", content, size).headers["location"]
    (file,) = tmp_path.rglob("table.csv")
    assert file.read_bytes() == content
    asked.ask("POST", f"{place}/remove")


@pytest.mark.parametrize("says_so", [True, False])
def test_large_files_are_refused_and_not_kept(asked: Asked, tmp_path: Path, says_so: bool) -> None:
    asked.open()
    body, headers = form_of("table.csv", b"1" * 1_200_000)
    headers |= {} if says_so else {"content-length": ""}
    blocks = [body[k : k + 1000] for k in range(0, len(body), 1000)]
    answer = asked.ask("POST", asked.path, blocks, headers=headers)
    assert WORDS["start_large"].format(size="1 MB") in answer.body
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"", "", "start_broken"),
        (b"file=1", "application/x-www-form-urlencoded", "start_broken"),
        (b"--x\r\nno end", "multipart/form-data; boundary=x", "start_broken"),
        (b"--x\r\n" + b"h" * 70_000, "multipart/form-data; boundary=x", "start_broken"),
        (
            b'--x\r\nContent-Disposition: form-data; filename="a.csv"\r\n\r\nabc',
            "multipart/form-data; boundary=x",
            "start_broken",
        ),
        (
            b'--x\r\nContent-Disposition: form-data; filename=""\r\n\r\n\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
            "start_none",
        ),
    ],
)
def test_broken_forms_are_refused_and_leave_nothing(
    asked: Asked, tmp_path: Path, body: bytes, kind: str, words: str
) -> None:
    asked.open()
    answer = asked.ask("POST", asked.path, body, headers={"content-type": kind})
    assert WORDS[words] in Elements(answer.body).words
    assert not list(tmp_path.iterdir())
