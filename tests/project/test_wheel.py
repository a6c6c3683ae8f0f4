"""What people install: the wheel, alone in an environment that has nothing else of ours.

Built from the source distribution, as it is for those who have no wheel, and installed without
extras: beside the wheel the environment sees what its metadata ask for, linked from the environment
of the tests, and nothing else. Auditing must work with that; everything else must say which extra
it lacks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from importlib.metadata import Distribution, distribution, requires, version
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import likeforlike
from likeforlike.datasets._public import SOURCES as PUBLIC
from tools.kernels import find_processors

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
SOURCES = {source.name: source for source in PUBLIC}
ROLES = ["--score", "approved", "--sensitive", "sex", "--legitimate", "income"]
KINDS = ("Classifier", "Regressor")
BRINGS = "is not installed; pip install 'likeforlike[train]' brings it."
OPTIONAL = [
    "catboost",
    "duckdb",
    "lightgbm",
    "pandas",
    "pyarrow",
    "pyspark",
    "sklearn",
    "torch",
    "xgboost",
]


def run(arguments: Sequence[object], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run in a folder, with nothing of the environment that the tests run in."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "COLUMNS")
    }
    # Wheels get the machine code of audits, for this machine alone, which is soon compiled.
    ours = {"COLUMNS": "200", "LIKEFORLIKE_KERNELS": "--here --calls audit"}
    return subprocess.run(
        [str(argument) for argument in arguments],
        cwd=folder,
        env={**kept, **ours, "NUMBA_CACHE_DIR": str(folder / "numba")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def build(kind: str, source: Path, folder: Path) -> Path:
    done = run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder], source)
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        # Our own archive. The first versions of Python 3.11 know no filter, the last ones want one.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    (unpacked,) = folder.iterdir()
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


class Installed(NamedTuple):
    """An environment with the wheel, and a folder with a table of loans to work in."""

    programs: Path
    folder: Path

    def likeforlike(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return run([self.programs / "likeforlike", *arguments], self.folder)

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        return run([self.programs / "python", "-c", code], self.folder)


def required(packages: Path) -> set[str]:
    """What the installed wheel asks for without extras, and what that asks for in turn."""
    (metadata,) = packages.glob("likeforlike-*.dist-info")
    asked = list(Distribution.at(metadata).requires or [])
    found: set[str] = set()
    while asked:
        needed = Requirement(asked.pop())
        name = canonicalize_name(needed.name)
        if name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            assert needed.specifier.contains(version(name)), needed
            found.add(name)
            asked += requires(name) or []
    return found


def link(name: str, packages: Path) -> None:
    """Make an installed distribution visible in another environment, and nothing else with it."""
    files = distribution(name).files
    assert files, f"{name} does not say which files it has"
    for top in {file.parts[0] for file in files if ".." not in file.parts}:
        place = Path(str(distribution(name).locate_file(top)))
        if place.exists() and not (packages / top).exists():
            (packages / top).symlink_to(place, target_is_directory=place.is_dir())


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    home = tmp_path_factory.mktemp("environment")
    venv.create(home)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        programs / "python",
    ]
    done = run([*pip, "install", "--quiet", "--no-deps", wheel], home)
    assert done.returncode == 0, done.stderr
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(home)}))
    for name in required(packages):
        link(name, packages)
    found = Installed(programs, tmp_path_factory.mktemp("work"))
    write = 'load_loans(1000).frame.write_csv("loans.csv")'
    done = found.python(f"from likeforlike.datasets import load_loans; {write}")
    assert done.returncode == 0, done.stderr
    return found


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    code = {name for name in held if name.startswith("likeforlike/machine_code/")}
    assert len(code) == len(find_processors(all_kinds=False))
    wanted = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "likeforlike").rglob("*")
        # What Python, numba and jinja2 keep as they run, and an editable installation.
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".kernels"
    }
    assert held - code == wanted
    assert {
        "likeforlike/py.typed",
        "likeforlike/report/templates/page.html.j2",
        "likeforlike/report/templates/page.css",
        "likeforlike/paper/published.csv",
        "likeforlike/datasets/bundled/ATTRIBUTION.txt",
        "likeforlike/datasets/bundled/drug/drug_consumption.data.xz",
    } <= held


def test_the_source_distribution_holds_what_its_pages_and_tests_speak_of(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
    wanted = {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"}
    wanted |= {"Makefile", "conftest.py", "constraints.txt", "mkdocs.yml"}
    wanted |= {"CITATION.cff", "CODE_OF_CONDUCT.md", "SECURITY.md"}
    wanted |= {"tools/site_theme/partials/source.html"}
    folders = {".github", "benchmarks", "docs", "examples", "src", "tests", "tools"}
    assert wanted - held == set()
    assert folders - {Path(name).parts[0] for name in held if "/" in name} == set()


def members(path: Path) -> dict[str, bytes]:
    """Every file of an archive with its content."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(path) as sdist:
        opened = {found.name: sdist.extractfile(found) for found in sdist}
        return {name: file.read() for name, file in opened.items() if file is not None}


