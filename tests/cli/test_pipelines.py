"""One policy, five entrances: Python, the command line, JUnit, pytest and MLflow say the same."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
import xmlschema

import likeforlike as lfl
from likeforlike import Audit
from likeforlike.auditing import Policy
from likeforlike.errors import InconclusiveWarning, InputError, MissingDependencyError
from likeforlike.integrations import github_annotations, github_summary, junit, log_to_mlflow
from likeforlike.testing import assert_parity
from tests.support.command import call

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).with_name("jenkins-junit.xsd")))
VERDICT_OF = {0: "pass", 1: "fail", 3: "investigate"}
HOSTILE = "=1+1 <b>&\u202e|`x`\n::error::%0A\ufffe"


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """MLflow with a store of files."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("GIT_PYTHON_REFRESH", "quiet")
        import mlflow

        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri((tmp_path_factory.mktemp("mlflow") / "runs").as_uri())
        yield mlflow
        mlflow.set_tracking_uri(before)


def table(random: np.random.Generator) -> pl.DataFrame:
    """Two to four groups, sometimes apart, sometimes so few that nothing is settled."""
    rows, groups = int(random.integers(20, 200)), int(random.choice([2, 2, 2, 3]))
    group = random.integers(0, groups, rows)
    level = random.integers(0, 2, rows)
    score = random.normal(size=rows) + random.choice([0.0, 0.3, 2.0]) * group
    if groups > 2 and random.random() < 0.2:  # the last group meets nobody
        level[group == groups - 1] = 9
    return pl.DataFrame({"score": score, "group": [f"g{k}" for k in group], "level": level}).sort(
        "group"
    )


def policy_text(random: np.random.Generator) -> str:
    lines = [
        'score = "score"',
        'sensitive = "group"',
        'legitimate = ["level"]',
        "permutations = 9",
        f"threshold = {random.choice([0.2, 0.8, 3.0])}",
        f'of = "{random.choice(["distance", "gap"])}"',
        'set_by = "board"',
        "set_on = 2026-01-31",
    ]
    if random.random() < 0.4:
        lines += ["[[thresholds]]", 'groups = ["g1", "g0"]', f"threshold = {random.random()}"]
    return "\n".join(lines)


def said_by_junit(text: str) -> str:
    SCHEMA.validate(text)
    [suite] = ET.fromstring(text)
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases)
    failed = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    assert (suite.get("failures"), suite.get("skipped")) == (str(failed), str(skipped))
    return "fail" if failed else "investigate" if skipped else "pass"


def said_by_pytest(audit: Audit, policy: Policy) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            assert_parity(audit, policy=policy)
        except AssertionError:
            return "fail"
    return "investigate" if any(w.category is InconclusiveWarning for w in caught) else "pass"


@pytest.mark.simulation
def test_five_entrances_say_the_same_on_200_audits(mlflow: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(17)
    file, data = tmp_path / "likeforlike.toml", tmp_path / "rows.parquet"
    seen: dict[str, int] = {}
    mlflow.start_run()
    for number in range(200):
        rows, prefix = table(random), f"a{number}"
        file.write_text(policy_text(random), "utf-8")
        policy = Policy.read(file)
        audit = policy.audit(rows)
        verdict = audit.verdicts[0].verdict
        rows.write_parquet(data)
        called = call("audit", data, "--policy", file, "--junit", tmp_path / "out.xml")
        run_id = log_to_mlflow(audit, prefix=prefix, files=False)
        # Tags of one run: reading 200 runs one by one would take longer than auditing them.
        others = (
            VERDICT_OF[called.returncode],
            said_by_junit((tmp_path / "out.xml").read_text("utf-8")),
            said_by_pytest(audit, policy),
        )
        assert set(others) == {verdict}
        seen[prefix] = {"pass": 0, "fail": 1, "investigate": 3}[verdict]
    tags = mlflow.get_run(run_id).data.tags
    mlflow.end_run()
    assert {name: tags[f"{name}.verdict"] for name in seen} == {
        name: VERDICT_OF[code] for name, code in seen.items()
    }
    assert min(list(seen.values()).count(code) for code in VERDICT_OF) >= 20


@pytest.fixture(scope="module")
def hostile() -> Audit:
    """Names that would steer XML, Markdown, a runner or a page."""
    random = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            HOSTILE: random.normal(size=200),
            "sex": [f"{HOSTILE}{k % 2}" for k in range(200)],
            "level": ["a", "a", "b", "b"] * 50,
        }
    )
    audit = lfl.audit(rows, score=HOSTILE, sensitive="sex", legitimate="level", permutations=9)
    audit = audit.with_threshold(0.0).with_threshold(0.05).with_threshold(9.0)
    said = [verdict.verdict for verdict in audit.verdicts]
    assert said == ["investigate", "investigate", "pass"]
    return audit


