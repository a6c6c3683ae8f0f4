"""The files that GitHub reads: linted, and held to what the project says elsewhere.

`check-jsonschema` brings the schemas of these files, `zizmor` looks for what makes a workflow
unsafe; neither asks anybody for anything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [
    path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"
]
SCHEMAS = [
    *(("vendor.github-workflows", path) for path in WORKFLOWS),
    *(("vendor.github-issue-forms", path) for path in FORMS),
    ("vendor.github-issue-config", GITHUB / "ISSUE_TEMPLATE" / "config.yml"),
    ("vendor.dependabot", GITHUB / "dependabot.yml"),
    ("vendor.citation-file-format", ROOT / "CITATION.cff"),
]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = [
    found[1]
    for each in PROJECT["classifiers"]
    if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each))
]
PINNED = re.compile(r"uses: (?P<action>[\w./-]+)@(?P<commit>[0-9a-f]{40}) # v\d+\.\d+\.\d+$")


def read(name: str) -> dict[str, Any]:
    """A workflow by its name, as data."""
    found: dict[str, Any] = yaml.safe_load(
        (GITHUB / "workflows" / f"{name}.yml").read_text("utf-8")
    )
    return found


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"].strip() for step in job["steps"] if "run" in step]


def every_command() -> Iterator[str]:
    for path in WORKFLOWS:
        for job in read(path.stem)["jobs"].values():
            yield from commands(job)


# -- Linters --------------------------------------------------------------------------------------


def against_schema(schema: str, path: Path) -> subprocess.CompletedProcess[str]:
    kind = ["--force-filetype", "yaml"]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *kind]
    return subprocess.run(
        [*command, str(path)], capture_output=True, text=True, check=False, timeout=120
    )


def for_safety(*paths: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "zizmor"
    return subprocess.run(
        [str(program), "--offline", "--no-progress", *map(str, paths)],
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.process
@pytest.mark.parametrize(("schema", "path"), SCHEMAS, ids=lambda each: getattr(each, "name", None))
def test_a_file_follows_its_schema(schema: str, path: Path) -> None:
    done = against_schema(schema, path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
def test_nothing_unsafe_is_found() -> None:
    done = for_safety(*WORKFLOWS, GITHUB / "dependabot.yml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
@pytest.mark.parametrize(("schema", "path"), SCHEMAS, ids=lambda each: getattr(each, "name", None))
def test_a_broken_file_is_seen(schema: str, path: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(f"unheard-of: [1]\n{path.read_text('utf-8')}", "utf-8")
    assert against_schema(schema, broken).returncode == 1


@pytest.mark.process
@pytest.mark.parametrize(
    ("safe", "unsafe"),
    [
        ("@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2", "@v6"),
        ("permissions:\n  contents: read\n", "permissions: write-all\n"),
        ("run: make test", "run: echo ${{ github.event.pull_request.title }} && make test"),
        ("        with:\n          persist-credentials: false\n", ""),
    ],
)
def test_an_unsafe_workflow_is_seen(safe: str, unsafe: str, tmp_path: Path) -> None:
    text = (GITHUB / "workflows" / "tests.yml").read_text("utf-8")
    assert safe in text
    changed = tmp_path / ".github" / "workflows" / "tests.yml"
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(safe, unsafe), "utf-8")
    assert for_safety(changed).returncode > 10  # its codes for findings; others are for trouble


# -- What holds for all ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_rights_are_the_least_and_jobs_end(path: Path) -> None:
    workflow = read(path.stem)
    assert workflow["permissions"] == {"contents": "read"}
    assert "group" in workflow["concurrency"]
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    assert "secrets." not in path.read_text("utf-8")


def test_only_these_jobs_may_write() -> None:
    rights = {
        job: given["permissions"]
        for path in WORKFLOWS
        for job, given in read(path.stem)["jobs"].items()
        if "permissions" in given
    }
    assert rights == {
        "deploy": {"pages": "write", "id-token": "write"},
        "publish": {"id-token": "write"},
        "announce": {"contents": "write"},
    }


def test_an_action_is_pinned_to_one_commit_everywhere() -> None:
    commits = defaultdict(set)
    for path in WORKFLOWS:
        for line in path.read_text("utf-8").splitlines():
            if "uses:" in line:
                found = PINNED.search(line)
                assert found, f"{path.name}: {line.strip()}"
                commits[found["action"]].add(found["commit"])
    assert "actions/checkout" in commits
    assert {action for action, found in commits.items() if len(found) > 1} == set()


def test_what_commands_name_is_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    text = "\n".join(every_command())
    named = set(re.findall(r"\bmake ([\w-]+)", text))
    assert "test" in named
    assert named <= targets
    tests = re.findall(r"\btests/[\w/.]+", text)
    assert len(tests) > 10
    assert [each for each in tests if not (ROOT / each).exists()] == []
    asked = {extra for each in re.findall(r"\"\.\[([\w,]+)\]\"", text) for extra in each.split(",")}
    assert asked
    assert asked <= set(PROJECT["optional-dependencies"])


# -- Tests ----------------------------------------------------------------------------------------


def test_every_python_we_name_runs_everything_and_the_ends_run_elsewhere() -> None:
    jobs = read("tests")["jobs"]
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    assert jobs["full"]["strategy"]["matrix"]["python"] == PYTHONS
    assert "make test" in commands(jobs["full"])
    elsewhere = jobs["elsewhere"]["strategy"]["matrix"]
    assert elsewhere["python"] == [PYTHONS[0], PYTHONS[-1]]
    assert [each.partition("-")[0] for each in elsewhere["system"]] == ["macos", "windows"]


def test_lines_are_counted_with_one_python() -> None:
    steps = read("tests")["jobs"]["full"]["steps"]
    counting = {step["if"] for step in steps if "if" in step}
    (condition,) = counting
    assert condition == f"matrix.python == '{PYTHONS[-1]}'"
    (test,) = (step for step in steps if step.get("run") == "make test")
    assert test["env"]["PYTEST_ADDOPTS"].startswith(f"${{{{ {condition} && '--cov ")


def test_the_lowest_versions_are_those_of_the_project() -> None:
    job = read("tests")["jobs"]["lowest"]
    (python,) = (
        step["with"]["python-version"] for step in job["steps"] if "setup-python" in str(step)
    )
    assert python == PYTHONS[0]
    bounds, *installs, test = commands(job)
    extras = re.fullmatch(r"python -m tools\.lowest ([\w ]+) \| tee lowest\.txt", bounds)
    assert extras is not None
    assert set(extras[1].split()) == set(PROJECT["optional-dependencies"]) - {"all"}
    assert installs
    assert all("pip install --constraint lowest.txt" in each for each in installs)
    assert "pytest" in test


def test_the_bare_install_has_no_extra() -> None:
    install, test = commands(read("tests")["jobs"]["base"])
    assert install == "python -m pip install . hatchling hypothesis pytest"
    assert test == "python -m pytest tests/project/test_wheel.py"


# -- Releases and the site ------------------------------------------------------------------------


def test_a_release_is_published_by_trust_and_never_by_a_token() -> None:
    text = (GITHUB / "workflows" / "release.yml").read_text("utf-8")
    assert '\non:\n  push:\n    tags: ["v*"]\n\n' in text
    jobs = read("release")["jobs"]
    assert jobs["publish"]["environment"]["name"] == "pypi"
    (upload,) = (step for step in jobs["publish"]["steps"] if "pypi-publish" in step["uses"])
    assert "with" not in upload
    assert "env" not in upload


def test_nothing_is_published_that_was_not_checked() -> None:
    jobs = read("release")["jobs"]
    names = ("build", "wheels", "check", "publish", "announce")
    assert [jobs[name].get("needs") for name in names] == [None, *names[:-1]]
    assert jobs["wheels"]["strategy"]["matrix"]["python"] == PYTHONS
    assert "python -m hatchling build -t wheel -d dist" in commands(jobs["wheels"])
    built = "\n".join(commands(jobs["build"]))
    assert 'python -m tools.release "$GITHUB_REF_NAME" > notes.md' in built
    assert "twine check --strict dist/*" in built
    checked = "\n".join(commands(jobs["check"]))
    assert 'pip install --find-links dist "likeforlike==${GITHUB_REF_NAME#v}"' in checked
    assert "test -z \"$(find numba -name '*.nbc')\"" in checked
    assert "likeforlike audit loans.csv" in checked
    assert not any("checkout" in step.get("uses", "") for step in jobs["check"]["steps"])
    assert "--notes-file notes/notes.md" in "\n".join(commands(jobs["announce"]))


def test_the_site_is_built_strictly_and_shown_from_main_alone() -> None:
    jobs = read("docs")["jobs"]
    assert "mkdocs build --strict" in commands(jobs["build"])
    assert jobs["deploy"]["if"] == "github.ref == 'refs/heads/main'"
    assert jobs["deploy"]["needs"] == "build"


def test_addresses_agree() -> None:
    urls = PROJECT["urls"]
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert f"site_url: {urls['Documentation']}\n" in site
    assert f"repo_url: {urls['Source']}\n" in site
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (citation["repository-code"], citation["url"]) == (urls["Source"], urls["Documentation"])
    assert all(url.startswith((urls["Source"], urls["Documentation"])) for url in urls.values())
