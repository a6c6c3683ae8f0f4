"""Nothing that is shown is about few people, nor can it be had from what is shown."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing import audit_document
from likeforlike.auditing._disclosure import (
    Crowd,
    RoundingGrid,
    round_count,
    round_p_value_up,
    round_share,
    round_step,
    significant,
)
from likeforlike.document import as_document, in_units, spoken
from likeforlike.report import number, page
from tests.auditing import disclosing
from tests.auditing.disclosing import LIMIT, some_people
from tests.support.command import call

TABLES = 1000
ATTACKS = ("counts", "small", "scores", "bars", "names", "fingerprint")
ROLES: dict[str, Any] = {"score": "pay", "sensitive": "sex", "legitimate": "job"}


# The attack --------------------------------------------------------------------------------------


def found_out(audit: lfl.Audit) -> tuple[set[str], list[tuple[int, float]]]:
    """Which attacks on the JSON of an audit succeed, and which gaps of small cells it settles."""
    text = audit.to_json()
    document = json.loads(text)
    found = {
        "counts": any(disclosing.counts_of_few(document, audit)),
        "small": any(disclosing.any_small_count(document)),
        "scores": any(disclosing.scores_of_one(document, audit)),
        "bars": any(disclosing.bars_of_few(document, audit)),
        "names": any(disclosing.names_of_few(document, text, audit)),
        "fingerprint": disclosing.guessed(document, audit),
    }
    return {name for name in ATTACKS if found[name]}, disclosing.solved_gaps(document, audit)


def audited(seed: int) -> lfl.Audit | None:
    """An audit that may be shown; `None` where nothing can."""
    try:
        return some_people(seed).audit(suppress_below=LIMIT)
    except lfl.errors.InputError as refused:
        if "there is nothing to show" in str(refused):
            return None
        raise


@pytest.mark.simulation
def test_nobody_is_found_in_a_thousand_tables() -> None:
    """No score of a single row, no count below ten, nothing by subtraction; page as JSON."""
    shown, leaks, settled = 0, Counter[str](), list[tuple[int, float]]()
    for seed in range(TABLES):
        audit = audited(seed)
        if audit is None:
            continue
        found, gaps = found_out(audit)
        shown += 1
        leaks.update(found)
        settled += gaps
        if seed % 25 == 0:
            check_page(audit)
    assert shown > 0.7 * TABLES
    assert not leaks, leaks
    # Several contrasts can settle the gap of a small cell for somebody who knows all counts. What
    # they settle is not what it is: figures are rounded.
    assert min(error for _, error in settled) > 1e-3
    assert np.median([error for rows, error in settled if rows <= 2]) > 0.25


def test_the_same_attacks_find_people_in_what_is_not_suppressed() -> None:
    """The attacks above would be worth nothing if they never found anybody."""
    leaks, exact = Counter[str](), 0
    for seed in range(40):
        found, gaps = found_out(some_people(seed).audit())
        leaks.update(found)
        exact += any(error < 1e-6 for _, error in gaps)
    assert min(leaks[name] for name in ATTACKS) > 20, leaks
    assert exact > 20


def check_page(audit: lfl.Audit) -> None:
    """The page is made of the JSON, shows its figures, and names nobody that it does not."""
    text = audit.to_json()
    document = json.loads(text)
    html = audit.to_html()
    assert html == page(document)
    assert not list(disclosing.names_of_few(document, html, audit))
    contrast = in_units(spoken(as_document(document))).contrasts[0]
    for level in contrast.levels:
        row = html[html.index(f"<bdi>{level.name}</bdi><td>") :].partition("\n")[0]
        cells = re.findall("<td>([^<]*)", row)
        assert cells[:2] == [f"{level.rows[group]:,}" for group in contrast.groups]
        assert cells[3] == number(level.distance)
        assert cells[5] == number(level.gap)


# One table, looked at ----------------------------------------------------------------------------


def names(contrast: Any) -> list[str]:
    return [level["name"] for level in contrast["levels"]]


def salaries() -> pl.DataFrame:
    """Three jobs of many, one job of one woman and one man, one of men alone."""
    rng = np.random.default_rng(3)
    jobs = ["clerk"] * 80 + ["nurse"] * 60 + ["guard"] * 40 + ["chief"] * 2 + ["pilot"] * 3
    sex = (["f", "m"] * 91)[:182] + ["m"] * 3
    pay = rng.normal(50_000, 6_000, 185).round(2)
    pay[180:182] = 413_872.11, 288_161.07
    return pl.DataFrame({"pay": pay, "sex": sex, "job": jobs})


@pytest.fixture(scope="module")
def audit() -> lfl.Audit:
    return lfl.audit(salaries(), **ROLES, permutations=99, suppress_below=10)


def test_a_small_level_is_shown_together_with_the_next_smallest(audit: lfl.Audit) -> None:
    contrast = audit.to_dict()["contrasts"][0]
    assert names(contrast) == ["job clerk", "job nurse", "other levels"]
    others = contrast["levels"][-1]
    assert others["rows"] == {"f": 20, "m": 20}
    assert others["gap_interval"] is None
    assert others["p_value"] is None
    assert contrast["excluded"] == {"levels that hold one group only": {"f": 0, "m": 0}}
    assert contrast["nested"] is None


def test_nobody_can_read_what_a_single_person_earns(audit: lfl.Audit, tmp_path: Path) -> None:
    whole = lfl.audit(salaries(), **ROLES, permutations=99)
    for secret in ("chief", "pilot", "413872", "125711"):
        assert secret in whole.to_json()
        assert secret not in audit.to_json()
        assert secret not in re.sub("<svg.*?</svg>", "", audit.to_html(), flags=re.DOTALL)
    salaries().write_csv(tmp_path / "pay.csv")
    arguments = ("--score", "pay", "--sensitive", "sex", "--legitimate", "job")
    more = ("--suppress-below", 10, "--threshold", 1)
    done = call("audit", "pay.csv", *arguments, *more, cwd=tmp_path)
    assert done.returncode in (1, 3)
    assert "other levels" in done.stdout
    assert not re.search("chief|pilot|413,?8|288,?1|125,?7", done.stdout)


def test_edges_of_histograms_are_nobodys_score(audit: lfl.Audit) -> None:
    low, high = np.quantile(salaries()["pay"].to_numpy(), [0.0, 1.0])
    for shown in audit.to_dict()["contrasts"][0]["distributions"]:
        assert shown["edges"][0] < low < high < shown["edges"][-1]
        assert all(edge == significant(edge, 3) for edge in shown["edges"])
        assert all(math.isclose(sum(each), 1.0, abs_tol=0.05) for each in shown["shares"].values())


def test_the_document_says_what_was_done_and_advises_it_where_it_was_not(audit: lfl.Audit) -> None:
    assert any("fewer than 10 people" in each for each in audit.finding.cautions)
    whole = lfl.audit(salaries(), **ROLES, permutations=0)
    advice = [each for each in whole.finding.cautions if "suppress_below=10" in each]
    assert len(advice) == 1
    assert "--suppress-below 10" in whole.to_html()
    large = salaries().filter(pl.col("job").is_in(["clerk", "nurse", "guard"]))
    assert "suppress" not in " ".join(lfl.audit(large, **ROLES, permutations=0).finding.cautions)


def test_statistics_are_those_of_the_exact_levels(audit: lfl.Audit) -> None:
    """Only what is shown is coarse: levels are not thrown together to be compared."""
    whole = lfl.audit(salaries(), **ROLES, permutations=99)
    assert audit.evidence is not None
    assert whole.evidence is not None
    computed, exact = audit.evidence.contrasts[0], whole.evidence.contrasts[0]
    assert computed.gap.value == whole.gap
    assert computed.p_value == whole.p_value
    shown = audit.to_dict()["contrasts"][0]["gap"]
    assert abs(shown["value"] - whole.gap) <= exact.gap.error / 4
    assert shown["interval"] is not None
    low, high = shown["interval"]
    assert whole.gap_interval is not None
    assert low <= whole.gap_interval[0] < whole.gap_interval[1] <= high


def test_a_verdict_rests_on_what_is_shown(audit: lfl.Audit) -> None:
    estimate = audit.to_dict()["contrasts"][0]["estimate"]
    assert estimate is not None
    high = estimate["interval"][1] or math.nan
    assert audit.evidence is not None
    computed = audit.evidence.contrasts[0].estimate
    assert computed is not None
    exact = computed.interval[1]
    assert exact < high
    assert audit.gate(high) == "pass"
    assert audit.gate((exact + high) / 2) == "investigate"


def test_small_groups_have_no_name_and_rule_out_a_pass() -> None:
    people = pl.DataFrame(
        {"pay": np.linspace(0, 1, 206), "sex": ["f", "m"] * 100 + ["x"] * 6, "job": ["a"] * 206}
    )
    found = lfl.audit(people, **ROLES, permutations=9, suppress_below=10)
    document = found.to_dict()
    assert [part["groups"] for part in document["contrasts"]] == [["f", "m"]]
    assert document["unexamined"] == [
        {
            "groups": ["other groups"],
            "rows": {"other groups": 10},
            "reason": "they have too few rows to be shown.",
            "columns": [],
        }
    ]
    assert found.gate(1e9) == "investigate"
    assert "other groups" in found.to_html()


def test_where_nothing_can_be_shown_that_is_said() -> None:
    few = pl.DataFrame({"pay": [1.0, 2.0] * 5, "sex": ["f", "m"] * 5, "job": ["a"] * 10})
    with pytest.raises(
        lfl.errors.InputError, match="with suppress_below=10 there is nothing to show"
    ):
        lfl.audit(few, **ROLES, suppress_below=10)
    assert lfl.audit(few, **ROLES, suppress_below=5).to_dict()["contrasts"][0]["rows"] == [5, 5]


def test_lost_rows_are_rounded_and_small_groups_among_them_put_together() -> None:
    people = salaries().with_columns(
        pay=pl.when(pl.int_range(pl.len()) % 60 == 0).then(None).otherwise(pl.col("pay"))
    )
    few = pl.DataFrame({"pay": [None, 1.0], "sex": ["x", "x"], "job": ["clerk", "clerk"]})
    document = lfl.audit(
        pl.concat([people, few]), **ROLES, permutations=0, suppress_below=10
    ).to_dict()
    assert document["data"]["rows"] == 190
    assert document["data"]["missing"] == {"pay": 10, "sex": 0, "job": 0}
    assert [part["group"] for part in document["data"]["lost"]] == ["f", "m", "other groups"]
    assert {part["lost"] for part in document["data"]["lost"]} == {0}


@pytest.mark.parametrize("approved", [2, 30])
def test_decisions_are_shown_where_many_were_decided_either_way(approved: int) -> None:
    decided = ([1] * approved + [0] * (60 - approved)) * 2
    people = pl.DataFrame({"pay": decided, "sex": ["f"] * 60 + ["m"] * 60, "job": ["a"] * 120})
    found = lfl.audit(people, **ROLES, permutations=0, suppress_below=10)
    shown = found.to_dict()["contrasts"][0]["distributions"]
    if approved < 10:
        assert shown == []
        with pytest.raises(lfl.errors.InputError, match="no level to draw"):
            found.plot("distributions")
    else:
        assert shown[0]["shares"]["f"][0] == shown[0]["shares"]["f"][-1] == 0.5
        assert found.to_html().count("highest score (1)") == 1


def test_rows_of_one_person_are_one_person() -> None:
    """Twenty rows of five people are five people."""
    people = salaries().head(180).with_columns(who=pl.int_range(180))
    few = pl.when(pl.col("job") == "guard").then(pl.col("who") % 10 + 1000)
    twice = people.with_columns(who=few.otherwise(pl.col("who")))
    settings = {**ROLES, "cluster": "who", "permutations": 0, "suppress_below": 10}
    one, other = (
        names(lfl.audit(frame, **settings).to_dict()["contrasts"][0]) for frame in (people, twice)
    )
    assert sorted(one) == ["job clerk", "job guard", "job nurse"]
    assert other == ["job clerk", "other levels"]


def test_a_row_that_weighs_as_much_as_all_others_is_not_hidden_among_them() -> None:
    heavy = (
        salaries()
        .head(180)
        .with_columns(weight=pl.when(pl.int_range(180) == 150).then(1000.0).otherwise(1.0))
    )
    with pytest.raises(lfl.errors.InputError, match="nothing to show"):
        lfl.audit(heavy, **ROLES, weight="weight", permutations=0, suppress_below=10)


# Salt --------------------------------------------------------------------------------------------


def test_a_salted_fingerprint_tells_only_those_who_have_the_salt() -> None:
    settings = {**ROLES, "permutations": 0, "suppress_below": 10}
    first, second = (lfl.audit(salaries(), **settings) for _ in range(2))
    assert first.provenance.fingerprint != second.provenance.fingerprint
    again = lfl.audit(salaries(), **settings, salt=first.provenance.salt)
    assert again.provenance.fingerprint == first.provenance.fingerprint
    other = salaries().with_columns(pay=pl.col("pay") + 1.0)
    changed = lfl.audit(other, **settings, salt=first.provenance.salt)
    assert changed.provenance.fingerprint != first.provenance.fingerprint
    assert first.provenance.salt is not None
    for told in (first.to_json(), first.to_html(), repr(first.provenance)):
        assert first.provenance.salt not in told
    assert lfl.audit(salaries(), **ROLES, permutations=0).provenance.salt is None


def test_the_salt_is_kept_in_a_file_of_ones_own(tmp_path: Path) -> None:
    salaries().write_csv(tmp_path / "pay.csv")
    arguments = ("audit", "pay.csv", "--score", "pay", "--sensitive", "sex", "--legitimate", "job")
    more = ("--permutations", 0, "--suppress-below", 10, "--salt-file", "salt", "--json", "-")
    marks = []
    for _ in range(2):
        done = call(*arguments, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        marks.append(json.loads(done.stdout)["provenance"]["fingerprint"])
    assert marks[0] == marks[1]
    salt = tmp_path / "salt"
    assert len(salt.read_text().strip()) == 64
    if os.name == "posix":
        assert salt.stat().st_mode & 0o777 == 0o600
    assert salt.read_text().strip() not in done.stdout + done.stderr
    bad = ((b"", "is empty"), (b"short", "16 letters"), (b"x" * 5000, "too large"))
    for content, message in bad:
        salt.write_bytes(content)
        done = call(*arguments, *more, cwd=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr


@pytest.mark.parametrize("limit", [0, 1, -10, 2.5, "10", [10]])
def test_bad_limits_are_refused(limit: Any) -> None:
    with pytest.raises(lfl.errors.InputError, match="suppress_below"):
        lfl.audit(salaries(), **ROLES, suppress_below=limit)


# The parts ---------------------------------------------------------------------------------------


def test_parts_of_people_are_those_of_a_plain_sum() -> None:
    """Of weights and clusters over levels, person by person."""
    rng = np.random.default_rng(5)
    n = 300
    columns = {
        "scores": rng.normal(size=n),
        "sensitive_features": rng.choice(list("fm"), n),
        "legitimate_features": rng.integers(0, 6, n),
        "sample_weight": rng.random(n) + 0.1,
        "cluster": rng.integers(0, 60, n),
    }
    cells = lfl.Cells.from_rows(**columns)
    measure = rng.dirichlet(np.ones(6))
    for g, group in enumerate("fm"):
        parts = Counter[int]()
        for k in range(6):
            own = (columns["sensitive_features"] == group) & (columns["legitimate_features"] == k)
            for i in np.flatnonzero(own):
                weight = columns["sample_weight"][i] / columns["sample_weight"][own].sum()
                parts[int(columns["cluster"][i])] += measure[k] * weight
        largest = Crowd.from_cells(cells).largest_part(measure, g)
        assert math.isclose(largest, max(parts.values()), rel_tol=1e-12)


def test_what_is_merged_hides_everybody_and_is_never_one_level() -> None:
    rng = np.random.default_rng(6)
    for _ in range(300):
        n_levels = int(rng.integers(1, 12))
        counts = rng.integers(1, 40, (n_levels, 2))
        level = np.repeat(np.arange(n_levels), counts.sum(axis=1))
        group = np.concatenate([np.repeat([0, 1], each) for each in counts])
        cells = lfl.Cells.from_rows(rng.random(level.size), group, level)
        measure = rng.dirichlet(np.ones(n_levels))
        crowd = Crowd.from_cells(cells)
        merged = crowd.levels_to_merge(measure, np.ones(n_levels, np.bool_), (0, 1), LIMIT)
        assert merged[counts.min(axis=1) < LIMIT].all()
        assert merged.sum() != 1 or n_levels == 1
        part = (measure[:, None] / counts * merged[:, None]).max() / (measure @ merged or 1.0)
        assert part <= 1 / LIMIT + 1e-9 or merged.all() or not merged.any()


def test_figures_are_rounded_as_they_say() -> None:
    assert [round_count(n, 10) for n in (0, 4, 5, 14, 15, 1234)] == [0, 0, 10, 10, 20, 1230]
    assert [round_share(x, 1000, 10) for x in (0.004, 0.996, 0.1249)] == [0.0, 1.0, 0.12]
    assert [round_p_value_up(p) for p in (0.001, 0.0501, 0.05, 0.123, 0.999, 1.0, 0.0)] == [
        0.001, 0.051, 0.05, 0.13, 1.0, 1.0, 0.0,
    ]  # fmt: skip
    assert [round_step(x) for x in (0.034, 1.0, 7.0, 49.0, 0.0, math.inf)] == [
        0.02, 1.0, 5.0, 20.0, 0.0, 0.0,
    ]  # fmt: skip
    assert [round_step(x) for x in (7e-300, 1e-310, 7e-320, 5e-323)] == [
        5e-300, 1e-310, 5e-320, 2e-323,
    ]  # fmt: skip
    grid = RoundingGrid(0.1)
    assert (grid.nearest(0.34), grid.below(0.37), grid.above(0.31)) == (0.3, 0.3, 0.4)
    assert (grid.below(0.3), grid.above(0.3), grid.nearest(-0.34)) == (0.3, 0.3, -0.3)
    assert RoundingGrid.from_noise(0.05, [9.0]).step == 0.02
    assert RoundingGrid.from_noise(0.0, [0.0312, 0.2]).step == 0.02
    assert RoundingGrid(0.0).nearest(0.123456) == 0.12


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e9, 1e200])
def test_scores_of_any_size_are_rounded_alike(size: float) -> None:
    frame = salaries()
    grown = frame.with_columns(pay=pl.col("pay") * size)
    one, other = (
        lfl.audit(each, **ROLES, permutations=0, suppress_below=10).to_dict()["contrasts"][0]
        for each in (frame, grown)
    )
    assert other["rows"] == one["rows"]
    ratios = [level["gap"] / size for level in other["levels"]]
    assert np.allclose(ratios, [level["gap"] for level in one["levels"]], rtol=1e-9)


def test_hiding_is_done_once_for_everything_that_is_shown(audit: lfl.Audit) -> None:
    """Without the setting, the same audit shows everything again."""
    assert audit.evidence is not None
    shown = replace(audit.settings, suppress_below=None)
    whole = audit_document(replace(audit.evidence, settings=shown))
    assert "chief" in str(whole.contrasts[0].levels)
    assert "chief" not in audit._repr_html_()
    assert "chief" not in str(audit)
    used = audit.to_dict()["data"]["used"]
    assert used % 10 == 0
    assert used != audit.table.used
    assert f" {used} rows" in repr(audit)


def test_frames_are_those_of_the_document(audit: lfl.Audit) -> None:
    levels = audit.to_frame()
    assert levels["level"].to_list() == ["job clerk", "job nurse", "other levels"]
    assert levels["gap"].to_list() == [
        level["gap"] for level in audit.to_dict()["contrasts"][0]["levels"]
    ]
    assert audit.contrasts_frame()["rows_first"].to_list() == [90]
    with pytest.raises(lfl.errors.InputError, match="no figures of single cells"):
        audit.cells_frame()
