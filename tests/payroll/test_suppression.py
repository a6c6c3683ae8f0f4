"""What is passed on shows nobody: not by itself, and not beside another edition."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.payroll import PayReport
from tests.payroll.staff import ROLES

LIMIT = 10
COUNTS = (
    "people",
    "contracts",
    "women",
    "men",
    "unknown",
    "unpaid",
    "raised",
    "one_sex",
    "unlisted",
)


def some_staff(seed: int, people: int = 160) -> pl.DataFrame:
    """Staff of a few categories, some of them small, with a few of another gender."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 90, 7)
    grade = rng.choice(7, people, p=size / size.sum())
    pay = 25_000 * 1.2**grade * rng.lognormal(0.0, 0.25, people)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m", "x"], people, p=[0.48, 0.48, 0.04]),
            "category": [f"grade {k}" for k in grade],
            "base": pay.round(2),
            "variable": np.where(rng.random(people) < 0.6, pay * 0.1, 0.0).round(2),
            "hours": rng.choice([900.0, 1400.0, 1800.0], people),
        }
    )


def published(staff: pl.DataFrame, limit: int | None = LIMIT) -> PayReport:
    return lfl.pay(staff, **ROLES, suppress_below=limit, permutations=99)


def counts(values: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Every count of people in a document, with its name."""
    if isinstance(values, dict):
        for key, value in values.items():
            inner = "others count" if (name, key) == ("staff", "others") else key
            yield from counts(value, name if name == "others count" else inner)
    elif isinstance(values, list):
        for value in values:
            yield from counts(value, name)
    elif isinstance(values, int) and name in (*COUNTS, "others count"):
        yield name, values


@pytest.mark.parametrize("seed", range(12))
def test_every_count_is_a_multiple_of_the_limit(seed: int) -> None:
    document = json.loads(published(some_staff(seed)).to_json())
    found = list(counts(document))
    assert len(found) > 20
    assert not [each for each in found if each[1] % LIMIT]


@pytest.mark.parametrize("seed", range(12))
def test_small_categories_are_not_named_anywhere(seed: int) -> None:
    staff = some_staff(seed)
    report = published(staff)
    sizes = staff.group_by("category", "sex").len()
    few = set(sizes.filter(pl.col("len") < LIMIT, pl.col("sex") != "x")["category"])
    few |= {
        name
        for name in set(staff["category"])
        if sizes.filter(pl.col("category") == name, pl.col("sex") != "x").height < 2
    }
    shown = {each.name for each in report.categories}
    assert not shown & few
    texts = report.to_json(), report.to_html(), str(report)
    for name in few:
        assert not any(re.search(rf"\b{name}\b", text) for text in texts)
    # One category alone could be had by subtraction.
    assert report.document.unlisted_categories != 1


def test_a_gender_of_few_is_counted_without_its_name() -> None:
    staff = some_staff(3).with_columns(pl.col("sex").replace("x", "agender"))
    report = published(staff)
    assert "agender" not in report.to_json() + report.to_html()
    assert "agender" in published(staff, None).to_json()


def recovered(
    before: Any, after: Any, sizes: dict[tuple[str, str], int]
) -> list[tuple[float, str]]:
    """Pay of a woman who is in the second edition only, from the differences of its averages.

    Who does this knows every exact count.
    """
    found = []
    for one, two in zip(before["gaps"], after["gaps"], strict=True):
        if one["average"] == "mean" and not one["receivers"] and one["pay"] and two["pay"]:
            n = sizes[one["part"], one["per"]]
            key = f"{one['part']} {one['per']}"
            found.append(((n + 1) * two["pay"][0] - n * one["pay"][0], key))
            if one["percent"] is not None and two["percent"] is not None:
                men = two["pay"][1]
                women = [men * (1.0 - each["percent"] / 100.0) for each in (one, two)]
                found.append(((n + 1) * women[1] - n * women[0], key))
    return found


@pytest.mark.simulation
def test_two_editions_do_not_tell_what_one_person_is_paid() -> None:
    exact, errors = 0, list[float]()
    for seed in range(8):
        staff = some_staff(seed)
        women = staff.with_row_index().filter(pl.col("sex") == "f")["index"]
        last = int(women[seed % len(women)])
        person = staff.row(last, named=True)
        earlier = pl.concat([staff[:last], staff[last + 1 :]])
        truth = {
            f"{part} {per}": (
                person["base"] * (part != "variable") + person["variable"] * (part != "base")
            )
            / (person["hours"] if per == "hour" else 1.0)
            for part in ("total", "variable")
            for per in ("year", "hour")
        }
        n = len(women) - 1
        sizes = {(part, per): n for part in ("total", "variable") for per in ("year", "hour")}
        for limit in (None, LIMIT):
            pair = [published(each, limit).to_dict() for each in (earlier, staff)]
            for value, key in recovered(pair[0], pair[1], sizes):
                scale = max(truth[key], 1.0)
                error = abs(value - truth[key]) / scale
                if limit is None:
                    exact += error < 1e-6
                else:
                    errors.append(error)
    # The attack works on what is exact, and not on what is passed on.
    assert exact >= 32
    assert len(errors) >= 32
    assert min(errors) > 1e-3
    assert np.median(errors) > 0.25


@pytest.mark.simulation
def test_categories_of_two_editions_do_not_tell_it_either() -> None:
    errors, guesses = list[float](), list[float]()
    for seed in range(16):
        staff = some_staff(seed)
        for name in sorted(set(staff["category"])):
            own = (pl.col("category") == name) & (pl.col("sex") == "f")
            women = staff.with_row_index().filter(own)
            if women.height < LIMIT + 1:
                continue
            last = int(women["index"][0])
            pay = staff.row(last, named=True)
            editions = [
                published(each) for each in (pl.concat([staff[:last], staff[last + 1 :]]), staff)
            ]
            both = [next((c for c in e.categories if c.name == name), None) for e in editions]
            if both[0] is None or both[1] is None:
                continue
            for one, two in zip(both[0].gaps, both[1].gaps, strict=True):
                if one.pay and two.pay:
                    value = women.height * two.pay[0] - (women.height - 1) * one.pay[0]
                    truth = {"base": pay["base"], "variable": pay["variable"]}.get(
                        one.part, pay["base"] + pay["variable"]
                    ) / (pay["hours"] if one.per == "hour" else 1.0)
                    errors.append(abs(value - truth) / max(truth, 1.0))
                    guesses.append(abs(two.pay[0] - truth) / max(truth, 1.0))
            break
    # Somebody who takes the average of the category, which is shown, is nearer to it.
    assert len(errors) > 40
    assert min(errors) > 1e-3
    assert np.median(errors) > 0.9 * np.median(guesses)


def test_exact_figures_for_the_authority_are_refused_where_they_are_hidden(tmp_path: Any) -> None:
    with pytest.raises(lfl.errors.InputError, match="suppress_below=None"):
        published(some_staff(1)).to_egapro(tmp_path / "g.csv")
    assert not list(tmp_path.iterdir())


def test_a_bonus_of_few_is_not_shown() -> None:
    staff = some_staff(2).with_columns(
        variable=pl.when(pl.int_range(pl.len()) < 9).then(1234.56).otherwise(0.0)
    )
    report = published(staff)
    assert all(
        gap.percent is None and gap.pay is None for gap in report.gaps if gap.part == "variable"
    )
    for category in report.categories:
        assert all(gap.pay is None for gap in category.gaps if gap.part == "variable")


@pytest.mark.simulation
def test_the_cost_of_two_editions_does_not_tell_it() -> None:
    """One woman more costs what she lacks: with exact figures that is her pay."""
    roles: dict[str, Any] = {"base": "base", "sensitive": "sex", "category": "category"}
    exact, errors, guesses = 0, list[float](), list[float]()
    for seed in range(24):
        lower = pl.when(pl.col("sex") == "f").then(0.75).otherwise(1.0)
        staff = some_staff(seed).with_columns(pl.col("base") * lower)
        for limit in (None, LIMIT):
            editions = []
            for rows in (staff.with_row_index().filter(pl.col("index") != 5), staff):
                report = lfl.pay(rows, **roles, suppress_below=limit, permutations=99)
                found = [c for c in report.categories if c.name == staff["category"][5]]
                editions += [found[0] if found else None]
            one, two = editions
            if staff["sex"][5] != "f" or one is None or two is None or not one.cost * two.cost:
                continue
            assert two.gaps[0].pay is not None
            value = 0.95 * two.gaps[0].pay[1] - (two.cost - one.cost)
            error = abs(value / staff["base"][5] - 1.0)
            if limit is None:
                exact += error < 1e-6
            else:
                errors.append(error)
                guesses.append(abs(two.gaps[0].pay[0] / staff["base"][5] - 1.0))
    assert exact >= 4
    assert len(errors) >= 3
    assert min(errors) > 1e-3
    assert np.median(errors) > 0.9 * np.median(guesses)
