"""Sentences that lead the page: what kind of score, who, how much, and whether it passes."""

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans
from likeforlike.document import (
    amount,
    answer,
    in_units,
    next_steps,
    page_title,
    question,
    say,
    spoken,
    verdict_words,
)
from likeforlike.errors import InputError
from likeforlike.report import markdown, page, public_summary
from tests.support.command import call

ROLES: dict[str, Any] = {"score": "approved", "sensitive": "sex", "legitimate": "income"}


def loans(**more: Any) -> lfl.Audit:
    return lfl.audit(load_loans(1000).frame, **ROLES, permutations=99, **more)


def table(kind: str) -> pl.DataFrame:
    rng, sex = np.random.default_rng(0), np.tile(["f", "m"], 1000)
    ahead = (sex == "m").astype(float)
    scores = {
        "decision": (rng.random(2000) < 0.4 + 0.3 * ahead).astype(float),
        "probability": 0.2 + 0.1 * ahead + 0.3 * rng.random(2000),
        "rating": np.floor(300 + 50 * ahead + 100 * rng.random(2000)),
        "money": 30_000 + 2_000 * ahead + 1_000 * rng.random(2000),
        "other": 3 + ahead + rng.random(2000),
    }
    return pl.DataFrame({"salary": scores[kind], "sex": sex})


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("decision", "The rate of salary is lower for women than for men: 3"),
        ("probability", "Women score lower than men: 1"),
        ("rating", "Women score lower than men: 5"),
        ("money", "Women earn less than men: 1,9"),
        ("other", "The mean salary is lower for women than for men: 1"),
    ],
)
def test_a_sentence_knows_what_a_score_is(kind: Any, words: str) -> None:
    unit = "EUR" if kind == "money" else None
    roles: dict[str, Any] = {"score": "salary", "sensitive": "sex", "permutations": 99}
    found = lfl.audit(table(kind), **roles, kind=kind, unit=unit)
    assert found.headline.startswith(words)
    assert ("points" in found.headline) == (kind in ("decision", "probability"))
    assert question(spoken(found.document)).endswith("?")


def test_favorable_low_begins_with_those_who_are_worse_off() -> None:
    roles: dict[str, Any] = {"score": "salary", "sensitive": "sex", "permutations": 99}
    found = lfl.audit(table("rating"), **roles, kind="rating", favorable="low")
    assert found.headline.startswith("Men score higher, which is worse, than women")


def test_labels_name_columns_and_values_everywhere_and_leave_the_figures() -> None:
    labels = {"female": "women applicants", "income=high": "well off", "approved": "accepted"}
    plain, named = loans(), loans(labels=labels)
    assert named.headline.startswith("Women applicants are accepted less often than")
    for text in (named.to_html(), str(named), named.to_markdown()):
        assert "women applicants" in text
        assert "well off" in text or text.startswith("##")
    assert "accepted equally often" in named.to_html()
    assert named.contrasts == plain.contrasts
    assert lfl.Audit.from_json(named.to_json()) == named


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "grade"}, "kind must be one of"),
        ({"kind": "probability", "unit": "EUR"}, "leave out unit"),
        ({"favorable": "up"}, "favorable must be one of"),
        ({"about": {"modell": "x"}}, "did you mean 'model'"),
        ({"about": {"model": ""}}, "about must have a text for 'model'"),
        ({"labels": ["f"]}, "labels must be a mapping"),
        ({"title": " "}, "title must be a text"),
    ],
)
def test_words_that_no_page_could_use_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        loans(**given)


@pytest.mark.parametrize("kind", ["decision", "probability"])
def test_a_kind_that_scores_are_not_is_refused(kind: Any) -> None:
    with pytest.raises(InputError, match=f"kind='{kind}' says that scores must"):
        lfl.audit(table("money"), score="salary", sensitive="sex", permutations=0, kind=kind)


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (0.05, r"Fails: 20 points apart, at least 11; 5 allowed"),
        (0.2, r"Not settled: 19.7 points apart, 11 to 27; 20 allowed"),
        (0.5, r"Passes: 20 points apart, at most 27; 50 allowed"),
    ],
)
def test_a_verdict_says_how_large_how_sure_and_what_is_allowed(
    threshold: float, words: str
) -> None:
    found = loans().with_threshold(threshold)
    document = spoken(found.document)
    told = verdict_words(document, document.verdicts[0])
    assert re.fullmatch(words, told)
    assert told in " ".join(found.to_html().split())
    assert found.verdicts[0].verdict == {"F": "fail", "N": "investigate", "P": "pass"}[told[0]]


