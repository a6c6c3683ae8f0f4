"""The page says what was measured, for all of the protocol and for parts of it."""

import re
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from likeforlike.paper import Reproduction, paper_claims
from likeforlike.paper._claims import READINGS
from likeforlike.paper._comparison import agreement, inconsistencies
from likeforlike.paper._protocol import PAPER_METHODS
from likeforlike.paper._publishing import reproduction_pages
from likeforlike.paper._resampled import volume_differences
from tests.paper.synthetic_reproductions import AS_CLAIMED, DENIED, SETTING, reproduction

pytestmark = pytest.mark.simulation

FIGURES = {"CDD-wass and CDD-lp uniform": "reproduction/main.svg"}
FOUND = reproduction(AS_CLAIMED)
PART = reproduction(AS_CLAIMED, runs=2, datasets=["drug"], every=5)


def first_page(found: Reproduction, figures: dict[str, str]) -> str:
    return reproduction_pages(found, figures)["reproduction.md"]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The pages of all of it, made when a test first asks."""
    return reproduction_pages(FOUND, FIGURES)


@pytest.fixture(scope="module")
def page(pages: dict[str, str]) -> str:
    return pages["reproduction.md"]


def test_the_first_page_is_short_and_the_rest_is_in_the_appendix(pages: dict[str, str]) -> None:
    appendix = ["protocol.md", "claims.md", "printed.md", "frontiers.md", "together.md"]
    assert list(pages) == ["reproduction.md", *appendix, "tables.md"]
    assert len(pages["reproduction.md"].split()) < 800
    for name in (*appendix, "tables.md"):
        assert f"(reproduction/{name})" in pages["reproduction.md"]
        assert "(../reproduction.md)" in pages[name]


def test_the_first_screen_has_the_gist(page: str) -> None:
    first = " ".join(page.split()[:640])
    found = paper_claims(FOUND)
    for reading in READINGS:
        kinds = Counter(claim.verdicts[reading.name] for claim in found)
        assert f"{reading.name}: {kinds['reproduced']} reproduced, " in first
    assert "generally provide better trade-offs than the other methods: **reproduced**" in first
    assert "76 of the paper's 76 settings by exact transport, 145 to the letter" in first
    assert "61 of our own; 10 runs of each" in first
    assert f"{FOUND.runs.height:,} models" in first
    table = agreement(FOUND)
    agreeing, settings = table["agreeing"].sum(), table["settings"].sum()
    assert settings == 304
    assert f"| performance | {agreeing} of 304 |" in page
    assert first.index("How many printed settings agree") < first.index("In short")
    assert "Our recipe on the paper's inputs" in first
    assert "Our recipe with its penalty on each batch" in first
    assert "Our recipe with A unseen" in first
    assert "more than 3 standard errors" in first


def test_it_says_how_long_a_method_took(pages: dict[str, str]) -> None:
    assert "| FairBiT | 1200.0 min (7200.0 s) |" in pages["protocol.md"]


def test_it_says_how_to_run_it_again(page: str) -> None:
    assert "likeforlike reproduce --out reproduction\n" in page
    assert "likeforlike reproduce --read docs/reproduction --out docs/reproduction --page" in page
    assert "On x86_64, 2 cores, it took 10 minutes, with at most 700 MB in a worker" in page
    resumed = first_page(replace(PART, setting=SETTING | {"units_run": 1}), {})
    assert "10 minutes for 1 of 2 units of work" in resumed


def test_figures_have_words_for_those_who_do_not_see_them(page: str) -> None:
    images = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", page)
    assert [path for _, path in images] == list(FIGURES.values())
    assert images[0][0].startswith("CDD-wass and CDD-lp uniform: performance against disparity")
    assert "## Figures" not in first_page(PART, {})


def test_every_claim_has_its_line(pages: dict[str, str]) -> None:
    for claim in paper_claims(FOUND):
        verdicts = " | ".join(f"**{verdict}**" for verdict in claim.verdicts.values())
        line = f"| {claim.said} ({claim.where}) | {verdicts} | "
        (found,) = [text for text in pages["claims.md"].splitlines() if text.startswith(line)]
        assert claim.evidence[READINGS[0].name] in found
    for what, seen in inconsistencies():
        assert f"| {what} | {seen} |" in pages["claims.md"]


def test_evidence_of_other_readings_is_shown_where_they_differ() -> None:
    literal = pl.col("method").str.contains("entropic|Algorithm 1")
    other = reproduction(DENIED).runs.filter(literal)
    mixed = replace(FOUND, runs=pl.concat([FOUND.runs.filter(~literal), other]))
    text = reproduction_pages(mixed, {})["claims.md"]
    for claim in paper_claims(mixed):
        shown = f"*{READINGS[2].name}*: {claim.evidence[READINGS[2].name]}" in text
        assert shown == (claim.verdicts[READINGS[2].name] != claim.verdict)


def test_other_data_have_pages_without_the_papers_claims() -> None:
    part = reproduction(AS_CLAIMED, runs=2, datasets=["drug"], every=5)
    own = part.runs.with_columns(pl.lit("wages").alias("dataset"))
    found = Reproduction(own, part.times, SETTING | {"tasks": {"wages": "classification"}})
    assert found.of("wages").task == "classification"
    pages = reproduction_pages(found, {})
    assert list(pages) == ["reproduction.md", "protocol.md", "frontiers.md", "tables.md"]
    assert "on wages, under the paper's protocol" in pages["reproduction.md"]
    assert "claims.md" not in pages["reproduction.md"]
    assert "| FairBiT, Algorithm 1 | 10 |" in pages["tables.md"]


def test_models_worse_than_a_constant_are_marked() -> None:
    worse = FOUND.runs.with_columns(
        pl.when((pl.col("method") == "fairlearn") & (pl.col("dataset") == "drug"))
        .then(0.4)
        .otherwise(pl.col("performance"))
        .alias("performance"),
        pl.when(pl.col("dataset").is_in(["adult", "drug"]))
        .then(0.5)
        .otherwise(9.0)
        .alias("baseline"),
    )
    pages = reproduction_pages(replace(FOUND, runs=worse), {})
    told = "1 of 1,122 settings predict worse than a constant: Drug, fairlearn at 1."
    assert told in pages["reproduction.md"]
    assert "| fairlearn | 1 | 0.4000 (!) |" in pages["tables.md"]
    assert pages["tables.md"].count("(!)") == 2


def test_every_table_is_there(pages: dict[str, str]) -> None:
    headings = [
        line
        for name in ("frontiers.md", "tables.md")
        for line in pages[name].splitlines()
        if line.startswith("## ")
    ]
    for label in ("Adult", "Drug", "Law School", "Communities"):
        assert f"## {label}: FairLeap" in headings
        assert f"## {label}: all other methods" in headings
    for label in ("CDD-wass", "CDD-lp uniform", "CDD-lp average", "CDD-lp P(L)", "DD", "estimate"):
        assert any(heading.startswith(f"## {label}") for heading in headings)
    assert len(headings) == len(set(headings)) == 8 + 8 + 4


def test_tables_are_whole(pages: dict[str, str]) -> None:
    """Every row of a table has as many cells as its head."""
    cells, seen = None, 0
    for line in "\n".join(pages.values()).splitlines():
        if not line.startswith("|"):
            cells = None
            continue
        count = len(re.findall(r"(?<!\\)\|", line))
        assert cells in (None, count), line
        cells, seen = count, seen + 1
    assert seen > 300


def test_counts_of_our_recipe_are_those_of_the_differences() -> None:
    made = reproduction(DENIED, noise=0.05, datasets=["drug"])
    found = volume_differences(made).to_dicts()
    single = [
        row["larger"] if row["larger"] is row["lines_larger"] else None
        for row in found
        if row["disparity"] != "dd"
        and not row["ours"].endswith(("unseen", "by batch"))
        and row["theirs"] != "paper's best of four"
    ]
    told = (
        f"larger than the paper's in {single.count(True)} of {len(single)} comparisons, smaller in "
        f"{single.count(False)}, open in {single.count(None)}"
    )
    assert told in " ".join(first_page(made, {}).split())


def test_differences_that_count_are_bold(pages: dict[str, str]) -> None:
    figure = r"[+-]\d\.\d{3} ± \d\.\d{3}"
    bold = re.findall(rf"\*\*{figure}<br>{figure}\*\*", pages["frontiers.md"])
    counted = [
        row
        for row in volume_differences(FOUND).to_dicts()
        if row["larger"] is not None and row["larger"] is row["lines_larger"]
    ]
    assert len(bold) == len(counted) > 0


@pytest.mark.parametrize("runs", [1, 2])
def test_parts_of_the_protocol_have_a_page(runs: int) -> None:
    part = reproduction(AS_CLAIMED, runs=runs, datasets=["drug"], every=5)
    page = "\n".join(reproduction_pages(part, FIGURES).values())
    assert "20 of the paper's 76 settings" in page
    assert f"{runs} run{'s' if runs > 1 else ''} of each" in page
    assert f"With {runs} run{'s' if runs > 1 else ''} nothing is decided." in page
    assert "Adult: FairLeap" not in page
    assert "nan" not in re.sub(r"[a-z]nan|nan[a-z]", "", page)
    assert "None" not in page


def test_a_reproduction_of_the_papers_methods_alone_has_a_page() -> None:
    found = reproduction(AS_CLAIMED, methods=PAPER_METHODS, runs=5, datasets=["drug"])
    page = "\n".join(reproduction_pages(found, {}).values())
    assert "Our recipe on" not in page
    assert "Ours less theirs" not in page
