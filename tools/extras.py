"""Install the package as users do, with every Python and extra, and run the lines of the README.

    python -m tools.extras                                    # all of them, some minutes each
    python -m tools.extras --python python3.12 --extra base --extra duckdb

The source distribution is built first and the wheel from it. Each environment is new, holds the
wheel with one extra alone (`base`: with none), and is removed before the next is made. A line works
(exit code 0, 1 or 3) if the environment has the extra that it needs, and names that extra if not.
It needs nothing but Python with pip.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["main", "readme_lines"]

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
BASE = "base"
# The extras that a line without one may name: that of Dask brings torch, which is asked for first.
_NAMED = {
    name: (name,)
    for name in ("train", "boost", "catboost", "plot", "excel", "app", "mlflow", "duckdb", "spark")
}
_NAMED |= {"dask": ("dask", "train")}  # type: ignore[dict-item]
# For those who work on the library; no line of the README is for them.
_DEVELOPING = ("bench", "docs", "dev")
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_ROLES = "--score approved --sensitive sex --legitimate income"
_BEGIN = (
    "import likeforlike as lfl; from likeforlike.datasets import make_loans; "
    "loans = make_loans(1000, gap=0.15); X, y = loans.inputs().matrix, loans.targets; "
    "who = {'sensitive_features': loans.groups, 'legitimate_features': loans.levels}; "
    "audited = lambda: lfl.audit(loans.frame, score='approved', sensitive='sex', permutations=9); "
)
_SWEEP = (
    "sweep loans.csv --target approved --sensitive sex --legitimate income --seeds 1 --epochs 1"
)


class Line(NamedTuple):
    """A line of a shell, and the extra without which it cannot work."""

    text: str
    extra: str = BASE


# What the README describes without a line of its own, or in Python.
_MORE = (
    Line("likeforlike --help"),
    Line("likeforlike demo"),
    Line(f"likeforlike summarize loans.csv {_ROLES} --out loans.cells"),
    Line("likeforlike audit-summaries loans.cells --json loans.json --threshold 0.05"),
    Line("likeforlike datasets"),
    Line(f"likeforlike audit loans.csv {_ROLES} --engine duckdb", "duckdb"),
    Line(f"likeforlike audit loans.csv {_ROLES} --engine spark", "spark"),
    Line(f"likeforlike audit loans.xlsx {_ROLES}", "excel"),
    Line(
        'python -c "import _thread, threading; from likeforlike.cli import app; '
        "threading.Timer(5.0, _thread.interrupt_main).start(); app(['app', '--no-browser'])\"",
        "app",
    ),
    Line(f"likeforlike {_SWEEP} --out dasked --dask tcp://127.0.0.1:1", "dask"),
    Line(
        f'python -c "{_BEGIN}lfl.FairClassifier(strength=1.0, max_epochs=2).fit(X, y, **who)"',
        "train",
    ),
    Line(f'python -c "{_BEGIN}lfl.FairLGBMClassifier(strength=1.0).fit(X, y, **who)"', "boost"),
    Line(f'python -c "{_BEGIN}lfl.FairXGBClassifier(strength=1.0).fit(X, y, **who)"', "boost"),
    Line(
        f'python -c "{_BEGIN}lfl.FairCatBoostClassifier(strength=1.0).fit(X, y, **who)"', "catboost"
    ),
    Line(f'python -c "{_BEGIN}audited().plot()"', "plot"),
    Line(
        f'python -c "{_BEGIN}from likeforlike.integrations import log_to_mlflow; '
        'log_to_mlflow(audited())"',
        "mlflow",
    ),
)

_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# What a workbook must have beside its rows.
_WORKBOOK = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_OFFICE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/s.xml" ContentType="{_OFFICE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_LINKS}"><sheets>'
    '<sheet name="loans" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_LINKS}/worksheet" Target="s.xml"/></Relationships>',
}


def write_workbook(path: Path) -> None:
    """Write loans as Excel would, with nothing but Python."""
    rows = [["approved", "sex", "income"]]
    rows += [[str(k % 3 % 2), "fm"[k % 2], ("low", "high")[k // 2 % 2]] for k in range(200)]
    text = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>"
        for row in rows
    )
    sheet = f'<worksheet xmlns="{_SHEET}"><sheetData>{text}</sheetData></worksheet>'
    with zipfile.ZipFile(path, "w") as file:
        for name, content in {**_WORKBOOK, "xl/s.xml": sheet}.items():
            file.writestr(name, content)


def readme_lines(text: str) -> Iterator[Line]:
    r"""Lines of the console blocks of a page, without those that build or train for hours.

    Examples
    --------
    >>> from tools.extras import readme_lines
    >>> page = "```console\nmake test\nlikeforlike sweep t.csv \\\n    --out o  # trains\n```"
    >>> list(readme_lines(page))
    [Line(text='likeforlike sweep t.csv --out o', extra='train')]
    """
    for block in _BLOCK.findall(text):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            words = line.removeprefix("$ ").partition("  #")[0].strip()
            if words.startswith(("likeforlike", "python")) and " reproduce" not in words:
                yield Line(words, "train" if words.startswith("likeforlike sweep") else BASE)


def _run(arguments: Sequence[object] | str, **settings: object) -> subprocess.CompletedProcess[str]:
    """Run without what would show the environment of the caller to another."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    # The small MLflow of the extra keeps runs nowhere unless it is told where.
    kept |= {"MLFLOW_TRACKING_URI": "file:runs", "MLFLOW_ALLOW_FILE_STORE": "true"}
    kept |= {"COLUMNS": "200", "MPLBACKEND": "agg", **settings.pop("env", {})}  # type: ignore[dict-item]
    whole = arguments if isinstance(arguments, str) else [str(each) for each in arguments]
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        whole, capture_output=True, text=True, timeout=1800, check=False, env=kept, **settings
    )