def test_junit_holds_what_xml_can_hold(hostile: Audit, tmp_path: Path) -> None:
    text = junit(hostile.document)
    (tmp_path / "out.xml").write_text(text, "utf-8")
    SCHEMA.validate(tmp_path / "out.xml")
    suites = ET.fromstring(text)
    assert len(suites) == 3
    assert "\\u202e" in text
    assert not any(hidden in text for hidden in "\u202e\ufffe\x1b")


def test_github_obeys_no_label(hostile: Audit) -> None:
    document = hostile.to_dict()
    for line in github_annotations(document):
        assert re.match(r"::(notice|warning) title=[^:,]*::", line)
        assert "\n" not in line
    assert [line.split()[0] for line in github_annotations(document)] == [
        "::warning",
        "::warning",
        "::notice",
    ]
    summary = github_summary(document)
    assert "<b>" not in summary
    assert "\n::" not in summary
    assert not re.search(r"(?<!\\)`", summary)


def test_no_verdict_no_junit(tmp_path: Path) -> None:
    rows = table(np.random.default_rng(3))
    rows.write_parquet(tmp_path / "rows.parquet")
    asked = ("--score", "score", "--sensitive", "group", "--junit", "out.xml", "--json", "out.json")
    called = call("audit", "rows.parquet", *asked, cwd=tmp_path)
    assert called.returncode == 2
    assert "--junit needs a verdict; give --threshold, or a --policy with one" in called.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]
    audit = lfl.audit(rows, score="score", sensitive="group", permutations=0)
    with pytest.raises(InputError, match="a JUnit file needs a verdict"):
        junit(audit.to_dict())


