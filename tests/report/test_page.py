"""The page and the notebook summary, as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from likeforlike.report import page, summary
from likeforlike.report.format import number
from tests.report import documents

VOID = {"meta", "link", "br", "hr", "img", "input", "col", "wbr"}
# HTML lets these close themselves.
OPTIONAL = {"td", "th", "tr", "tbody", "thead", "li", "p", "dt", "dd"}


class Balance(HTMLParser):
    """Collects tags and checks that each is closed by its own end."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        assert self.open.pop() == tag


def parsed(text: str) -> Balance:
    balance = Balance()
    balance.feed(text)
    assert set(balance.open) <= OPTIONAL
    return balance


@pytest.mark.parametrize("name", list(documents.ALL))
def test_pages_are_well_formed_self_contained_and_small(name: str) -> None:
    document = documents.ALL[name]()
    text = page(document)
    tags = parsed(text).seen
    assert [tag for tag, _ in tags].count("h1") == 1
    assert dict(tags[0][1])["lang"] == "en"
    assert {"main", "header"} <= {tag for tag, _ in tags}
    assert "script" not in {tag for tag, _ in tags}
    assert not [a for _, a in tags if {"src", "href"} & a.keys()]
    assert text.count("url(") == text.count("url(#")  # patterns of the page itself
    assert "@import" not in text
    assert len(text.encode()) < 2_000_000


@pytest.mark.parametrize("name", list(documents.ALL))
def test_charts_have_a_text_alternative_with_figures(name: str) -> None:
    text = page(documents.ALL[name]())
    charts = re.findall(r'<svg[^>]*role="img".*?</svg>', text, re.DOTALL)
    assert len(charts) >= 3
    for chart in charts:
        described = re.search(
            r"<title[^>]*>(.+?)</title>.*?<desc[^>]*>(.+?)</desc>", chart, re.DOTALL
        )
        assert described is not None
        assert re.search(r"\d", described[2])


def test_the_finding_comes_first_and_everything_is_there() -> None:
    document = documents.loans()
    text = page(document)
    finding = document["finding"]
    assert text.index(finding["headline"][:30]) < text.index("Gap by level")
    for sentence in finding["sentences"]:
        assert sentence.replace("'", "&#39;") in text
    for heading in (
        "Gap by level",
        "Conditional against unconditional",
        "Scores in the levels that matter",
        "Who could be compared",
        "How the disparity is made up",
        "All levels",
    ):
        assert heading in text
    assert document["provenance"]["fingerprint"] in text.replace("<wbr>", "")


def test_cautions_and_excluded_levels_are_shown() -> None:
    document = documents.scores()
    text = page(document)
    assert document["finding"]["cautions"]
    for caution in document["finding"]["cautions"]:
        assert caution.replace("'", "&#39;") in text
    assert document["contrasts"][0]["excluded"]
    for level in list(document["contrasts"][0]["excluded"])[:3]:
        assert level in text


@pytest.mark.parametrize("name", ["several groups", "untested"])
def test_names_from_data_are_text_and_never_markup(name: str) -> None:
    document = documents.ALL[name]()
    for text in (page(document), summary(document)):
        assert "<script" not in text
        assert "&lt;script&gt;" in text


def test_every_contrast_is_listed() -> None:
    document = documents.several_groups()
    text = page(document)
    assert len(document["contrasts"]) == 3
    for contrast in document["contrasts"]:
        assert number(contrast["estimate"]["value"]) in text
    assert "<caption" in text


def test_what_was_not_tested_is_not_shown_as_zero() -> None:
    text = page(documents.untested())
    assert "None" not in text
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)


def test_thousands_of_levels_are_cut_with_a_word() -> None:
    document = documents.many_levels()
    text = page(document)
    assert len(document["contrasts"][0]["levels"]) > 4500
    assert re.search(r"more\s+(of the\s+)?levels|levels are not drawn|not drawn", text)


@pytest.mark.parametrize("name", list(documents.ALL))
def test_the_summary_is_a_fragment(name: str) -> None:
    document = documents.ALL[name]()
    text = summary(document)
    parsed(text)
    assert "<html" not in text
    assert "<svg" in text
    assert len(text) < 200_000