def _needed(arguments: Sequence[object], **settings: object) -> str:
    done = _run(arguments, **settings)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}"[-2000:])
    return done.stdout


def build(python: str, folder: Path) -> Path:
    """Build the source distribution, and the wheel from it, in an environment of its own."""
    home = folder / "builder"
    _needed([python, "-m", "venv", home])
    _needed([home / "bin" / "python", "-m", "pip", "install", "--quiet", "hatchling"])
    make = [home / "bin" / "python", "-m", "hatchling", "build", "-d", folder / "built", "-t"]
    _needed([*make, "sdist"], cwd=ROOT)
    (sdist,) = (folder / "built").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    _needed([*make, "wheel"], cwd=unpacked)
    shutil.rmtree(home)
    (wheel,) = (folder / "built").glob("*.whl")
    return wheel


def find_pythons() -> dict[str, str]:
    """Every supported Python on the PATH and among pyenv's, by version; one of each."""
    found: dict[str, str] = {}
    for version in PYTHONS:
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
        places = [*pyenv.glob(f"{version}*/bin/python{version}")]
        known = [shutil.which(f"python{version}"), *map(str, sorted(places, reverse=True))]
        for place in known:  # a shim of pyenv may stand for a version that is not there
            if place and not _run([place, "-c", "import venv, ensurepip"]).returncode:
                found[version] = place
                break
    return found


