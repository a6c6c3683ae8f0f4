"""The paper's example of DCFR against the disparity, and its figure."""

import itertools
import re
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike import FairBiT, FairLeap
from likeforlike.errors import InputError
from likeforlike.paper._dcfr_illustration import dcfr_chart, dcfr_illustration

SVG = "{http://www.w3.org/2000/svg}"


def rows_of(row: dict[str, int]) -> tuple[list[int], list[str]]:
    """The applicants of one line of the table, one by one: decision and sex."""
    counts = [row[name] for name in "abcd"]
    decisions = np.repeat([1, 1, 0, 0], counts).tolist()
    return decisions, np.repeat(["man", "woman", "man", "woman"], counts).tolist()


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return dcfr_illustration()


def test_figures_are_those_of_the_rows_themselves(table: pl.DataFrame) -> None:
    for row in table[::3].iter_rows(named=True):
        decisions, sex = rows_of(row)
        assert len(decisions) == 10_000
        assert float(lfl.cdd_lp(decisions, sex)) == pytest.approx(row["cdd"], abs=1e-15)
        assert float(lfl.disparity.tv_overlap(decisions, sex)) == pytest.approx(
            row["dcfr"], abs=1e-15
        )


def test_proposition_5_1_by_its_definition(table: pl.DataFrame) -> None:
    """E[(P(man | decision) - P(man))_+], applicant by applicant."""
    for row in table[::7].iter_rows(named=True):
        decisions, sex = map(np.array, rows_of(row))
        man = sex == "man"
        men_at = np.array([man[decisions == f].mean() for f in (0, 1)])
        excess = np.maximum(men_at[decisions] - man.mean(), 0.0)
        assert excess.mean() == pytest.approx(row["dcfr"], abs=1e-12)


def test_the_two_forms(table: pl.DataFrame) -> None:
    r, cdd = table["share"], table["cdd"]
    approved = (table["a"] + table["b"]) / 10_000
    np.testing.assert_allclose(table["dcfr"], r * (1.0 - r) * cdd, rtol=0, atol=1e-15)
    larger = table["dcfr"] / (approved * (1.0 - approved))
    np.testing.assert_allclose(table["dcfr_printed"], larger, rtol=0, atol=1e-15)
    assert (table["dcfr"] <= 0.25 * cdd + 1e-15).all()
    even = table.filter(pl.col("share") == 0.5)
    np.testing.assert_allclose(even["dcfr_printed"], even["cdd"], rtol=0, atol=1e-15)
    a, b, c, d = (table[name] for name in "abcd")
    np.testing.assert_allclose(table["dcfr_printed"], a / (a + b) - c / (c + d), atol=1e-15)
    np.testing.assert_allclose(cdd, a / (a + c) - b / (b + d), atol=1e-15)


def test_counts_are_what_was_asked_for(table: pl.DataFrame) -> None:
    assert table.height == 40
    assert (table["a"] + table["c"] == (10_000 * table["share"]).round()).all()
    np.testing.assert_allclose(table["cdd"], table["difference"], rtol=0, atol=1e-15)


def test_penalties_equal_the_disparity_for_every_share(table: pl.DataFrame) -> None:
    for row in table[4::10].iter_rows(named=True):
        decisions, sex = rows_of(row)
        for penalty in (FairLeap(), FairBiT()):
            value, _ = penalty.value_and_grad(decisions, sex)
            assert value == pytest.approx(row["cdd"], abs=1e-12)


def test_drawn_applicants_are_close_to_what_was_asked_for() -> None:
    drawn = dcfr_illustration(random_state=1)
    assert drawn.equals(dcfr_illustration(random_state=1))
    assert not drawn.equals(dcfr_illustration(random_state=2))
    assert (drawn["a"] + drawn["b"] + drawn["c"] + drawn["d"] == 10_000).all()
    # The scarcer sex has 100 applicants at the least: five standard errors of a rate there.
    np.testing.assert_allclose(drawn["cdd"], drawn["difference"], atol=0.25)
    np.testing.assert_allclose(drawn["fairbit"], drawn["cdd"].abs(), atol=1e-12)
    for row in drawn[::13].iter_rows(named=True):
        decisions, sex = rows_of(row)
        assert FairBiT().value_and_grad(decisions, sex)[0] == pytest.approx(row["fairbit"])


def test_fairbit_has_one_line_for_all_shares(drawing: ET.Element) -> None:
    words = [text.text for text in panel(drawing, "fairbit").iter(f"{SVG}text")]
    assert "all shares" in words
    assert "50%" not in words