@pytest.mark.parametrize("kind", ["sdist", "wheel"])
def test_data_that_may_not_be_passed_on_are_not(kind: str, request: pytest.FixtureRequest) -> None:
    """No license is known for Law School; the data sets that come along have one that allows it."""
    held = members(request.getfixturevalue(kind))
    (law_school,) = SOURCES["law_school"].files
    assert not [name for name in held if Path(law_school.path).name in name]
    assert not [name for name, content in held.items() if law_school.damage(content) is None]
    allowed = {
        Path(f"{file.path}.xz").name
        for name in ("adult", "drug", "communities")
        for file in SOURCES[name].files
    }
    assert {Path(name).name for name in held if name.endswith(".xz")} == allowed
    assert [name for name in held if name.endswith("bundled/ATTRIBUTION.txt")]


def test_a_wheel_with_machine_code_is_for_one_python_and_system(wheel: Path) -> None:
    python, _, system = wheel.stem.split("-")[-3:]
    if find_processors(all_kinds=False):
        assert python == f"cp{sys.version_info.major}{sys.version_info.minor}"
        assert system != "any"
    else:
        assert (python, system) == ("py3", "any")


def test_the_wheel_is_small_and_says_on_what_terms_it_comes(wheel: Path) -> None:
    assert wheel.stat().st_size < 2_000_000
    (metadata,) = (
        content.decode() for name, content in members(wheel).items() if name.endswith("/METADATA")
    )
    assert "License-Expression: BSD-3-Clause AND CC-BY-4.0\n" in metadata
    for file in ("LICENSE", "src/likeforlike/datasets/bundled/ATTRIBUTION.txt"):
        assert f"License-File: {file}\n" in metadata


def test_public_data_sets_come_along(installed: Installed) -> None:
    """With nothing set, and a cache that could not even be made."""
    code = """
import os
os.environ["LIKEFORLIKE_DATA"] = ""
os.environ["LIKEFORLIKE_CACHE"] = "loans.csv/cache"
from likeforlike.datasets import available, load_adult, load_communities, load_drug
print([data.frame.height for data in (load_adult(), load_communities(), load_drug())])
print([found.name for found in available() if found.state == "with the package"])
"""
    done = installed.python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[46033, 1994, 1885]\n['adult', 'drug', 'communities']\n"


def test_the_environment_has_no_extra(installed: Installed) -> None:
    code = f"from importlib.util import find_spec\nprint([m for m in {OPTIONAL} if find_spec(m)])"
    assert installed.python(code).stdout.strip() == "[]"
    version = installed.python("import likeforlike; print(likeforlike.__version__)")
    assert version.stdout.strip() == likeforlike.__version__
    place = installed.python("import likeforlike; print(likeforlike.__file__)").stdout
    assert str(ROOT) not in place