def test_an_end_that_rounds_to_the_threshold_gets_more_digits() -> None:
    found = loans()
    assert found.interval is not None
    low = found.interval[0]
    close = found.with_threshold(low * (1.0 - 1e-4))
    document = spoken(close.document)
    told = verdict_words(document, document.verdicts[0])
    least, allowed = re.findall(r"at least ([\d.]+); ([\d.]+) allowed", told)[0]
    assert float(least) > float(allowed)


def test_units_change_no_figure_but_by_the_factor() -> None:
    document = loans().document
    shown = in_units(spoken(document))
    for before, after in zip(document.contrasts, shown.contrasts, strict=True):
        assert after.gap.value == pytest.approx(100 * before.gap.value)
        assert after.p_value == before.p_value
        for one, other in zip(before.levels, after.levels, strict=True):
            assert other.gap == pytest.approx(100 * one.gap)
            assert other.distance == pytest.approx(100 * one.distance)
            assert (other.weight, other.contribution) == (one.weight, one.contribution)
            assert list(other.rows.values()) == list(one.rows.values())
    assert answer(shown) == answer(spoken(document))
    assert amount(shown, 20.0) == amount(document, 0.2) == "20 points"


def test_page_terminal_and_json_have_the_same_figures() -> None:
    """Levels one by one: as JSON has them, times 100, on the page and on the terminal."""
    found = loans(labels={"high": "HIGH"})
    document = json.loads(found.to_json())
    html, text = found.to_html(), str(found)
    for level in document["contrasts"][0]["levels"]:
        low, high = level["gap_interval"]
        shown = f"{100 * level['gap']:#.3g}"
        assert f"<td>{shown}<td>{100 * low:#.3g} to {100 * high:#.3g}" in html
        name = "HIGH" if level["level"] == "high" else level["level"]
        [line] = [line for line in text.splitlines() if f"│ {name} " in line]
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        assert float(cells[3]) == pytest.approx(100 * level["distance"], rel=5e-3)
        assert float(cells[5]) == pytest.approx(100 * level["gap"], rel=5e-3)
    for value in document["contrasts"][0]["estimate"]["interval"]:
        assert f"{100 * value:.3g}" in text
        assert f"{100 * value:.3g}" in html


def test_every_word_of_the_catalog_is_used_and_none_is_missing() -> None:
    import tomllib

    package = Path(lfl.__file__).parent
    catalog = tomllib.loads((resources.files("likeforlike.document") / "words_en.toml").read_text())
    sources = [*package.rglob("*.py"), *package.rglob("*.j2")]
    used = "\n".join(path.read_text("utf-8") for path in sources)
    made_of_parts = (
        *("about", "kind", "lower", "higher", "question", "ll144", "verdict", "reason", "next"),
        *("setting", "chart", "section", "reading", "equals", "note", "finding"),
    )
    for section, words in catalog.items():
        for name in words:
            assert section in made_of_parts or f"{section}.{name}" in used, f"{section}.{name}"
    with pytest.raises(KeyError):
        say("section.no such section")


def test_next_steps_and_title_are_never_missing() -> None:
    found = loans()
    assert next_steps(found.document)
    assert page_title(found.document) == "Approved by sex"
    assert page_title(loans(title="Credit, 2026").document) == "Credit, 2026"


