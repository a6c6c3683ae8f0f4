"""A verdict stays with its audit: in the document, on the page, in the JSON."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import likeforlike as lfl
from likeforlike import Audit
from likeforlike.auditing import Threshold
from likeforlike.datasets import make_loans
from likeforlike.errors import InputError
from tests.support.schema import check


@pytest.fixture(scope="module")
def made() -> Audit:
    """Three groups: b scores .3 higher than a, d like a."""
    base = make_loans(900, gap=0.0).frame
    parts = [
        base.select("income", score=pl.col("score") + shift, group=pl.lit(name))
        for name, shift in (("a", 0.0), ("b", 0.3), ("d", 0.0))
    ]
    return lfl.audit(
        pl.concat(parts), score="score", sensitive="group", legitimate="income", permutations=99
    )


@pytest.fixture
def audit(made: Audit) -> Audit:
    return made


def test_what_was_asked_is_kept_in_order_and_once(audit: Audit) -> None:
    before = audit.to_json()
    asked = [
        audit.gate(0.9),
        audit.verdict(0.1).verdict,
        audit.gate(0.9),
        audit.gate(0.9, of="gap"),
    ]
    assert asked == ["pass", "fail", "pass", "pass"]
    assert audit.to_json() == before
    asking = audit.with_threshold(0.9).with_threshold(0.1).with_threshold(0.9)
    kept = [
        (part["verdict"], part["thresholds"][0]["value"], part["thresholds"][0]["of"])
        for part in asking.with_threshold(0.9, of="gap").to_dict()["verdicts"]
    ]
    assert audit.verdicts == ()
    assert kept == [("pass", 0.9, "distance"), ("fail", 0.1, "distance"), ("pass", 0.9, "gap")]


def test_the_json_and_the_page_say_it(audit: Audit) -> None:
    thresholds = [Threshold(0.1, set_by="<b>board</b>", set_on="2026-01-31")]
    audit = audit.with_verdict(audit.judge(thresholds, policy="rules.toml"))
    document = json.loads(audit.to_json())
    check(document)
    [part] = document["verdicts"]
    assert part["policy"] == "rules.toml"
    assert [(judged["groups"], judged["verdict"]) for judged in part["judgments"]] == [
        (list(contrast.groups), "fail" if "b" in contrast.groups else "pass")
        for contrast in audit.contrasts
    ]
    assert len(part["reasons"]) == 2
    page = audit.to_html()
    for said in (
        "Fails: ",
        "0.1 allowed",
        "“a” and “b”",
        "a and b: at least",
        "was set by &lt;b&gt;board&lt;/b&gt; on 2026-01-31",
        "The policy is rules.toml",
    ):
        assert said in page
    assert "No threshold was set" not in page
    assert "Fails: " in audit._repr_html_()


def test_without_a_threshold_the_page_gives_no_verdict(audit: Audit) -> None:
    page = audit.to_html()
    assert "No threshold was set" in page
    assert not re.search(r"Fails|Passes|Not settled", page)


def test_two_groups_can_have_a_threshold_of_their_own(audit: Audit) -> None:
    wide = [Threshold(0.1), Threshold(0.5, groups=("b", "a")), Threshold(0.5, groups=("d", "b"))]
    ruling = audit.judge(wide)
    assert ruling.verdict == "pass"
    assert {j.groups: j.threshold for j in ruling.judgments if j.threshold} == {
        ("a", "b"): 0.5,
        ("b", "d"): 0.5,
        ("a", "d"): 0.1,
    }


def test_what_has_no_threshold_is_not_passed(audit: Audit) -> None:
    ruling = audit.judge([Threshold(0.9, groups=("a", "b"))])
    assert ruling.verdict == "investigate"
    assert sorted(ruling.reasons) == [
        "a and d: no threshold is for them.",
        "b and d: no threshold is for them.",
    ]


def test_a_threshold_for_groups_that_are_not_there_is_not_met(audit: Audit) -> None:
    ruling = audit.judge([Threshold(0.9), Threshold(0.9, groups=("a", "z"))])
    assert ruling.verdict == "investigate"
    assert ruling.reasons == ("a and z: they have a threshold, but were not compared.",)


def test_groups_without_words_are_named_by_their_column(audit: Audit) -> None:
    table = pl.DataFrame({"f": [0.1, 0.2, 0.3, 0.4] * 30, "sex": [0, 0, 1, 1] * 30})
    numbered = lfl.audit(table, score="f", sensitive="sex", permutations=19)
    numbered = numbered.with_threshold(0.0)
    assert numbered.verdicts[0].judgments[0].groups == ("0", "1")
    assert "sex 0 and sex 1" in numbered.to_html()


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), True, "0.1", "-5%", None])
def test_a_threshold_that_is_none_is_refused_and_not_kept(audit: Audit, value: object) -> None:
    with pytest.raises(
        InputError, match=r"threshold must be a (finite number of 0 or more|number such as 0\.05)"
    ):
        audit.gate(value)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="of must be one of"):
        audit.gate(0.1, of="ratio")  # type: ignore[arg-type]
    assert audit.verdicts == ()
