"""Lines of a shell, in this process: files as people have them, options right and wrong.

More than half of the calls are meant to be answered; the others are wrong in one way or two. A call
that is refused (exit code 2) names what it is about and leaves the folder as it was.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from typer.main import get_command

from likeforlike.cli import app
from likeforlike.errors import InputError
from tools.fuzz.draw import Draw
from tools.fuzz.runner import Target

__all__ = ["TARGETS"]

_EXIT_CODES = {0, 1, 2, 3}
# Reading the signatures of all commands takes longer than many a command; once is enough.
_command = cache(get_command)
_ROLES = ("id", "score", "sex", "level", "debt", "day", "weight", "who", "city")
_ODD_NAMES = (
    "{}, total",
    'the "{}"',
    "{} (größe)",
    " {}",
    "{}=1",
    "{};|",
    "-{}",
    "{}\u00a0",
    "{}[0]",
    "'{}'",
)
# What options are called in Python, where errors may name them so.
_SPELLED = {"seed": "random_state", "id": "ids", "table": "people", "of": "distance or gap"}


class Shell:
    """A folder with files, in which commands are called and looked after.

    Attributes
    ----------
    names : header of the table, by role.
    """

    def __init__(self, draw: Draw, folder: Path) -> None:
        self.draw = draw
        self.folder = folder
        self.names = {role: role for role in _ROLES}
        if draw.happens(0.2):
            for role in _ROLES:
                self.names[role] = draw.pick(_ODD_NAMES).format(role)

    def call(self, *arguments: str) -> int:
        """Call a command; fail if it ends as none should."""
        before = self._content()
        out, err = io.StringIO(), io.StringIO()
        code: object = 0
        with chdir(self.folder), redirect_stdout(out), redirect_stderr(err):
            try:
                self.draw.call(_command(app), list(arguments))
            except SystemExit as done:
                code = done.code or 0
        said = err.getvalue()
        assert code in _EXIT_CODES, f"exit {code}: {said[-600:]}"
        assert "Traceback" not in said + out.getvalue(), said[-600:]
        if code == 2:
            changed = {name for name, _ in before.items() ^ self._content().items()}
            changed -= self._kept_on_purpose(said, before, changed)
            assert not changed, f"left behind: {sorted(changed)}; {said[-400:]}"
            assert self._names_its_cause(said, arguments), f"names nothing: {said[-600:]}"
            raise InputError(said)
        assert isinstance(code, int)
        return code

    def _content(self) -> dict[str, bytes | None]:
        """Every file and folder, with what is in it."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes() if path.is_file() else None
            for path in self.folder.rglob("*")
        }

    @staticmethod
    def _kept_on_purpose(said: str, before: dict[str, bytes | None], changed: set[str]) -> set[str]:
        """What is meant to change although a command is refused.

        An answer that is booked and could not be delivered is in the ledger, as the error says. A
        last line of it that was cut short is taken back. A sweep of which no model is good enough
        has been trained, and its results stay; so do files written before a device was full.
        """
        if "no run has a disparity of at most" in said or "No space left on device" in said:
            return changed
        cut = not (before.get("a.ledger") or b"\n").endswith(b"\n")
        return {"a.ledger"} if cut or "booked and kept in the ledger" in said else set()

    def _names_its_cause(self, said: str, arguments: Sequence[str]) -> bool:
        """Whether an error names an option, a column or a file of the call."""
        text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", said).split())
        options = [each.partition("=")[0].lstrip("-") for each in arguments if each[:2] == "--"]
        known = {*options, *(each.replace("-", "_") for each in options)}
        known |= {_SPELLED[each] for each in options if each in _SPELLED}
        known |= {*self.names.values(), *(name.strip() for name in self.names.values())}
        known |= {each.rpartition("=")[2] for each in arguments if not each.startswith("--")}
        known |= {Path(each.rpartition("=")[2]).name for each in arguments}
        return "--" in text or any(name and name in text for name in known)

    def role(self, name: str) -> str:
        """Column of a role."""
        return self.names[name]

    def option(self, option: str, value: str) -> list[str]:
        """An option with its value, in either form."""
        if value.startswith("-") or self.draw.happens(0.3):
            return [f"{option}={value}"]
        return [option, value]


