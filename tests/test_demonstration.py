"""The demonstration: how rows are dealt, what is trained, chosen and set beside it."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._document_parts import document_json
from likeforlike.cli._demonstration import (
    LIMIT,
    STRENGTHS,
    LossTerms,
    audit_loans,
    compare_models,
    demonstration_document,
    train_models,
)
from likeforlike.document._training_types import TrainingPart
from likeforlike.penalties import Layout
from likeforlike.repair import ConditionalBarycenter
from likeforlike.report import page
from likeforlike.report._training_finding import distance_of
from likeforlike.training._limits import estimate_level_disparity
from tests.schema import read_demonstration

pytestmark = pytest.mark.training

SETTINGS: dict[str, Any] = {"strengths": (0.0, 1.0, 30.0), "epochs": 12}


@pytest.fixture(scope="module")
def scored() -> LossTerms:
    return train_models(3000, **SETTINGS)


@pytest.fixture(scope="module")
def training(scored: LossTerms) -> TrainingPart:
    return compare_models(scored, permutations=19)


def estimates(training: TrainingPart) -> list[float]:
    return [distance_of(model) for model in (*training["models"], training["repair"])]


def auc_by_pairs(targets: IntArray, scores: FloatArray) -> float:
    """Share of pairs of a 1 and a 0 in which the 1 scores higher; ties count half."""
    above = scores[targets == 1][:, None] - scores[targets == 0][None, :]
    return float(((above > 0.0) + 0.5 * (above == 0.0)).mean())


def test_rows_are_dealt_once_with_their_share_of_every_cell(scored: LossTerms) -> None:
    parts = (scored.learning, scored.deciding, scored.held_out)
    assert [part.size for part in parts] == [1500, 600, 900]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(3000))
    cells = Layout.from_columns(scored.loans.groups, scored.loans.levels).segments[0]
    whole = np.bincount(cells) / 3000
    for part in parts:
        # A stretch of an order in which each cell is spread evenly is off by two rows at most.
        assert np.abs(np.bincount(cells[part]) - part.size * whole).max() <= 2.0


def test_the_same_seed_gives_the_same_scores_and_another_does_not(scored: LossTerms) -> None:
    again = train_models(3000, **SETTINGS)
    assert np.array_equal(again.when_held_out, scored.when_held_out)
    other = train_models(3000, **SETTINGS, seed=1)
    assert not np.array_equal(other.held_out, scored.held_out)


def test_every_epoch_is_told() -> None:
    told: list[int] = []
    train_models(500, strengths=(0.0, 3.0), epochs=4, tick=told.append)
    assert told == [0, 1, 2, 3]


def test_an_interrupt_is_not_swallowed() -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_models(500, strengths=(0.0, 3.0), epochs=4, tick=stop)


def test_auc_counts_pairs(scored: LossTerms, training: TrainingPart) -> None:
    targets = scored.loans.targets
    for k, model in enumerate(training["models"]):
        expected = auc_by_pairs(targets[scored.held_out], scored.when_held_out[k])
        assert model["auc"] == pytest.approx(expected)
        expected = auc_by_pairs(targets[scored.deciding], scored.when_deciding[k])
        assert model["deciding"]["auc"] == pytest.approx(expected)


def test_audits_are_those_of_the_rows_held_out(scored: LossTerms, training: TrainingPart) -> None:
    rows = scored.loans.frame[scored.held_out]
    for k, model in enumerate(training["models"]):
        found = lfl.audit(
            rows.with_columns(pl.Series("predicted approval", scored.when_held_out[k])),
            score="predicted approval",
            sensitive="sex",
            legitimate="income",
            permutations=19,
        ).to_dict()
        assert model["audit"]["contrasts"] == json.loads(json.dumps(found["contrasts"]))
        assert model["audit"]["finding"] == found["finding"]


def test_a_strong_penalty_leaves_less(scored: LossTerms, training: TrainingPart) -> None:
    found = estimates(training)
    assert found[0] > 0.05
    assert found[2] < 0.5 * found[0]
    assert training["models"][2]["deciding"]["estimate"] < LIMIT


def test_deciding_figures_are_those_of_the_estimator(
    scored: LossTerms, training: TrainingPart
) -> None:
    loans, rows = scored.loans, scored.deciding
    layout = Layout.from_columns(loans.groups[rows], loans.levels[rows])
    for k, model in enumerate(training["models"]):
        expected = estimate_level_disparity(scored.when_deciding[k], layout).value
        assert model["deciding"]["estimate"] == expected


def test_the_repair_learns_its_maps_elsewhere(scored: LossTerms, training: TrainingPart) -> None:
    loans, seen, new = scored.loans, scored.deciding, scored.held_out

    def columns(rows: IntArray) -> dict[str, Any]:
        return {
            "sensitive_features": loans.groups[rows],
            "legitimate_features": loans.levels[rows],
        }

    maps = ConditionalBarycenter().fit(scored.when_deciding[0], **columns(seen))
    repaired = maps.transform(scored.when_held_out[0], **columns(new))
    assert training["repair"]["auc"] == pytest.approx(auc_by_pairs(loans.targets[new], repaired))
    assert estimates(training)[-1] < 0.5 * estimates(training)[0]


@pytest.mark.parametrize("limit", [0.0, 0.005, 0.03, 0.08, 1.0])
def test_the_choice_is_the_best_within_the_limit(scored: LossTerms, limit: float) -> None:
    found = compare_models(scored, limit=limit, permutations=1)
    deciding = [(m["deciding"]["estimate"], m["deciding"]["auc"]) for m in found["models"]]
    within = [k for k in (1, 2) if deciding[k][0] <= limit]
    assert found["met"] == bool(within)
    if within:
        assert found["chosen"] in within
        assert all(deciding[k][1] <= deciding[found["chosen"]][1] for k in within)
    else:
        assert deciding[found["chosen"]][0] == min(deciding[1][0], deciding[2][0])


def test_a_limit_that_nobody_keeps_takes_the_nearest(scored: LossTerms) -> None:
    """Scores that give the groups away; the second less than the third."""
    male = (scored.loans.groups == "male").astype(float)
    noise = np.random.default_rng(0).random(3000)
    scores = np.stack([0.6 * male + noise, 0.3 * male + noise, 0.5 * male + noise])
    open_handed = replace(
        scored,
        when_deciding=scores[:, scored.deciding],
        when_held_out=scores[:, scored.held_out],
    )
    found = compare_models(open_handed, permutations=1)
    assert not found["met"]
    assert found["chosen"] == 1


def test_the_frontier_is_what_nobody_beats(scored: LossTerms) -> None:
    """With scores of all kinds, ties among them."""
    rng = np.random.default_rng(3)
    targets, male = scored.loans.targets, scored.loans.groups == "male"
    kinds = [a * targets + b * male + rng.random(3000) for a, b in rng.random((7, 2))]
    scores = np.stack([*kinds, kinds[0]])
    found = compare_models(
        replace(
            scored,
            strengths=(0.0, *map(float, range(1, 8))),
            when_deciding=scores[:, scored.deciding],
            when_held_out=scores[:, scored.held_out],
        ),
        permutations=1,
    )
    places = list(
        zip(estimates(found)[:-1], [-model["auc"] for model in found["models"]], strict=True)
    )
    beaten = [any(a <= x and b <= y and (a, b) != (x, y) for a, b in places) for x, y in places]
    frontier = found["frontier"]
    assert {places[k] for k in frontier} == {
        place for place, lost in zip(places, beaten, strict=True) if not lost
    }
    assert len({places[k] for k in frontier}) == len(frontier)
    assert [places[k][0] for k in frontier] == sorted(places[k][0] for k in frontier)


def test_the_document_says_what_was_done(training: TrainingPart) -> None:
    assert training["data"]["rows"] == 3000
    assert [training["data"][part] for part in ("learning", "deciding", "held_out")] == [
        1500,
        600,
        900,
    ]
    assert [model["strength"] for model in training["models"]] == [0.0, 1.0, 30.0]
    setup = training["finding"]["setup"]
    for said in ("3,000 applications", "differs by 0.15", "3 networks", "in 1,500 of them"):
        assert said in setup


def test_one_document_makes_the_page(training: TrainingPart) -> None:
    document = demonstration_document(audit_loans().to_dict(), training)
    read_back = read_demonstration(document_json(document))
    assert read_back == document
    assert page(read_back) == page(document)
    assert training["finding"]["headline"] in page(document)


def test_the_demonstration_begins_without_penalty() -> None:
    assert STRENGTHS[0] == 0.0
    assert list(STRENGTHS) == sorted(set(STRENGTHS))


@pytest.mark.parametrize("strengths", [(0.0,), (1.0, 2.0), (0.0, -1.0), (0.0, 1.0, 0.0), ()])
def test_strengths_without_a_network_to_compare_with_are_refused(
    strengths: tuple[float, ...],
) -> None:
    with pytest.raises(lfl.errors.InputError, match="strengths must be 0 and others above 0"):
        train_models(500, strengths=strengths)


def test_a_comparison_needs_a_test(scored: LossTerms) -> None:
    with pytest.raises(lfl.errors.InputError, match="permutations must be at least 1"):
        compare_models(scored, permutations=0)


def test_progress_is_told_while_audits_are_made(scored: LossTerms) -> None:
    done: list[int] = []
    tell: Callable[[int], None] = done.append
    compare_models(scored, permutations=5, progress=tell)
    assert sum(done) >= 4 * 5