def test_an_audit_of_a_file_needs_no_extra(installed: Installed) -> None:
    written = ["--report", "page.html", "--json", "audit.json"]
    done = installed.likeforlike("audit", "loans.csv", *ROLES, "--threshold", 0.05, *written)
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    headline = "Women are approved less often than men with the same income: 20 points"
    assert headline in done.stdout
    assert headline in (installed.folder / "page.html").read_text()
    # The first audit in this environment: it has found all of its machine code.
    compiled = list((installed.folder / "numba").rglob("*.nbc"))
    assert bool(compiled) != bool(find_processors(all_kinds=False))
    document = json.loads((installed.folder / "audit.json").read_text())
    assert document["finding"]["headline"] == f"{headline}."
    assert document["provenance"]["versions"]["likeforlike"] == likeforlike.__version__


def test_a_demonstration_without_extras_audits_and_says_what_training_lacks(
    installed: Installed,
) -> None:
    done = installed.likeforlike("demo", "--report", "demo.html")
    assert done.returncode == 0, done.stderr
    assert f"No model was trained: sklearn {BRINGS}" in done.stdout
    assert "Simpson" in (installed.folder / "demo.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "lacking", "extra"),
    [
        (("sweep", "loans.csv", "--target", "approved", "--sensitive", "sex"), "torch", "train"),
        (("reproduce", "--quick"), "torch", "train"),
        (("app", "--no-browser"), "uvicorn", "app"),
        (("audit", "loans.csv", *ROLES, "--engine", "duckdb"), "duckdb", "duckdb"),
        (("audit", "loans.csv", *ROLES, "--engine", "spark"), "pyspark", "spark"),
    ],
)
def test_commands_name_the_extra_they_lack(
    installed: Installed, arguments: tuple[str, ...], lacking: str, extra: str
) -> None:
    before = set(installed.folder.iterdir())
    done = installed.likeforlike(*arguments)
    assert done.returncode == 2
    assert done.stderr == (
        f"likeforlike: {lacking} is not installed; pip install 'likeforlike[{extra}]' brings it.\n"
    )
    assert done.stdout == ""
    assert set(installed.folder.iterdir()) == before


LOOK = """
import importlib, json, pkgutil
import likeforlike
lacking = {}
for found in pkgutil.iter_modules(likeforlike.__path__, "likeforlike."):
    try:
        importlib.import_module(found.name)
    except likeforlike.errors.InputError as error:
        lacking[found.name.partition(".")[2]] = str(error)
for name in likeforlike.__all__:
    try:
        getattr(likeforlike, name)
    except (likeforlike.errors.InputError, AttributeError) as error:
        lacking[name] = str(error)
print(json.dumps(lacking))
"""


def test_modules_and_names_load_without_extras_or_name_the_one_they_lack(
    installed: Installed,
) -> None:
    done = installed.python(LOOK)
    assert done.returncode == 0, done.stderr
    lacking = json.loads(done.stdout)
    extras = {"LGBM": "boost", "XGB": "boost", "CatBoost": "catboost"}
    trees = {f"Fair{library}{kind}": extras[library] for library in extras for kind in KINDS}
    repairs = {"FairDecisions", "RepairedClassifier", "RepairedRegressor", "UnawareRepair"}
    assert set(lacking) == {*(f"Fair{kind}" for kind in KINDS), *repairs, *trees}
    for name, message in lacking.items():
        brings = BRINGS.replace("train", trees.get(name, "train"))
        assert message.endswith(brings), lacking


def test_objectives_for_boosting_and_repair_need_no_extra(installed: Installed) -> None:
    """The libraries that grow the trees are the user's to import."""
    code = """
import likeforlike as lfl
from likeforlike.training import lightgbm_objective, probabilities
from likeforlike.datasets import make_loans
from likeforlike.repair import ConditionalBarycenter
loans = make_loans(1000, gap=0.2)
objective = lightgbm_objective(lfl.FairLeap(), 1.0, loans.groups, loans.levels)
gradient, hessian = objective(loans.targets, 0.0 * loans.targets)
assert gradient.shape == hessian.shape == (1000,)
who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
scores = loans.frame["score"].to_numpy()
repaired = ConditionalBarycenter().fit(scores, **who).transform(scores, **who)
before, after = (float(lfl.cdd_lp(f, loans.groups, loans.levels)) for f in (scores, repaired))
assert after < 0.2 * before
"""
    done = installed.python(code)
    assert done.returncode == 0, done.stderr