def test_counts_that_do_not_come_out_even_are_rounded() -> None:
    odd = dcfr_illustration(shares=[0.37], differences=[0.33], applicants=101)
    row = odd.row(0, named=True)
    assert sum(row[name] for name in "abcd") == 101
    assert row["a"] + row["c"] == 37
    decisions, sex = rows_of(row)
    assert row["cdd"] == pytest.approx(float(lfl.cdd_lp(decisions, sex)), abs=1e-15)
    assert row["cdd"] == pytest.approx(0.33, abs=0.03)


def test_even_the_smallest_samples_have_every_figure() -> None:
    for applicants in range(4, 12):
        for share, difference in itertools.product([0.4, 0.5, 0.6], [0.0, 0.5, 1.0]):
            small = dcfr_illustration([share], [difference], applicants)
            assert small["dcfr_printed"].is_finite().all()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"shares": [1.2]}, "shares must lie from 0 to 1, not 1.2"),
        ({"shares": []}, "shares is empty"),
        ({"differences": [-0.1]}, "differences must lie from 0 to 1, not -0.1"),
        ({"shares": [0.9999]}, "9999 of 10000 applicants men: there must be two men and two women"),
        ({"applicants": 10.5}, "applicants must be a whole number, not 10.5"),
    ],
)
def test_bad_input(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        dcfr_illustration(**arguments)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def drawing(table: pl.DataFrame) -> ET.Element:
    return ET.fromstring(dcfr_chart(table))


def panel(drawing: ET.Element, name: str) -> ET.Element:
    found = drawing.find(f".//{SVG}g[@class='{name}']")
    assert found is not None
    return found


def test_the_drawing_says_what_it_shows(drawing: ET.Element) -> None:
    assert drawing.tag == f"{SVG}svg"
    assert drawing.get("role") == "img"
    assert (
        drawing.findtext(f"{SVG}title") == "Disparity against the regularizers of DCFR and FairBiT"
    )
    told = drawing.findtext(f"{SVG}desc")
    assert told is not None
    assert "CDD 0.400: printed 0.400, Proposition 5.1 0.100, FairBiT 0.400" in told
    assert "90% men: CDD 0" in told
    assert told.count("Proposition 5.1 ") == 40


def test_the_drawing_needs_nothing_from_outside(table: pl.DataFrame) -> None:
    text = dcfr_chart(table)
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r'(?:href|src)=|@import|https?://(?!www\.w3\.org/2000/svg")', text) == []


def test_the_two_forms_differ_without_color(drawing: ET.Element) -> None:
    printed, right = panel(drawing, "dcfr_printed"), panel(drawing, "dcfr")
    # Four lines and a key each: solid with circles, and dashed with diamonds.
    dashes = [
        [line.get("stroke-dasharray") for line in lines.iter(f"{SVG}path") if is_line(line)]
        for lines in (printed, right)
    ]
    assert dashes == [[None] * 5, ["7 4"] * 5]
    assert len(list(printed.iter(f"{SVG}circle"))) == 41
    assert list(right.iter(f"{SVG}circle")) == []
    assert sum("full" in line.get("class", "") for line in right.iter(f"{SVG}path")) == 41
    for part in (printed, right):
        words = [text.text for text in part.iter(f"{SVG}text")]
        assert {"50%", "80%", "90%", "99%"} <= set(words)


def is_line(path: ET.Element) -> bool:
    return "outline" in path.get("class", "")


def test_points_lie_where_their_figures_are(drawing: ET.Element, table: pl.DataFrame) -> None:
    circles = list(panel(drawing, "dcfr_printed").iter(f"{SVG}circle"))[1:]
    x, y = (np.array([float(dot.get(axis, "")) for dot in circles]) for axis in ("cx", "cy"))
    np.testing.assert_allclose(x, 44.0 + 248.0 * table["dcfr_printed"].to_numpy(), atol=0.051)
    np.testing.assert_allclose(y, 322.0 - 248.0 * table["cdd"].to_numpy(), atol=0.051)


def test_labels_do_not_touch() -> None:
    crowded = dcfr_chart(dcfr_illustration(shares=[0.5, 0.51, 0.52, 0.53, 0.99]))
    for name in ("dcfr_printed", "dcfr"):
        part = panel(ET.fromstring(crowded), name)
        labels = [text for text in part.iter(f"{SVG}text") if "strong" in text.get("class", "")]
        places = sorted(float(text.get("x", "")) for text in labels)
        assert len(places) == 5
        assert min(np.diff(places)) >= 35.9