def install(python: str, home: Path, wheel: Path, extra: str, needs: set[str]) -> str | None:
    """Make an environment with the wheel and an extra; say why if that is not possible here."""
    _needed([python, "-m", "venv", home])
    pip = [home / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install"]
    pip += ["--quiet", "--prefer-binary", "--constraint", ROOT / "constraints.txt"]
    if "train" in needs:
        # torch goes first, and alone; one that brings gigabytes for graphics cards is left out.
        plan = _run([*pip, "--dry-run", "--report", "-", "--only-binary", "torch", "torch"])
        if plan.returncode:
            return "no torch of the pinned version for this Python"
        wanted = [each["metadata"]["name"] for each in json.loads(plan.stdout)["install"]]
        if any(name.startswith("nvidia") for name in wanted):
            return "the pinned torch for this Python brings packages for graphics cards"
        _needed([*pip, "torch"])
    _needed([*pip, wheel if extra == BASE else f"{wheel}[{extra}]"])
    return None


def megabytes(home: Path) -> float:
    """How large the packages of an environment are, without pip, as they came."""
    files = (each for each in home.rglob("*") if "__pycache__" not in each.parts)
    own = (each for each in files if "pip" not in each.parts and not each.is_symlink())
    return sum(each.stat().st_size for each in own if each.is_file()) / 1e6


def judge(line: Line, needs: set[str], home: Path, folder: Path) -> str:
    """Run a line: "" if it works or names the extra it lacks as it must, else what is wrong."""
    programs = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = _run(line.text, shell=True, cwd=folder, env={"PATH": programs})
    said = (done.stdout + done.stderr).strip()
    last = said.splitlines()[-1] if said else ""
    if line.extra in needs:
        if done.returncode in (0, 1, 3) and "Traceback" not in done.stderr:
            return ""
        # Nothing listens at the address of a cluster that is not there.
        if line.extra == "dask" and done.returncode == 2 and "no Dask scheduler answers" in said:
            return ""
    elif any(f"pip install 'likeforlike[{name}]'" in said for name in _NAMED[line.extra]):
        return ""
    return f"{line.text[:100]}: exit {done.returncode}, {last[:300]}"


def extras_of(project: dict[str, dict[str, list[str]]], extra: str) -> set[str]:
    """An extra and all that it names, and the base."""
    found, open_ = {BASE}, [extra]
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            for needed in project["optional-dependencies"][name]:
                own = re.fullmatch(r"likeforlike\[([\w,]+)\]", needed)
                open_ += own[1].split(",") if own else []
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each Python and extra; 1 if any line did not do what it must."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    users = [each for each in project["optional-dependencies"] if each not in _DEVELOPING]
    parser = argparse.ArgumentParser(prog="python -m tools.extras", description=__doc__)
    parser.add_argument("--python", action="append", help="all that are found by default")
    parser.add_argument("--extra", action="append", help=f"{BASE}, {', '.join(users)}; all of them")
    given = parser.parse_args(arguments)
    pythons = {each: each for each in given.python or ()} or find_pythons()
    lines = [*readme_lines((ROOT / "README.md").read_text("utf-8")), *_MORE]
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="extras-") as place:
        wheel = build(sys.executable, Path(place))
        print(f"{'python':10}{'extra':10}{'install':>9}{'MB':>7}{'lines':>7}{'run':>7}  outcome")  # noqa: T201
        for version, python in pythons.items():
            for extra in given.extra or [BASE, *users]:
                needs = extras_of(project, extra)
                home, work = Path(place, "environment"), Path(place, "work")
                work.mkdir()
                write_workbook(work / "loans.xlsx")
                # The base names the extra of every line; an extra runs its own, and the first two.
                chosen = [
                    line
                    for k, line in enumerate(lines)
                    if k < 2 or extra == BASE or line.extra in needs - {BASE}
                ]
                begin = time.monotonic()
                try:
                    absent = install(python, home, wheel, extra, needs)
                except RuntimeError as error:
                    absent, wrong = f"does not install: {error}", wrong + 1
                ready = time.monotonic()
                bad = [] if absent else [judge(line, needs, home, work) for line in chosen]
                bad = [each for each in bad if each]
                wrong += len(bad)
                count = 0 if absent else len(chosen)
                outcome = absent or "; ".join(bad) or "works"
                print(  # noqa: T201
                    f"{version:10}{extra:10}{ready - begin:8.0f}s{megabytes(home):7.0f}{count:7}"
                    f"{time.monotonic() - ready:6.0f}s  {outcome}",
                    flush=True,
                )
                shutil.rmtree(home, ignore_errors=True)
                shutil.rmtree(work)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
