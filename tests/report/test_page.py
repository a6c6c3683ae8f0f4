"""The page and the summary as text: what is said, what is escaped, what is never fetched."""

import copy
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest

from likeforlike.inference import Paradox
from likeforlike.report import page, summary
from tests.report.documents import DOCUMENTS, HOSTILE_SCORE, QUOTES, fresh
from tests.support.schema import Document

NAMES = list(DOCUMENTS)
VOID = {"meta", "br", "img", "link", "input", "hr"}
# Elements whose end may be left out, and what ends them.
CLOSED_BY = {
    "td": {"td", "th", "tr"},
    "th": {"td", "th", "tr"},
    "tr": {"tr"},
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
}
ENDED_BY = {"td": ("td", "th"), "th": ("td", "th"), "tr": ("td", "th", "tr")}


class Elements(HTMLParser):
    """All elements in order, each with its attributes and all that is inside it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []
        self._open: list[dict[str, Any]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A cell or a row may be left open; the next one ends it.
        for ended in ENDED_BY.get(tag, ()):
            if self._open and self._open[-1]["tag"] == ended:
                self._open.pop()
        entry = {"tag": tag, "attributes": dict(attrs), "text": "", "inner": []}
        for one in self._open:
            one["inner"].append(entry)
            one["text"] += " " if tag in {"text", *ENDED_BY} else ""
        self.found.append(entry)
        if tag not in VOID:
            self._open.append(entry)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()["tag"] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for one in self._open:
            one["text"] += data

    def all(self, tag: str) -> list[dict[str, Any]]:
        return [one for one in self.found if one["tag"] == tag]


@cache
def shown(make: Callable[[Document], str], name: str) -> tuple[str, Elements]:
    """What is made of a document, and its elements, for tests that change neither."""
    text = make(fresh(name))
    return text, Elements(text)


def classes(element: dict[str, Any]) -> list[str]:
    return (element["attributes"].get("class") or "").split()


def text_of(html: str) -> str:
    return " ".join(Elements(html).all("body")[0]["text"].split())


@pytest.mark.parametrize("name", NAMES)
def test_the_finding_comes_first_and_whole(name: str) -> None:
    document, (_, elements) = fresh(name), shown(page, name)
    told = [one["text"] for one in elements.all("p") + elements.all("li")]
    for sentence in document["finding"]["sentences"] + document["finding"]["cautions"]:
        assert sentence in told
    first, evidence = (
        next(one for one in elements.all("div") if name in classes(one))
        for name in ("first", "evidence")
    )
    [answer] = [one for one in elements.all("p") if "answer" in classes(one)]
    assert elements.found.index(first) < elements.found.index(answer)
    assert elements.found.index(answer) < elements.found.index(evidence)
    headline = document["finding"]["headline"].removesuffix(".").partition("; ")[0]
    assert answer["text"].startswith(headline)


@pytest.mark.parametrize("name", NAMES)
def test_landmarks_names_and_tables_are_accessible(name: str) -> None:
    _, elements = shown(page, name)
    assert elements.all("html")[0]["attributes"]["lang"] == "en"
    for landmark in ("header", "main", "footer"):
        assert len(elements.all(landmark)) == 1
    ids = Counter(one["attributes"].get("id") for one in elements.found)
    del ids[None]
    assert set(ids.values()) == {1}
    for one in elements.found:
        assert one["attributes"].get("aria-labelledby") in {None, *ids}
    for table in elements.all("table"):
        assert table["inner"][0]["tag"] == "caption"
        assert all("scope" in one["attributes"] for one in table["inner"] if one["tag"] == "th")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [page, summary])
def test_every_drawing_says_what_it_shows(name: str, make: Callable[[Document], str]) -> None:
    drawings = [
        one
        for one in shown(make, name)[1].all("svg")
        if one["attributes"].get("aria-hidden") != "true"
    ]
    assert drawings
    for drawing in drawings:
        title, desc = drawing["inner"][:2]
        assert drawing["attributes"]["role"] == "img"
        assert (title["tag"], desc["tag"]) == ("title", "desc")
        assert title["text"]
        assert re.search(r"\d", desc["text"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [page, summary])
def test_nothing_is_fetched_and_nothing_runs(name: str, make: Callable[[Document], str]) -> None:
    text, elements = shown(make, name)
    tags = {one["tag"] for one in elements.found}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "a", "b", "base"}
    for one in elements.found:
        for attribute in one["attributes"]:
            assert attribute not in {"src", "href", "xlink:href", "srcset", "action"}
            assert not attribute.startswith("on")
    style = "".join(one["text"] for one in elements.all("style"))
    assert "@import" not in style
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", style))
    assert not re.search(r"https?://", text)


def test_hostile_names_are_shown_as_they_are() -> None:
    text = text_of(page(fresh("hostile")))
    for name in (QUOTES, HOSTILE_SCORE, "<script>alert(1)</script>", "</table>one group"):
        assert name in text


@pytest.mark.parametrize("name", NAMES)
def test_no_figure_is_missing_or_raw(name: str) -> None:
    text = " ".join(shown(page, name)[1].all("body")[0]["text"].split())
    slips = r"\bNone\b|\bnan\b|\binf\b|Undefined|Markup|\{\{|\{%|\d[eE][-+]\d|\d\.\d{8}"
    assert not re.search(slips, text)


def test_no_verdict_of_fairness() -> None:
    assert not re.search(r"\b(un)?fair", text_of(page(fresh("decisions"))), re.IGNORECASE)


def test_the_page_leaves_the_document_alone_and_depends_on_nothing_else() -> None:
    document = fresh("three_groups")
    before = copy.deepcopy(document)
    assert page(document) == page(before)
    assert document == before


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_small(name: str) -> None:
    assert len(shown(page, name)[0].encode()) < 600_000


def test_many_levels_are_cut_and_the_cut_is_said() -> None:
    contrast = fresh("many_levels")["contrasts"][0]
    _, elements = shown(page, "many_levels")
    text = " ".join(elements.all("main")[0]["text"].split())
    levels, excluded = len(contrast["levels"]), len(contrast["excluded"])
    assert f"{levels - 40:,} other levels are not drawn" in text
    assert f"{levels - 1000:,} more levels are in the JSON" in text
    assert f"… and {excluded - 50:,} more" in text
    table = next(one for one in elements.all("table") if "levels" in classes(one))
    assert any(table is one for folded in elements.all("details") for one in folded["inner"])
    assert sum(one["tag"] == "tr" for one in table["inner"]) == 1 + 1000


def visible_words(text: str) -> int:
    """Count the words that are read before anything is unfolded, drawings left out."""
    body = text.partition("<body")[2]
    for tag in ("svg", "details"):
        inner = re.compile(rf"<{tag}\b(?:(?!<{tag}\b).)*?</{tag}>", re.DOTALL)
        while inner.search(body):
            body = inner.sub(" ", body)
    return len(re.sub(r"<[^>]*>", " ", "<body" + body).split())


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_short_before_its_folds(name: str) -> None:
    assert visible_words(shown(page, name)[0]) <= (900 if name != "hostile" else 1200)


def test_few_levels_are_not_folded() -> None:
    evidence = next(
        one for one in shown(page, "decisions")[1].all("div") if "evidence" in classes(one)
    )
    assert not any(one["tag"] == "details" for one in evidence["inner"])


def test_all_contrasts_are_listed_if_there_are_several() -> None:
    document = fresh("three_groups")
    text = text_of(page(document))
    assert "Every two groups compared" in text
    for contrast in document["contrasts"]:
        assert " and ".join(contrast["groups"]) in text
    assert "Every two groups compared" not in text_of(page(fresh("scores")))


def test_the_settings_say_where_the_figures_come_from() -> None:
    document = fresh("three_groups")
    text = text_of(page(document))
    assert document["provenance"]["fingerprint"] in text
    assert "Edges of debt" in text
    missing = document["data"]["missing"]["score"]
    assert f"score: {missing:,}, ethnicity: 0" in text


def test_a_page_without_resampling_says_so() -> None:
    text = text_of(page(fresh("untested")))
    assert "not tested" in text
    assert "Expected by chance" not in text


def test_without_legitimate_columns_nobody_is_called_equal() -> None:
    text = text_of(page(fresh("no_legitimate")))
    assert "mong equals" not in text
    assert "The distance in parts" not in text


def test_parts_that_were_not_computed_are_left_out() -> None:
    document = fresh("scores")
    contrast = document["contrasts"][0]
    contrast["nested"] = None
    contrast["distributions"] = []
    for level in contrast["levels"]:
        level["gap_interval"] = None
    text = text_of(page(document))
    assert "The distance in parts" not in text
    assert "Scores in the levels" not in text


@pytest.mark.parametrize(
    ("paradox", "words"),
    [("masked", "hides the difference"), ("reversed", "points the other way")],
)
def test_a_paradox_is_told_in_words(paradox: Paradox, words: str) -> None:
    document = fresh("scores")
    document["contrasts"][0]["paradox"] = "none"
    assert words not in text_of(page(document))
    document["contrasts"][0]["paradox"] = paradox
    assert words in text_of(page(document))


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_is_the_finding_and_one_chart(name: str) -> None:
    document = fresh(name)
    text = summary(document)
    elements = Elements(f"<body>{text}</body>")
    body = " ".join(elements.all("body")[0]["text"].split())
    headline = document["finding"]["headline"].removesuffix(".").partition("; ")[0]
    for sentence in [headline, *document["finding"]["cautions"]]:
        assert " ".join(sentence.split()) in body
    assert text.count('role="img"') == 1
    assert not any("id" in one["attributes"] for one in elements.found)


def test_styles_of_the_summary_do_not_leak() -> None:
    (style,) = Elements(summary(fresh("scores"))).all("style")
    flat = re.sub(r"@media[^{]*\{", "", style["text"])
    selectors = re.findall(r"([^{}]+)\{[^}]*\}", flat)
    assert selectors
    for selector in ",".join(selectors).split(","):
        assert selector.strip().startswith(".likeforlike")
