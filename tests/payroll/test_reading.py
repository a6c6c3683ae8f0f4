"""Staff as people have it: Excel, decimal commas, contracts, part-time, missing values, words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.errors import InputError
from tests.payroll.staff import ROLES, forty


def exact(data: Any, **more: Any) -> Any:
    return lfl.pay(data, **(ROLES | {"suppress_below": None, "permutations": 99} | more))


def figures(report: Any) -> list[Any]:
    return [(gap.people, gap.percent) for gap in report.gaps] + [
        (c.name, [gap.percent for gap in c.gaps], c.cost) for c in report.categories
    ]


def test_files_say_what_tables_say(tmp_path: Path) -> None:
    forty().write_excel(tmp_path / "staff.xlsx", worksheet="staff")
    forty().write_csv(tmp_path / "staff.csv")
    forty().write_parquet(tmp_path / "staff.parquet")
    table = figures(exact(forty()))
    for name in ("staff.xlsx", "staff.csv", "staff.parquet"):
        assert figures(exact(tmp_path / name)) == table
    assert figures(exact(forty().to_pandas())) == table


def test_money_as_people_write_it(tmp_path: Path) -> None:
    def write(amount: float) -> str:
        return f"{amount:,.2f} €".translate(str.maketrans(",.", ".,"))

    texts = forty().with_columns(
        pl.col("base", "variable").map_elements(write, return_dtype=pl.String)
    )
    texts.write_csv(tmp_path / "staff.csv", separator=";")
    assert figures(exact(tmp_path / "staff.csv")) == figures(exact(forty()))


@pytest.mark.parametrize(
    ("women", "men"),
    [("F", "H"), ("Female", "male"), ("w", "m"), ("Frau", "Mann"), ("femme", "homme")],
)
def test_words_for_women_and_men(women: str, men: str) -> None:
    renamed = forty().with_columns(pl.col("sex").replace({"f": women, "m": men}))
    assert figures(exact(renamed)) == figures(exact(forty()))


def test_codes_have_to_be_named() -> None:
    coded = forty().with_columns(pl.col("sex").replace_strict({"f": 2, "m": 1, "x": 3}))
    with pytest.raises(InputError, match=r"\['1', '2', '3'\].*women='1', men='2'"):
        exact(coded)
    assert figures(exact(coded, women=2, men="1")) == figures(exact(forty()))
    assert exact(coded, women=2, men=1).document.staff.others == {"3": 1}


@pytest.mark.parametrize("codes", [("m", "h"), ("V", "M")])
def test_letters_that_mean_either_are_not_guessed(codes: tuple[str, str]) -> None:
    coded = forty().with_columns(pl.col("sex").replace({"f": codes[0], "m": codes[1]}))
    with pytest.raises(InputError, match="who is a woman and who a man"):
        exact(coded)


def test_contracts_of_a_person_are_added_up() -> None:
    people = forty().with_row_index("person")
    first = people.with_columns(pl.col("base", "variable", "hours") * 0.75)
    second = people.with_columns(pl.col("base", "variable", "hours") * 0.25, category=pl.lit("z"))
    report = exact(pl.concat([first, second]), id="person")
    assert report.document.staff.contracts == 80
    assert report.document.staff.people == 40
    for mine, whole in zip(report.gaps, exact(forty()).gaps, strict=True):
        assert mine.people == whole.people
        assert mine.percent == (None if whole.percent is None else pytest.approx(whole.percent))
    assert [each.name for each in report.categories] == ["a", "b", "c"]


def test_contracts_that_disagree_about_a_person_are_refused() -> None:
    rows = forty()[:4].with_columns(person=pl.lit("p"), sex=pl.Series(["f", "m", "f", "m"]))
    with pytest.raises(
        InputError, match=r"2 people of column 'person' .* different values in 'sex'"
    ):
        exact(pl.concat([rows, forty().with_columns(person=pl.lit("q"))]), id="person")


@pytest.mark.parametrize(
    ("unit", "times", "more"),
    [("week", 1 / 52, {}), ("month", 1 / 12, {}), ("full-time", 1 / 1820, {"full_time": 1820})],
)
def test_hours_in_any_unit(unit: str, times: float, more: dict[str, Any]) -> None:
    report = exact(forty().with_columns(pl.col("hours") * times), hours_unit=unit, **more)
    for mine, whole in zip(report.gaps, exact(forty()).gaps, strict=True):
        assert mine.percent == (None if whole.percent is None else pytest.approx(whole.percent))


def test_missing_values_are_counted_and_the_rest_is_used() -> None:
    gaps = forty().with_columns(
        pl.when(pl.int_range(40) == 1).then(None).otherwise(pl.col("hours")).alias("hours"),
        pl.when(pl.int_range(40) == 2).then(None).otherwise(pl.col("category")).alias("category"),
        pl.when(pl.int_range(40) == 3).then(None).otherwise(pl.col("sex")).alias("sex"),
        pl.when(pl.int_range(40) == 4).then(None).otherwise(pl.col("variable")).alias("variable"),
        pl.when(pl.int_range(40) == 5).then(None).otherwise(pl.col("base")).alias("base"),
    )
    report = exact(gaps)
    staff = report.document.staff
    assert (staff.no_hours, staff.no_category, staff.unknown) == (1, 1, 1)
    assert (staff.no_variable, staff.unpaid, staff.people) == (1, 1, 39)
    [year, hour] = [gap for gap in report.gaps if (gap.part, gap.average) == ("total", "mean")]
    assert year.people[0] == hour.people[0] + 1
    document = report.document
    pay = hour.pay
    assert document.within_pay + document.between_pay == pytest.approx(pay[1] - pay[0], rel=1e-12)


def test_csv_files_with_gaps_say_what_tables_say(tmp_path: Path) -> None:
    gaps = forty().with_columns(
        pl.when(pl.int_range(40) % 7 == 1).then(None).otherwise(pl.col("hours")).alias("hours"),
        pl.when(pl.int_range(40) % 9 == 2).then(None).otherwise(pl.col("sex")).alias("sex"),
        pl.when(pl.int_range(40) % 8 == 3)
        .then(None)
        .otherwise(pl.col("variable"))
        .alias("variable"),
    )
    gaps.write_csv(tmp_path / "staff.csv", null_value="NA")
    assert figures(exact(tmp_path / "staff.csv")) == figures(exact(gaps))
    assert exact(tmp_path / "staff.csv").document.staff == exact(gaps).document.staff


def test_other_genders_are_counted_always() -> None:
    report = exact(forty())
    assert report.document.staff.others == {"x": 1}
    assert sum(report.document.bands[0].others) == pytest.approx(10.0)
    assert report.document.others["x"].people == (1, 20)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": "salary"}, "there is no column 'salary'"),
        ({"variable": "base"}, "one role only"),
        ({"trigger": 5}, "percentage such as '5%', or 0.05"),
        ({"trigger": "five"}, "percentage such as '5%'"),
        ({"confidence": 1.0}, "confidence must lie in"),
        ({"hours_unit": "day"}, "hours_unit must be one of"),
        ({"hours_unit": "full-time"}, "needs full_time"),
        ({"suppress_below": 1}, "whole number from 2 on, or None"),
        ({"permutations": 5}, "99 or more"),
        ({"women": "f"}, "name both"),
        ({"women": "f", "men": "z"}, "has no 'z'"),
    ],
)
def test_what_cannot_be_done_is_said(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        exact(forty(), **change)


def test_amounts_below_nothing_are_refused_and_not_quoted_where_people_are_hidden() -> None:
    wrong = forty().with_columns(base=pl.col("base") - 20_500.0)
    with pytest.raises(
        InputError, match=r"'base' must hold amounts of 0 or more, but 1 row .*-500"
    ):
        exact(wrong)
    with pytest.raises(InputError, match="not shown"):
        exact(wrong, suppress_below=10)


def test_one_sex_alone_is_no_comparison() -> None:
    with pytest.raises(InputError, match="does not say who is a woman"):
        exact(forty().filter(pl.col("sex") == "f"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.col("base", "variable") * (pl.col("sex") != "m"), "there are no men with pay"),
        (pl.when(pl.col("sex") != "f").then(pl.col("hours")), "hours of none of the women"),
    ],
)
def test_nothing_to_compare_is_said(change: pl.Expr, message: str) -> None:
    with pytest.raises(InputError, match=message):
        exact(forty().with_columns(change))


def test_equal_pay_is_called_the_same() -> None:
    report = exact(forty().with_columns(base=1000.0, variable=0.0, hours=10.0), variable=None)
    assert report.finding.headline == "Women and men are paid the same per hour on average."
    assert all(gap.percent == 0.0 and gap.interval is None for gap in report.gaps)
