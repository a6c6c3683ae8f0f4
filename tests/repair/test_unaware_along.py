"""Repairs without the group along a number: what they leave among equals, and leave alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity import encode_columns
from likeforlike.errors import InputError
from likeforlike.penalties import Layout
from likeforlike.repair import (
    FairDecisions,
    UnawareRepair,
)
from likeforlike.repair._along_number import SCORE_WINDOWS, UnawareWindows
from likeforlike.training import estimate_smooth_disparity

pytestmark = pytest.mark.training

ROWS = 3000
_SPREAD = 0.06


class People(NamedTuple):
    scores: FloatArray
    groups: IntArray
    income: FloatArray
    chances: FloatArray

    @property
    def who(self) -> dict[str, Any]:
        return {"sensitive_features": self.groups, "legitimate_features": self.income}

    def left(self, scores: FloatArray | IntArray | BoolArray) -> float:
        """Squared disparity among people of the same income, without bias."""
        values = np.asarray(scores, np.float64)
        return estimate_smooth_disparity(
            values, Layout.from_columns(self.groups, self.income)
        ).squared


def people(seed: int, gap: float, hint: float = 2.0) -> People:
    """Scores follow income, which the groups have unequally; an input hints at the group.

    Chances are exact: what is known of the group from income, the input and the score.
    """
    rng = np.random.default_rng(seed)
    rank = rng.random(ROWS)
    income = np.exp(9.0 + 2.0 * rank)
    share = 1.0 / (1.0 + np.exp(-5.0 * (rank - 0.5)))
    group = (rng.random(ROWS) < share).astype(np.int64)
    noise = _SPREAD * rng.normal(size=ROWS) + gap * group
    scores = 0.2 + 0.5 * rank**1.5 + noise
    known = hint * (group - 0.5) + rng.normal(size=ROWS)
    by_score = gap * (noise - gap / 2.0) / _SPREAD**2
    odds = share / (1.0 - share) * np.exp(hint * known + by_score)
    return People(np.clip(scores, 0.0, 1.0), group, income, odds / (1.0 + odds))


@pytest.fixture(scope="module")
def shifted() -> tuple[People, People]:
    return people(0, 0.08), people(1, 0.08)


@pytest.fixture(scope="module")
def repair(shifted: tuple[People, People]) -> UnawareRepair:
    fit = shifted[0]
    made = UnawareRepair(smooth=True, propensity="given", cv=2)
    return made.fit(fit.scores, fit.chances, **fit.who)


@pytest.fixture(scope="module")
def rule(shifted: tuple[People, People]) -> FairDecisions:
    fit = shifted[0]
    made = FairDecisions(smooth=True, propensity="given", cv=2)
    return made.fit(fit.scores, fit.chances, **fit.who)


def test_a_shift_is_repaired_on_new_rows(
    repair: UnawareRepair, shifted: tuple[People, People]
) -> None:
    new = shifted[1]
    moved = repair.transform(new.scores, new.chances, legitimate_features=new.income)
    assert new.left(new.scores) > 0.07**2
    assert new.left(moved) < 0.02**2
    found = repair.parity_[0]
    assert found.before.squared == pytest.approx(0.08**2, rel=0.25)
    assert found.after.squared < 0.25 * found.before.squared
    assert repair._windows is not None
    assert repair.levels_ == repair._windows.labels


def test_decisions_are_repaired_on_new_rows(
    rule: FairDecisions, shifted: tuple[People, People]
) -> None:
    new = shifted[1]
    accepted = rule.predict(new.scores, new.chances, legitimate_features=new.income)
    before, after = new.left(new.scores > 0.5), new.left(accepted)
    assert before > 0.15**2
    assert after < 0.25 * before
    assert rule.parity_[0].after.squared < 0.25 * rule.parity_[0].before.squared
    assert len(rule.cut_offs_) == len(rule.levels_) + 1


def test_where_nobody_is_treated_differently_nothing_is_made_worse() -> None:
    fit, new = people(2, 0.0), people(3, 0.0)
    made = UnawareRepair(smooth=True, propensity="given", cv=2)
    made.fit(fit.scores, fit.chances, **fit.who)
    made.trust_ = 1.0
    moved = made.transform(new.scores, new.chances, legitimate_features=new.income)
    assert new.left(moved) < max(new.left(new.scores), 0.0) + 0.005**2


@pytest.mark.filterwarnings("ignore::likeforlike.errors.RepairWarning")
def test_a_guess_that_knows_no_more_than_the_number_moves_nobody() -> None:
    fit = people(4, 0.08)._replace(chances=people(4, 0.0, hint=0.0).chances)
    made = UnawareRepair(smooth=True, propensity="given", cv=2)
    made.fit(fit.scores, fit.chances, **fit.who)
    made.trust_ = 1.0
    moved = made.transform(fit.scores, fit.chances, legitimate_features=fit.income)
    # In bins it would sort people by the number, and take the gap for theirs.
    assert np.sqrt(np.mean((moved - fit.scores) ** 2)) < 0.014


def test_with_the_group_known_little_is_left(shifted: tuple[People, People]) -> None:
    fit, new = shifted
    made = UnawareRepair(smooth=True, propensity="given", cv=2)
    made.fit(fit.scores, fit.groups, **fit.who)
    moved = made.transform(new.scores, new.groups, legitimate_features=new.income)
    assert new.left(moved) < 0.015**2


def test_it_rises_with_the_score_at_equal_guess_and_number(repair: UnawareRepair) -> None:
    rising = np.linspace(0.0, 1.0, 300)
    for chance in (0.1, 0.5, 0.9):
        for income in (9_000.0, 20_000.0, 50_000.0):
            moved = repair.transform(
                rising, np.full(300, chance), legitimate_features=np.full(300, income)
            )
            assert np.diff(moved).min() > -1e-9


def test_chances_among_equals_give_all_groups_the_same_spread_of_the_number() -> None:
    fit = people(5, 0.0)
    level, group = (encode_columns(column, "x", ROWS) for column in (fit.income, fit.groups))
    along = UnawareWindows.fit(fit.scores, level, group, np.ones(ROWS), SCORE_WINDOWS)
    members = np.eye(2)[fit.groups]
    among = along.relative_propensities(members, along.locate(level))
    rank = np.argsort(np.argsort(fit.income)) / ROWS
    means = (among * rank[:, None]).sum(axis=0) / among.sum(axis=0)
    plain = (members * rank[:, None]).sum(axis=0) / members.sum(axis=0)
    assert abs(means[1] - means[0]) < 0.01
    assert plain[1] - plain[0] > 0.25
    np.testing.assert_allclose(among.sum(axis=0), members.sum(axis=0))


def test_categories_stand_beside_the_number() -> None:
    fit = people(6, 0.08)
    kind = np.where(np.arange(ROWS) % 2 == 0, "a", "b")
    levels = list(zip(fit.income.tolist(), kind.tolist(), strict=True))
    scores = fit.scores + 0.1 * (kind == "b")
    table = np.array(levels, dtype=object)
    made = UnawareRepair(smooth=True, propensity="given", cv=2)
    made.fit(scores, fit.chances, sensitive_features=fit.groups, legitimate_features=table)
    moved = made.transform(scores, fit.chances, legitimate_features=table)
    assert fit.left(moved - 0.1 * (kind == "b")) < 0.25 * fit.left(fit.scores)
    assert {str(label)[:6] for label in made.levels_} == {"(('a',", "(('b',"}
    with pytest.raises(InputError, match="which fit has not seen"):
        made.transform([0.5], [0.5], legitimate_features=np.array([[9_000.0, "c"]], dtype=object))


def test_ratings_are_repaired_in_windows_as_they_are(shifted: tuple[People, People]) -> None:
    fit = shifted[0]
    ratings = np.round(10.0 * fit.scores) / 10.0
    made = UnawareRepair(smooth=True, propensity="given", cv=2)
    made.fit(ratings, fit.chances, **fit.who)
    moved = made.transform(ratings, fit.chances, legitimate_features=fit.income)
    assert fit.left(moved) < 0.5 * fit.left(ratings)


@pytest.mark.parametrize("kind", ["repair", "rule"])
def test_files_hold_windows_too(
    kind: str, request: pytest.FixtureRequest, shifted: tuple[People, People], tmp_path: Path
) -> None:
    made, new = request.getfixturevalue(kind), shifted[1]
    path = tmp_path / "repair.json"
    made.save(path)
    again = lfl.load(path)
    columns = (new.scores, new.chances)
    first, second = (
        one.transform(*columns, legitimate_features=new.income)
        if isinstance(one, UnawareRepair)
        else one.predict(*columns, legitimate_features=new.income)
        for one in (made, again)
    )
    np.testing.assert_allclose(second, first, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("offsets", []),
        ("window", [0]),
        ("chances", [[0.5, 0.5]]),
        ("curve", {"mean": [1.0], "scale": [1.0], "nodes": [0.0], "cdf": [[0.5]]}),
        ("curve", 3),
        ("categories", []),
        ("numbers", None),
    ],
)
def test_a_file_whose_windows_do_not_fit_is_refused(
    name: str, value: Any, repair: UnawareRepair, tmp_path: Path
) -> None:
    path = tmp_path / "repair.json"
    repair.save(path)
    document = json.loads(path.read_text())
    if value is None:
        document[name] = None
    else:
        document["numbers"][name] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="is not a repair"):
        lfl.load(path)


def test_smooth_needs_a_number() -> None:
    fit = people(7, 0.0)
    made = UnawareRepair(smooth=True, propensity="given")
    with pytest.raises(InputError, match="needs legitimate_features"):
        made.fit(fit.scores, fit.chances, sensitive_features=fit.groups)
    with pytest.raises(InputError, match="compares along a number, but 'a'"):
        made.fit(
            fit.scores,
            fit.chances,
            sensitive_features=fit.groups,
            legitimate_features=np.full(ROWS, "a"),
        )
    with pytest.raises(InputError, match="smooth must be True or False"):
        made.set_params(smooth="yes").fit(fit.scores, fit.chances, **fit.who)