def test_a_record_says_who_measured_who_set_and_who_accepted(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(
        'score = "approved"\nsensitive = "sex"\nlegitimate = "income"\npermutations = 99\n'
        'threshold = 0.5\nset_by = "committee"\nset_on = 2026-01-31\ntitle = "Loans"\n'
        'labels = {female = "women"}\n[about]\nmodel = "champion"\nmeasured_by = "audit team"\n'
        'accepted_by = "the board"\naccepted_on = 2026-02-28\n'
    )
    policy = lfl.Policy.read(tmp_path / "rules.toml")
    found = policy.audit(load_loans(1000).frame)
    for text in (found.to_html(), found.to_markdown().replace("\\", "")):
        for said in ("Loans", "champion", "audit team", "committee", "2026-01-31", "the board"):
            assert said in text
        assert "2026-02-28" in text
    assert policy.judge(found) == found.verdicts[0]


def test_markdown_obeys_nothing_in_labels() -> None:
    found = loans(labels={"female": "[x](y) <b>|"}).with_threshold(0.1)
    text = markdown(found.document)
    assert "<b>" not in text
    assert r"\[x\]\(y\)" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) > 2 for line in lines)


def test_the_public_summary_has_its_fields() -> None:
    about = {"model": "Ranker", "owner": "ACME", "distributed": "2025-05-01", "data": "2025"}
    found = loans(preset="ll144", about=about)
    text = public_summary(found.document)
    for said in ("Bias audit of Ranker", "ACME", "2025-05-01", "Impact ratio", "1,000", "50.0%"):
        assert said in text
    for said in ("Date of the audit", "Source of the data", "Of unknown category"):
        assert said in text
    assert found.to_public_summary() == text
    with pytest.raises(InputError, match="preset='ll144'"):
        public_summary(loans().document)


def test_the_command_writes_records(tmp_path: Path) -> None:
    load_loans(400).frame.write_csv(tmp_path / "loans.csv")
    card, public = tmp_path / "card.md", tmp_path / "public.html"
    options = [f"--{name}={value}" for name, value in ROLES.items()]
    options += ["--label", "female=women", "--about", "model=X", "--title", "T", "--preset=ll144"]
    options += ["--permutations=9", f"--report={card}", f"--public-summary={public}"]
    done = call("audit", tmp_path / "loans.csv", *options)
    assert done.returncode == 0, done.stderr
    assert card.read_text().startswith("## T")
    assert "Bias audit of X" in public.read_text() or "T" in public.read_text()
    wrong = call("audit", tmp_path / "loans.csv", *options, "--about", "model")
    assert wrong.returncode == 2
    assert "--about must look like NAME=TEXT" in wrong.stderr


def test_twelve_groups_are_one_picture_and_every_pair_is_named() -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 12, 1200)
    frame = pl.DataFrame({"s": rng.random(1200), "g": [f"Region {k}" for k in group]})
    found = lfl.audit(frame, score="s", sensitive="g", permutations=19)
    text = page(found.document)
    assert len(found.contrasts) == 66
    [chart] = re.findall(r'<svg class="chart pairs square".*?</svg>', text, re.DOTALL)
    assert len(re.findall(r"<rect", chart)) == 132
    for contrast in found.contrasts:
        assert " and ".join(contrast.groups) in chart
    assert len(text.encode()) < 150_000


def test_advice_names_columns_as_code_needs_them() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"s": rng.random(400), "sex": ["f", "m"] * 200, "debt": rng.integers(0, 120, 400)}
    )
    labels = {"debt": "debt in EUR"}
    found = lfl.audit(
        frame, score="s", sensitive="sex", legitimate="debt", labels=labels, permutations=0
    )
    [caution] = [each for each in found.finding.cautions if "different values" in each]
    assert caution.startswith("debt in EUR has ")
    assert "--smooth debt)" in caution
    assert "bins={'debt': 10}" in caution


def test_the_widest_pair_is_named_as_the_disparity_names_it() -> None:
    """Nine rows are furthest from the others by chance, and two large groups differ."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [400, 400, 9])
    level = np.arange(len(group)) % 3
    score = rng.normal(size=len(group)) + 0.5 * (group == "b")
    frame = pl.DataFrame({"score": score, "group": group, "level": level})
    audit = lfl.audit(frame, score="score", sensitive="group", legitimate="level")
    widest = lfl.cdd_lp(score, group, level)
    assert audit.contrasts[0].groups == ("a", "b")
    assert set(widest.groups) != {"a", "b"}
    first, second = widest.groups
    size = f"({float(widest):.2f}"
    names = f"By observed distance alone group {first} and group {second} are furthest apart {size}"
    assert names.replace("group ", "") in audit.to_html().replace("group ", "")
