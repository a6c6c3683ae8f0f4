"""The page and the files about pay: words, numbers, widths, paper, and what portals read."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import make_staff
from likeforlike.payroll import PayReport, pay_schema
from tests.payroll.staff import ROLES, forty
from tests.support.command import call
from tests.support.window import Window
from tools.schema import PAY, schema_text

STAFF: dict[str, Any] = {
    "base": "salary",
    "variable": "bonus",
    "sensitive": "sex",
    "category": "grade",
    "hours": "hours",
}
FORBIDDEN = (
    *("score", "level", "sensitive", "p-value", "p value", "null", "permutation", "quantile"),
    *("bootstrap", "significan", "standard error", "transport", "distribution", "disparity"),
    *("confidence", "hypothesis", "cell", "fair", "statistic", "stratum", "estimat", "variance"),
    *("sample", "outlier", "protected", "adjusted", "nan"),
)
POWERS = re.compile(r"\d[eE][+-]?\d|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]")


def shown(html: str) -> str:
    """What a reader sees."""
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", body)


@pytest.fixture(scope="module", params=[None, 10], ids=["exact", "suppressed"])
def report(request: pytest.FixtureRequest) -> PayReport:
    return lfl.pay(make_staff().frame, **STAFF, suppress_below=request.param, permutations=199)


def test_words_are_those_of_human_resources(report: PayReport) -> None:
    for text in (shown(report.to_html()), str(report), str(report._repr_html_())):
        found = [word for word in FORBIDDEN if re.search(rf"\b{word}", text.lower())]
        assert not found


def test_no_number_is_written_with_a_power_of_ten(report: PayReport, tmp_path: Path) -> None:
    report.to_csv(tmp_path / "pay.csv")
    texts = shown(report.to_html()), str(report), (tmp_path / "pay.csv").read_text()
    assert not [match for text in texts for match in POWERS.findall(text)]
    small = forty().with_columns(pl.col("base", "variable") * 1e-9)
    tiny = lfl.pay(small, **ROLES, suppress_below=None, permutations=99)
    assert not POWERS.findall(shown(tiny.to_html()) + str(tiny))


def test_the_page_names_the_articles_and_gives_no_advice(report: PayReport) -> None:
    text = shown(report.to_html())
    for article in ("9(1)(a)", "9(1)(b)", "9(1)(c)", "9(1)(d)", "9(1)(e)", "9(1)(f)", "9(1)(g)"):
        assert article in text
    for words in ("as commonly read", "no legal advice", "Article 10", "British report"):
        assert words in text


def test_names_from_the_file_are_escaped(tmp_path: Path) -> None:
    rows = forty().with_columns(pl.col("category").replace("a", "<b>=cmd|'/C calc'!A0"))
    rows = rows.with_columns(pl.col("category").replace("b", "=1+1"))
    report = lfl.pay(rows, **ROLES, suppress_below=None, permutations=99)
    assert "<b>=cmd" not in report.to_html()
    report.to_csv(tmp_path / "pay.csv")
    report.to_egapro(tmp_path / "egapro.csv")
    for name in ("pay.csv", "egapro.csv"):
        lines = csv.reader(
            io.StringIO((tmp_path / name).read_text("utf-8-sig")), delimiter=",;"[name[0] == "e"]
        )
        assert not [cell for line in lines for cell in line if cell.startswith("=")]


def test_json_follows_its_schema_which_follows_the_types(report: PayReport) -> None:
    assert pay_schema() == schema_text(PAY)
    validator = jsonschema_rs.validator_for(json.loads(pay_schema()))
    assert not list(validator.iter_errors(json.loads(report.to_json())))
    assert report.to_dict()["schema"] == "likeforlike.pay"


def test_csv_holds_every_figure(tmp_path: Path) -> None:
    report = lfl.pay(forty(), **ROLES, suppress_below=None, permutations=99)
    report.to_csv(tmp_path / "pay.csv")
    table = pl.read_csv(tmp_path / "pay.csv")
    assert set(table["article"].drop_nulls()) == {f"9(1)({k})" for k in "abcdefg"}
    mean = table.filter(pl.col("article") == "9(1)(a)", pl.col("per") == "hour").row(0, named=True)
    gap = next(g for g in report.gaps if (g.part, g.per, g.average) == ("total", "hour", "mean"))
    assert mean["gap_percent"] == pytest.approx(gap.percent, abs=1e-6)
    assert (mean["women"], mean["men"]) == gap.people
    assert table.filter(pl.col("article") == "9(1)(f)").height == 8
    categories = table.filter(pl.col("article") == "9(1)(g)")
    assert categories.height == 3 * 6
    assert categories["standing"].drop_nulls().len() == 3


def test_excel_holds_the_same_as_csv(tmp_path: Path) -> None:
    report = lfl.pay(forty(), **ROLES, suppress_below=None, permutations=99)
    report.to_csv(tmp_path / "pay.csv")
    report.to_xlsx(tmp_path / "pay.xlsx")
    figures = pl.read_excel(tmp_path / "pay.xlsx", sheet_name="Figures", infer_schema_length=None)
    table = pl.read_csv(tmp_path / "pay.csv", infer_schema_length=None)
    assert figures.columns == table.columns
    assert figures.height == table.height
    for name in ("gap_percent", "pay_men", "women_percent"):
        mine, theirs = figures[name].cast(pl.Float64), table[name].cast(pl.Float64)
        assert mine.to_list() == pytest.approx(theirs.to_list(), abs=1e-6)
    front = pl.read_excel(tmp_path / "pay.xlsx", sheet_name="Summary", has_header=False)
    assert front.row(0) == (report.finding.headline,)


def test_the_file_for_egapro_has_its_columns(tmp_path: Path) -> None:
    report = lfl.pay(forty(), **ROLES, suppress_below=None, permutations=99)
    report.to_egapro(tmp_path / "g.csv")
    content = (tmp_path / "g.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig")), delimiter=";"))
    assert lines[0] == [
        "Libellé de la catégorie",
        "Annuel effectif femmes",
        "Annuel effectif hommes",
        "Horaire effectif femmes",
        "Horaire effectif hommes",
        "Annuel base femmes (€)",
        "Annuel base hommes (€)",
        "Annuel variable femmes (€)",
        "Annuel variable hommes (€)",
        "Horaire base femmes (€)",
        "Horaire base hommes (€)",
        "Horaire variable femmes (€)",
        "Horaire variable hommes (€)",
    ]
    assert [line[0] for line in lines[1:]] == ["a", "b", "c"]
    rows = forty().filter(pl.col("category") == "b")
    women, men = (rows.filter(pl.col("sex") == sex) for sex in "fm")
    assert lines[2][1:5] == [str(n) for n in (women.height, men.height) * 2]
    averages = [
        part.select((pl.col(pay) / (pl.col("hours") if hourly else 1.0)).mean()).item()
        for hourly in (False, True)
        for pay in ("base", "variable")
        for part in (women, men)
    ]
    assert lines[2][5:] == [f"{each:.2f}" for each in averages]


def test_without_hours_the_hourly_columns_are_empty(tmp_path: Path) -> None:
    roles = {name: ROLES[name] for name in ("base", "sensitive", "category")}
    report = lfl.pay(forty(), **roles, suppress_below=None, permutations=99)
    report.to_egapro(tmp_path / "g.csv")
    line = (tmp_path / "g.csv").read_text("utf-8-sig").splitlines()[1].split(";")
    assert line[3:5] == ["", ""]
    assert line[7:] == [""] * 6


@pytest.fixture(scope="module")
def many() -> PayReport:
    """A report of 200 categories, with long names."""
    staff = make_staff(9000).frame.with_columns(
        grade=pl.format(
            "Department of production {} / {}", pl.int_range(pl.len()) % 200, pl.lit("shift")
        )
    )
    return lfl.pay(staff, **STAFF, suppress_below=None, permutations=99)


STICKS_OUT = """() => [...document.querySelectorAll('td, th')].filter(
  each => each.scrollWidth > each.clientWidth + 1 || each.getBoundingClientRect().right >
    document.documentElement.clientWidth + 1).map(each => each.textContent)"""


def test_two_hundred_categories_fit_on_a_phone_and_on_paper(
    window: Window, tmp_path: Path, many: PayReport
) -> None:
    assert len(many.categories) == 200
    path = tmp_path / "page.html"
    path.write_text(many.to_html(), "utf-8")
    for width in (390, 1000):
        page = window.open(path, width=width)
        assert window.said == []
        assert window.asked == [path.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(STICKS_OUT) == []
        assert page.get_by_role("table", name="Categories").get_by_role("row").count() == 201
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def written(folder: Path) -> Path:
    forty().write_excel(folder / "staff.xlsx")
    return folder


OPTIONS = (
    *("pay", "staff.xlsx", "--base", "base", "--variable", "variable", "--sensitive", "sex"),
    *("--category", "category", "--hours", "hours"),
)


def test_the_command_writes_everything(tmp_path: Path) -> None:
    files = {
        "--report": "page.html",
        "--csv": "pay.csv",
        "--xlsx": "pay.xlsx",
        "--egapro": "egapro.csv",
        "--json": "pay.json",
    }
    asked = [word for pair in files.items() for word in pair]
    done = call(*OPTIONS, *asked, "--suppress-below", "0", cwd=written(tmp_path))
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / name).stat().st_size > 200 for name in files.values())
    assert "no legal advice" in " ".join(done.stdout.split())
    report = lfl.pay(forty(), **ROLES, suppress_below=None)
    found = json.loads((tmp_path / "pay.json").read_text())
    assert found["gaps"] == report.to_dict()["gaps"]


def exit_code(folder: Path, rows: pl.DataFrame, trigger: str, *more: str) -> int:
    rows.write_csv(folder / "staff.csv")
    words = [word.replace("staff.xlsx", "staff.csv") for word in OPTIONS]
    return call(*words, "--trigger", trigger, *more, cwd=folder).returncode


def test_exit_codes_say_what_became_of_the_trigger(tmp_path: Path) -> None:
    staff = make_staff(2000).frame.rename(
        {"salary": "base", "bonus": "variable", "grade": "category"}
    )
    equal = staff.filter(pl.col("category").str.contains("assistant|clerk"))
    assert exit_code(tmp_path, equal, "50%") == 0
    unequal = equal.with_columns(
        base=pl.when(pl.col("sex") == "female").then(pl.col("base") * 0.8).otherwise(pl.col("base"))
    )
    assert exit_code(tmp_path, unequal, "5%") == 1
    assert exit_code(tmp_path, forty(), "5%", "--suppress-below", "0") == 3
    assert exit_code(tmp_path, equal, "5") == 2


def test_bad_input_leaves_no_file(tmp_path: Path) -> None:
    done = call(*OPTIONS, "--egapro", "g.csv", cwd=written(tmp_path))
    assert done.returncode == 2
    assert "--suppress-below 0" in done.stderr
    done = call(*OPTIONS[:-1], "hour", "--csv", "pay.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean 'hours'" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"staff.xlsx"}


def test_the_schema_is_printed(tmp_path: Path) -> None:
    done = call("schema", "pay", cwd=tmp_path)
    assert json.loads(done.stdout)["title"] == "Pay document of likeforlike"


def test_the_made_company_has_the_gaps_it_says() -> None:
    report = lfl.pay(make_staff(60_000).frame, **STAFF, suppress_below=None, permutations=99)
    found = [
        next(g for g in each.gaps if (g.part, g.per) == ("base", "hour"))
        for each in report.categories
    ]
    for gap, truth in zip(found, (0, 0, 4, 9, 2, 6, 0), strict=True):
        assert gap.interval is not None
        width = gap.interval[1] - gap.interval[0]
        assert gap.interval[0] - 0.5 * width <= truth <= gap.interval[1] + 0.5 * width
    assert set(report.document.staff.others) == {"divers"}
    with pytest.raises(lfl.errors.InputError, match="at least 1"):
        make_staff(0)