def _columns(draw: Draw, size: int) -> dict[str, list[Any]]:
    """Columns of a table, by role, of which an audit can be made."""
    groups = draw.pick(
        (("f", "m"), ("f", "m"), ("a", "b", "c"), ("1", "2"), ("ä", "ø"), ("x y", "-"))
    )
    scores: Callable[[], Any] = draw.pick(
        (
            lambda: draw.randint(0, 1),
            lambda: round(draw.random(), 3),
            lambda: draw.randint(1, 5),
            lambda: round(draw.gauss(3e4, 1e4), 2),
            lambda: draw.random() * 1e-200,
            lambda: -draw.randint(0, 1),
        )
    )
    levels = draw.pick((("low", "mid", "high"), ("1", "2"), ("N,W", 'S"E'), ("only",)))
    return {
        "id": [f"p{k}" for k in range(size)],
        "score": [scores() for _ in range(size)],
        "sex": [groups[k // 2 % len(groups)] for k in range(size)],
        "level": [draw.pick(levels) for _ in range(size)],
        "debt": [round(draw.random() * 100.0, 2) for _ in range(size)],
        "day": [f"2026-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}" for _ in range(size)],
        "weight": [draw.pick((0.5, 1.0, 2.5)) for _ in range(size)],
        "who": [f"w{k // 2}" for k in range(size)],
        "city": [draw.pick(("Oslo", "Rome", "Łódź")) for _ in range(size)],
    }


def _spoiled(draw: Draw, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns that are wrong in one way; some of them can be audited all the same."""
    size = len(columns["id"])
    role = draw.pick(
        ("id", "score", "score", "sex", "sex", "level", "debt", "day", "weight", "who")
    )
    how = draw.pick(
        ("gone", "empty", "nan", "text", "huge", "one", "some", "unique", "nul", "none")
    )
    if how == "gone":
        return {name: values for name, values in columns.items() if name != role}
    if how == "none":
        return {name: [] for name in columns}
    fills: dict[str, Callable[[int], Any]] = {
        "empty": lambda _: None,
        "nan": lambda _: "NaN",
        "text": lambda _: draw.pick(("yes", "no", "1,5")),
        "huge": lambda _: draw.pick((1e308, -1e308, "1e400", 5e-324)),
        "one": lambda _: "1",
        "some": lambda k: None if k % 3 == 0 else columns[role][k],
        "unique": lambda k: f"u{k}",
        "nul": lambda k: "a\x00b" if k == 3 else columns[role][k],
    }
    return {**columns, role: [fills[how](k) for k in range(size)]}


def _table(shell: Shell, stem: str, roles: Sequence[str], *, faults: int) -> list[str]:
    """Write a table; give its name and the options that reading it needs."""
    draw = shell.draw
    columns = _columns(draw, draw.pick((60, 60, 61, 200) if draw.happens(0.9) else (6, 12)))
    spoilt_text = False
    for _ in range(faults):
        if draw.happens(0.6):
            columns = _spoiled(draw, columns)
        else:
            spoilt_text = True
    header = [shell.names[role] for role in roles if role in columns]
    rows = list(zip(*(columns[role] for role in roles if role in columns), strict=True))
    kind = draw.pick(("csv", "csv", "csv", "tsv", "csv.gz", "parquet"))
    path = shell.folder / f"{stem}{draw.pick(('', '', ' 1', '[1]', 'ä'))}.{kind}"
    if kind == "parquet":
        frame = pl.DataFrame(dict(zip(header, zip(*rows, strict=True), strict=False)), strict=False)
        frame.write_parquet(path)
        content = path.read_bytes()
        path.write_bytes(_damaged(draw, content) if spoilt_text else content)
        return [path.name]
    separator = "\t" if kind == "tsv" else draw.pick((",", ",", ";", "\t", "|"))
    encoding = draw.pick(("utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"))
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=separator,
        quoting=draw.pick((csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)),
        lineterminator=draw.pick(("\n", "\r\n")),
    )
    writer.writerows([header, *rows])
    content = text.getvalue().encode(encoding, errors="replace")
    if spoilt_text:
        content = _damaged(draw, content)
    path.write_bytes(gzip.compress(content, 1) if kind == "csv.gz" else content)
    options = [] if encoding != "cp1252" else shell.option("--encoding", "cp1252")
    if draw.happens(0.2):
        options += shell.option("--separator", separator)
    return [path.name, *options]


def _damaged(draw: Draw, content: bytes) -> bytes:
    """Content of a file, cut, changed, doubled or gone."""
    place = draw.randrange(len(content) + 1)
    lines = content.splitlines(keepends=True)
    return draw.pick(
        (
            b"",
            b"\n",
            b"\xff\xfe",
            content[:place],
            content[:place] + draw.randbytes(draw.randint(1, 20)) + content[place:],
            content[:place] + b'"' + content[place:],
            content[:place] + b"\x00" + content[place:],
            content + content,
            b"".join([*lines[:1], *lines]),
            b"".join(lines[1:]),
            b"".join([lines[0].replace(b"level", b"score"), *lines[1:]]),
            b"".join([*lines[:5], b"too,few\n", *lines[5:]]),
            b"".join([lines[0].rstrip() + b",more\n", *lines[1:]]),
        )
    )


def _faults(draw: Draw, chance: float = 0.4) -> tuple[int, int]:
    """How many things are wrong with the file, and how many with the options."""
    if not draw.happens(chance):
        return 0, 0
    return draw.pick(((1, 0), (1, 0), (0, 1), (0, 1), (0, 1), (1, 1), (0, 2)))


def _mix(
    shell: Shell, right: Sequence[tuple[str, ...]], wrong: Sequence[tuple[str, ...]], faults: int
) -> list[str]:
    """Some options that are right, each once, and so many that are wrong."""
    draw = shell.draw
    chosen = draw.sample(right, draw.randint(0, min(3, len(right)))) + [
        draw.pick(wrong) for _ in range(faults)
    ]
    words: list[str] = []
    for name, *value in chosen:
        words += shell.option(name, value[0]) if value else [name]
    return words


_READING_WRONG: tuple[tuple[str, ...], ...] = (
    ("--separator", "ab"),
    ("--separator", ""),
    ("--separator", "ä"),
    ("--separator", "\n"),
    ("--separator", '"'),
    ("--encoding", "klingon"),
    ("--encoding", ""),
    ("--encoding", "utf-32"),
    ("--encoding", "rot13"),
    ("--encoding", "ascii"),
    ("--null-value", "f"),
    ("--null-value", ""),
)
_NUMBERS_WRONG = ("nan", "inf", "-1", "1e400", "x", "", "1e-320", "0", "1e308", "٣", "1_0")
_PATHS_WRONG = ("no/such/folder/x.out", ".", "", "x" * 300, "a\x00b", "/dev/full", "/proc/x")


def _roles(shell: Shell, *, sensitive: str | None = "sex") -> list[str]:
    words = shell.option("--score", shell.role("score"))
    if sensitive:
        words += shell.option("--sensitive", shell.role(sensitive))
    return words


def _cells_options(shell: Shell) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Options, right and wrong, of all that makes cells of a table."""
    name = shell.role
    right: list[tuple[str, ...]] = [
        ("--legitimate", name("level")),
        ("--legitimate", name("city")),
        ("--weight", name("weight")),
        ("--cluster", name("who")),
        ("--resolution", shell.draw.pick(("0.1", "1", "1e-3"))),
        ("--no-usual-nulls",),
        ("--null-value", "missing"),
    ]
    wrong: list[tuple[str, ...]] = [
        *_READING_WRONG,
        *((option, "nobody") for option in ("--score", "--sensitive", "--weight", "--cluster")),
        ("--legitimate", "nobody"),
        ("--legitimate", ""),
        ("--legitimate", name("sex")),
        ("--legitimate", name("score")),
        ("--weight", name("city")),
        ("--weight", name("score")),
        ("--sensitive", name("debt")),
        ("--sensitive", name("score")),
        ("--score", name("city")),
        *(
            ("--bins", f"{name('debt')}={cut}")
            for cut in ("0", "1", "x", "", "nan,1", "5,5", "9" * 30)
        ),
        ("--bins", "debt"),
        ("--bins", "=3"),
        ("--bins", f"{name('city')}=month"),
        *(("--resolution", number) for number in _NUMBERS_WRONG),
        ("--engine", "abacus"),
        ("--engine", ""),
        ("--no-such-option",),
    ]
    return right, wrong


def _audit(shell: Shell) -> None:
    draw, name = shell.draw, shell.role
    in_file, in_options = _faults(draw)
    words = ["audit", *_table(shell, "table", _ROLES, faults=in_file), *_roles(shell)]
    words += shell.option("--permutations", draw.pick(("0", "9", "19")))
    right, wrong = _cells_options(shell)
    right += [
        ("--measure", draw.pick(("marginal", "average", "uniform", "overlap"))),
        ("--confidence", "0.9"),
        ("--adjustment", draw.pick(("step-down", "holm", "bh"))),
        ("--min-cell", "2"),
        ("--min-coverage", "0.2"),
        ("--seed", "7"),
        ("--suppress-below", draw.pick(("2", "5"))),
        ("--salt-file", "salt"),
        ("--unit", "EUR"),
        ("--threshold", draw.pick(("0.05", "0", "1e9"))),
        ("--report", "page.html"),
        ("--json", draw.pick(("-", "audit.json"))),
        ("--pairs", "pairs.csv"),
    ]
    if draw.happens(0.1):
        words += ["--legitimate", name("debt")] if name("debt")[0] != "-" else []
        words += shell.option("--bins", f"{name('debt')}={draw.pick(('2', '4', '20,60.5'))}")
    elif draw.happens(0.1):
        words += shell.option("--legitimate", name("day"))
        words += shell.option("--bins", f"{name('day')}={draw.pick(('month', 'quarter', 'year'))}")
    elif draw.happens(0.08):
        words += shell.option("--smooth", name("debt"))
    if draw.happens(0.1):
        words += [*shell.option("--threshold", "0.1"), *shell.option("--junit", "out.xml")]
        words += shell.option("--of", draw.pick(("distance", "gap")))
    if draw.happens(0.08):
        words += shell.option("--sensitive", name("city"))
    wrong += [
        ("--measure", "nothing"),
        *(
            (option, number)
            for option in ("--threshold", "--confidence")
            for number in _NUMBERS_WRONG
        ),
        *(
            (option, number)
            for option in ("--min-cell", "--permutations")
            for number in _NUMBERS_WRONG
        ),
        *(
            (option, number)
            for option in ("--seed", "--suppress-below")
            for number in _NUMBERS_WRONG
        ),
        *(
            (option, number)
            for option in ("--windows", "--min-coverage")
            for number in _NUMBERS_WRONG
        ),
        *(("--score-range", pair) for pair in ("0", "1,0", "0,x", "nan,1", "0,1,2", "", "0,1")),
        *((option, path) for option in ("--report", "--json", "--junit") for path in _PATHS_WRONG),
        *(
            (option, path)
            for option in ("--pairs", "--salt-file", "--policy")
            for path in _PATHS_WRONG
        ),
        ("--reference", "nobody"),
        ("--reference", f"{name('sex')}=nobody"),
        ("--reference", "city=Oslo"),
        ("--of", "all"),
        ("--of", "gap"),
        ("--adjustment", "none"),
        ("--preset", "ll145"),
        ("--preset", "ll144"),
        ("--smooth", name("city")),
        ("--smooth", name("score")),
        ("--smooth", "nobody"),
        ("--id", name("id")),
    ]
    words += _mix(shell, right, wrong, in_options)
    if draw.happens(0.03):
        words.insert(2, draw.pick(("none.csv", "table.cells", ".")))
    shell.call(*words)


_POLICY = """
threshold = {most}
score = {score}
sensitive = {sex}
legitimate = [{level}]
"""


def _summarize(shell: Shell) -> None:
    """Summarize a table or two, and audit the summaries."""
    draw = shell.draw
    in_file, in_options = _faults(draw, 0.25)
    right, wrong = _cells_options(shell)
    same = _mix(shell, [*right, ("--dataset", "loans")], wrong, 0)
    outs = [f"{day}.cells" for day in draw.pick((("monday",), ("monday", "tuesday")))]
    for k, out in enumerate(outs):
        words = [
            "summarize",
            *_table(shell, f"t{k}", _ROLES, faults=in_file),
            *_roles(shell),
            *same,
        ]
        bad = [
            *wrong,
            *(("--out", path) for path in _PATHS_WRONG),
            ("--part", ""),
            ("--dataset", ""),
        ]
        words += shell.option("--out", out)
        words += _mix(shell, [("--part", out)], bad, in_options if draw.happens(0.7) else 0)
        shell.call(*words)
    if not draw.happens(0.6):
        return
    if draw.happens(0.15):
        path = shell.folder / outs[0]
        path.write_bytes(_damaged(draw, path.read_bytes()))
    words = ["audit-summaries", *outs, *shell.option("--permutations", "9")]
    if draw.happens(0.1):
        words.insert(1, draw.pick((outs[0], "none.cells", "t0.csv")))
    good = [
        ("--threshold", "0.1"),
        ("--json", "-"),
        ("--report", "p.html"),
        ("--measure", "uniform"),
    ]
    bad = [
        ("--score", "other"),
        ("--sensitive", shell.role("sex")),
        ("--weight", "w"),
        ("--bins", "x=3"),
        ("--smooth", "debt"),
        ("--pairs", "pairs.csv"),
        ("--encoding", "latin-1"),
        ("--resolution", "0.3"),
        ("--reference", "nobody"),
    ]
    words += _mix(shell, [*good, ("--min-cell", "3")], bad, 1 if draw.happens(0.15) else 0)
    shell.call(*words)


def _sweep(shell: Shell) -> None:
    draw, name = shell.draw, shell.role
    in_file, in_options = _faults(draw, 0.3)
    words = ["sweep", *_table(shell, "train", _ROLES, faults=in_file)]
    words += shell.option("--target", name("score"))
    words += shell.option("--sensitive", name("sex"))
    words += [*shell.option("--seeds", "1"), *shell.option("--epochs", "1")]
    for feature in draw.pick((("debt",), ("debt", "city"))):
        words += shell.option("--feature", name(feature))
    methods = draw.pick((("none",), ("fairleap",), ("none", "fairbit"), ("legitimate-only",)))
    for method in methods:
        words += shell.option("--method", method)
    if "legitimate-only" in methods:  # which needs something to train on
        words += shell.option("--legitimate", name("city"))
    right: list[tuple[str, ...]] = [
        ("--legitimate", name("level")),
        ("--strength", draw.pick(("1", "fairleap=1" if "fairleap" in methods else "2", "0.5"))),
        ("--out", draw.pick(("results", "deep/results"))),
        ("--max-disparity", "1e9"),
    ]
    wrong: list[tuple[str, ...]] = [
        *_READING_WRONG,
        *(
            (option, "nobody")
            for option in ("--target", "--sensitive", "--legitimate", "--feature")
        ),
        *((option, "") for option in ("--target", "--sensitive", "--legitimate", "--feature")),
        ("--target", name("city")),
        ("--target", name("sex")),
        ("--sensitive", name("debt")),
        ("--smooth", name("city")),
        ("--smooth", "nobody"),
        ("--method", "magic"),
        ("--method", ""),
        *(
            ("--strength", number)
            for number in ("nan", "-1", "inf", "x", "", "none=1", "magic=1", "=", "1,,2")
        ),
        *(("--seeds", number) for number in ("0", "-1", "x", "")),
        *(("--epochs", number) for number in ("0", "-1", "x", "")),
        *(("--max-disparity", number) for number in ("nan", "-1", "1e-300", "x")),
        *(("--out", path) for path in _PATHS_WRONG if path != "."),
        ("--model", "model.json"),
        ("--model", "no/such/model.json"),
        ("--dask", "nowhere"),
    ]
    shell.call(*words, *_mix(shell, right, wrong, in_options))


def _teams(shell: Shell) -> None:
    """The files of two teams, up to one step that may be wrong."""
    draw, name = shell.draw, shell.role
    last = draw.pick(("plan", "init", "answer", "release", "status", "randomize"))
    in_file, in_options = _faults(draw, 0.3)
    bad_tables = in_file if last in ("plan", "init") else 0
    scores = _table(
        shell,
        "scores",
        ("id", "score", "level", "debt"),
        faults=bad_tables if last == "plan" else 0,
    )
    people = shell.folder / "people.parquet"
    columns = _columns(draw, 200)
    if last == "init" and in_file:
        columns = _spoiled(draw, columns)
    pl.DataFrame(
        {name(role): columns[role] for role in ("id", "sex", "who") if role in columns},
        strict=False,
    ).write_parquet(people)
    groups = sorted({str(each) for each in columns.get("sex", ["f"])})[:4]
    planned = [*scores, *shell.option("--score", name("score"))]
    planned += [*shell.option("--id", name("id")), *shell.option("--legitimate", name("level"))]
    ledger = shell.option("--ledger", "a.ledger")
    opened = ["custodian", "init", people.name, *ledger, *shell.option("--id", name("id"))]
    opened += shell.option("--sensitive", name("sex"))
    for group in groups:
        opened += shell.option("--group", group)
    steps: dict[str, list[str]] = {
        "plan": ["audit-plan", *planned, *shell.option("--out", "request.json")],
        "init": [*opened, *shell.option("--epsilon", draw.pick(("2", "8", "1.5")))],
        "answer": [
            "custodian",
            "answer",
            "request.json",
            *ledger,
            "--epsilon",
            "0.5",
            "--out",
            "r.json",
        ],
        "release": ["audit-release", planned[0], "r.json", *planned[1:], "--permutations", "9"],
        "status": ["custodian", "status", *ledger],
        "randomize": [
            "custodian",
            "randomize",
            scores[0],
            *ledger,
            "--epsilon",
            "0.5",
            "--out",
            "f.json",
        ],
    }
    if last == "status" and draw.happens(0.5):
        steps["status"] += shell.option("--receipt", "r.json")
    for step, words in steps.items():
        if step == "release" and last in ("status", "randomize"):
            continue
        if step == last:
            shell.call(*words, *_mix_of_teams(shell, step, in_options, in_file))
            return
        shell.call(*words)


def _mix_of_teams(shell: Shell, step: str, faults: int, in_file: int) -> list[str]:
    """Options of one step of the teams; the files that it reads may be damaged."""
    draw = shell.draw
    read = {
        "answer": "request.json",
        "release": "r.json",
        "status": "a.ledger",
        "randomize": "a.ledger",
    }
    if in_file and step in read:
        path = shell.folder / read[step]
        path.write_bytes(_damaged(draw, path.read_bytes()))
    numbers = [("--epsilon", number) for number in (*_NUMBERS_WRONG, "1e9")]
    outs = [("--out", path) for path in _PATHS_WRONG]
    ledgers = [("--ledger", path) for path in (*_PATHS_WRONG, "none.ledger", "people.parquet")]
    plans = [
        ("--out", "no/such/request.json"),
        ("--score", "nobody"),
        ("--id", "nobody"),
        ("--legitimate", "nobody"),
        ("--weight", "weight"),
        ("--pairs", "p.csv"),
        *_READING_WRONG,
    ]
    right: dict[str, list[tuple[str, ...]]] = {
        "plan": [("--sensitive", "sex"), ("--seed", "3")],
        "init": [("--delta", "1e-7"), ("--person", shell.role("who"))],
        "answer": [("--table", "people.parquet")],
        "release": [("--threshold", "0.1"), ("--report", "p.html"), ("--json", "-")],
        "status": [],
        "randomize": [("--id", shell.role("id")), ("--table", "people.parquet")],
    }
    wrong: dict[str, list[tuple[str, ...]]] = {
        "plan": plans,
        "init": [
            *numbers,
            *ledgers,
            ("--delta", "2"),
            ("--delta", "nan"),
            ("--group", ""),
            ("--group", "m"),
            ("--id", "nobody"),
            ("--sensitive", "nobody"),
            ("--person", "nobody"),
        ],
        "answer": [*numbers, *ledgers, *outs, ("--table", "none.csv"), ("--table", "a.ledger")],
        "release": [
            *plans,
            ("--threshold", "nan"),
            ("--junit", "j.xml"),
        ],
        "status": [*ledgers, ("--receipt", "request.json"), ("--receipt", "none.json")],
        "randomize": [*numbers, *ledgers, *outs, ("--id", "nobody"), ("--table", "none.csv")],
    }
    return _mix(shell, right[step], wrong[step], faults)


def _lists(shell: Shell) -> None:
    """Commands that read no file."""
    draw = shell.draw
    if draw.happens(0.7):
        words = draw.pick((["datasets"], ["schema"], ["schema", "request"], ["schema", "release"]))
    else:
        words = draw.pick(
            (
                ["schema", "all"],
                ["schema", ""],
                ["datasets", "--all"],
                ["schema", "audit", "x"],
                ["--all"],
            )
        )
    shell.call(*words)


def _policy(shell: Shell) -> None:
    """Audits by a policy."""
    draw, name = shell.draw, shell.role
    in_file, in_options = _faults(draw)
    table = _table(shell, "table", _ROLES, faults=in_file)
    quoted = {role: '"' + name(role).replace('"', '\\"') + '"' for role in _ROLES}
    text = _POLICY.format(**quoted, most=draw.pick(("0.05", "0.5"))).encode()
    (shell.folder / "likeforlike.toml").write_bytes(text)
    if draw.happens(0.2):
        (shell.folder / "likeforlike.toml").write_bytes(_damaged(draw, text))
    words = ["audit", *table, *shell.option("--policy", "likeforlike.toml")]
    words += shell.option("--permutations", "9")
    right = [
        ("--junit", "out.xml"),
        ("--json", "a.json"),
        ("--report", "p.html"),
        ("--unit", "EUR"),
    ]
    wrong = [
        ("--threshold", "0.1"),
        ("--score", name("debt")),
        ("--of", "gap"),
        ("--policy", "none.toml"),
    ]
    shell.call(*words, *_mix(shell, right, wrong, in_options))


def _in_folder(run: Callable[[Shell], None]) -> Callable[[Draw], None]:
    def call(draw: Draw) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(Shell(draw, Path(folder)))

    return call


TARGETS = {
    "likeforlike audit": Target(_in_folder(_audit), 100),
    "likeforlike audit --policy": Target(_in_folder(_policy), 30),
    "likeforlike summarize": Target(_in_folder(_summarize), 50),
    "likeforlike sweep": Target(_in_folder(_sweep), 15),
    "likeforlike custodian": Target(_in_folder(_teams), 60),
    "likeforlike schema": Target(_in_folder(_lists), 20),
}