@pytest.mark.parametrize(
    ("threshold", "command"), [(3.0, "notice"), (0.0001, "error"), (0.55, "warning")]
)
def test_a_run_on_github_gets_a_summary_and_an_annotation(
    threshold: float, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(5)
    half = np.arange(400) % 2
    rows = pl.DataFrame({"score": random.normal(size=400) + 0.5 * half, "sex": half})
    rows.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    roles = ("--score", "score", "--sensitive", "sex", "--permutations", 99)
    called = call("audit", "rows.parquet", *roles, "--threshold", threshold, cwd=tmp_path)
    [line] = [line for line in called.stdout.splitlines() if line.startswith("::")]
    assert line.startswith(f"::{command} title=score by sex%3A {VERDICT_OF[called.returncode]}::")
    written = (tmp_path / "summary.md").read_text("utf-8")
    assert written.startswith("before\n### ")
    assert f"{VERDICT_OF[called.returncode]}**" in written
    assert "| sex 0 and sex 1 |" in written
    # Standard output belongs to the JSON.
    called = call("audit", "rows.parquet", *roles, "--threshold", 9, "--json", "-", cwd=tmp_path)
    assert "::notice" in called.stderr
    assert "::notice" not in called.stdout


# Policies ---------------------------------------------------------------------------------------

GOOD = """
score = "score"
sensitive = "group"
legitimate = "level"
permutations = 19
threshold = 5
set_by = "board"
set_on = "2026-01-31"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "likeforlike.toml"
    path.write_text(GOOD, "utf-8")
    return path


ROWS = table(np.random.default_rng(1))


def test_a_section_of_pyproject_is_a_policy(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "pyproject.toml"
    other.write_text(f"[project]\nname = 'x'\n[tool.likeforlike]\n{GOOD}", "utf-8")
    one, two = Policy.read(file), Policy.read(other)
    assert (one.arguments, one.thresholds) == (two.arguments, two.thresholds)
    assert one.thresholds[0].set_on == "2026-01-31"
    other.write_text("[project]\nname = 'x'\n", "utf-8")
    with pytest.raises(InputError, match=r"has no section \[tool.likeforlike\]"):
        Policy.read(other)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("score = ", "is not TOML"),
        ("treshold = 0.1", "there is no entry 'treshold'; did you mean 'threshold'"),
        ("xyz = 0.1", "there is no entry 'xyz'."),
        ("threshold = -1", "likeforlike.toml: threshold must be a finite number"),
        ("threshold = 'low'", "threshold must be a number such as 0.05, or a percentage"),
        ("threshold = 1\nof = 'ratio'", "of must be one of"),
        ("of = 'gap'", "'of' is there, but no threshold"),
        ("threshold = 1\nset_on = 'soon'", "set_on must be a day"),
        ("threshold = 1\nset_by = 3", "set_by must be text"),
        ("thresholds = 3", "thresholds must be tables"),
        ("[[thresholds]]\ngroups = ['a', 'b']", "has no threshold"),
        ("[[thresholds]]\ngroups = ['a']\nthreshold = 1", "must be two different ones"),
        ("[[thresholds]]\ngroups = ['a', 'a']\nthreshold = 1", "must be two different ones"),
        ("[[thresholds]]\ngroups = ['a', 'b']\nthreshold = 1\nwho = 1", "has no entry 'who'"),
        (
            "thresholds = [{groups=['a', 'b'], threshold=1}, {groups=['b', 'a'], threshold=2}]",
            "for the same groups",
        ),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(text: str, complaint: str, file: Path) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises(InputError, match=re.escape(complaint)):
        Policy.read(file)


def test_what_a_policy_says_cannot_be_said_otherwise(file: Path, tmp_path: Path) -> None:
    policy = Policy.read(file)
    with pytest.raises(InputError, match=r"permutations is set by the policy likeforlike.toml"):
        policy.audit(ROWS, permutations=9)
    ROWS.write_parquet(tmp_path / "rows.parquet")
    for option in (("--permutations", 9), ("--threshold", 0.1), ("--score", "score")):
        called = call("audit", "rows.parquet", "--policy", file, *option, cwd=tmp_path)
        assert called.returncode == 2
        assert f"{option[0][2:]} is set by the policy likeforlike.toml" in called.stderr
    with pytest.raises(InputError, match="of is set by the policy"):
        assert_parity(ROWS, policy=file, of="gap")


def test_an_audit_of_other_roles_is_not_judged(file: Path) -> None:
    other = lfl.audit(ROWS, score="score", sensitive="group", permutations=19)
    with pytest.raises(InputError, match=r"says legitimate = 'level', but the audit has \(\)"):
        Policy.read(file).judge(other)
    again = lfl.audit(
        ROWS, score="score", sensitive="group", legitimate="level", permutations=19, min_cell=5
    )
    assert Policy.read(file).judge(again).policy == "likeforlike.toml"
    file.write_text(GOOD.replace("threshold = 5", "resolution = 0.1\nthreshold = 5"), "utf-8")
    with pytest.raises(InputError, match=r"resolution = 0.1, but the audit has 0.0"):
        Policy.read(file).judge(again)


@pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")
def test_bins_of_a_policy_are_those_of_the_audit(file: Path) -> None:
    text = GOOD.replace("threshold = 5", "bins = {level = [0, 1]}\nthreshold = 5")
    file.write_text(text, "utf-8")
    policy = Policy.read(file)
    audit = policy.audit(ROWS)
    assert audit.table.edges == {"level": (0.0, 1.0)}
    assert policy.judge(audit) is not None
    file.write_text(text.replace("[0, 1]", "[0, 2]"), "utf-8")
    with pytest.raises(InputError, match="says bins = "):
        Policy.read(file).judge(audit)


def test_a_policy_may_name_several_sensitive_columns(file: Path) -> None:
    several = GOOD.replace('"group"', '["group", "level"]').replace('legitimate = "level"\n', "")
    file.write_text(several, "utf-8")
    policy = Policy.read(file)
    audit = policy.audit(ROWS.with_columns(level=pl.lit("l") + pl.col("level").cast(pl.String)))
    assert audit.roles.all_sensitive == ("group", "level")
    assert [ruling.policy for ruling in audit.verdicts] == ["likeforlike.toml"]
    file.write_text(GOOD.replace('legitimate = "level"\n', ""), "utf-8")
    with pytest.raises(InputError, match="says sensitive = 'group', but the audit has"):
        Policy.read(file).judge(audit)


def test_a_policy_without_thresholds_gives_no_verdict(file: Path) -> None:
    file.write_text(GOOD.partition("threshold")[0], "utf-8")
    policy = Policy.read(file)
    audit = policy.audit(ROWS)
    assert audit.verdicts == ()
    with pytest.raises(InputError, match="has no threshold; give it one"):
        policy.judge(audit)


# Assertions -------------------------------------------------------------------------------------

ROLES: dict[str, Any] = {"score": "score", "sensitive": "sex", "permutations": 49}


def apart(gap: float, rows: int) -> pl.DataFrame:
    half = np.arange(rows) % 2
    score = np.random.default_rng(2).normal(size=rows) + gap * half
    return pl.DataFrame({"score": score, "sex": np.where(half, "m", "f")})


def test_an_assertion_fails_with_its_reasons() -> None:
    with pytest.raises(AssertionError, match=r"Threshold 0.1: fail .*\n  f and m: at least"):
        assert_parity(apart(2.0, 400), 0.1, **ROLES)


def test_investigate_is_a_warning_and_pass_is_silent() -> None:
    with pytest.warns(InconclusiveWarning, match="the evidence does not settle it") as caught:
        assert_parity(apart(0.0, 40), 0.1, **ROLES)
    assert Path(caught[0].filename).name == "test_pipelines.py"
    audit = assert_parity(apart(0.0, 400), 2.0, of="gap", **ROLES)
    assert [(ruling.verdict, ruling.thresholds[0].of) for ruling in audit.verdicts] == [
        ("pass", "gap")
    ]
    again = assert_parity(audit, 3.0)
    assert again.verdicts[:1] == audit.verdicts
    assert [ruling.thresholds[0].value for ruling in again.verdicts] == [2.0, 3.0]


def test_an_assertion_needs_one_thing_to_hold_to(file: Path) -> None:
    rows = apart(0.0, 40)
    with pytest.raises(InputError, match="a threshold or a policy, and not both"):
        assert_parity(rows, **ROLES)
    with pytest.raises(InputError, match="a threshold or a policy, and not both"):
        assert_parity(rows, 0.1, policy=file)
    with pytest.raises(InputError, match="score is missing: name the column"):
        assert_parity(rows, 0.1)
    with pytest.raises(InputError, match="score cannot be said of an audit"):
        assert_parity(lfl.audit(rows, **ROLES), 0.1, score="score")


# MLflow -----------------------------------------------------------------------------------------


def test_mlflow_keeps_figures_settings_verdict_and_files(mlflow: Any, hostile: Audit) -> None:
    run = mlflow.get_run(log_to_mlflow(hostile))
    metrics, params, tags = run.data.metrics, run.data.params, run.data.tags
    assert metrics["likeforlike.gap"] == hostile.gap
    assert hostile.interval is not None
    assert metrics["likeforlike.distance_low"] == hostile.interval[0]
    assert metrics["likeforlike.rows"] == 200
    assert params["likeforlike.permutations"] == "9"
    assert tags["likeforlike.verdict"] == hostile.verdicts[-1].verdict
    assert tags["likeforlike.fingerprint"] == hostile.provenance.fingerprint
    stored = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/likeforlike/audit.json")
    assert stored == hostile.to_json()
    assert mlflow.active_run() is None


def test_mlflow_gets_every_contrast(mlflow: Any) -> None:
    audit = lfl.audit(
        ROWS.with_columns(group=pl.Series([f"g{k % 3}%" for k in range(len(ROWS))])),
        score="score",
        sensitive="group",
        permutations=9,
    )
    metrics = mlflow.get_run(log_to_mlflow(audit, prefix="night", files=False)).data.metrics
    assert len(audit.contrasts) > 1
    for number, contrast in enumerate(audit.contrasts, 1):
        names = " and ".join(contrast.groups).replace("%", "_")
        assert metrics[f"night.{number} {names}.gap"] == contrast.gap.value


def test_without_mlflow_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    audit = lfl.audit(apart(0.0, 40), **ROLES)
    with pytest.raises(MissingDependencyError, match=r"pip install 'likeforlike\[mlflow\]'"):
        log_to_mlflow(audit)
