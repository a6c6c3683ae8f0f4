"""What training did about a disparity, in plain language, from the figures and nothing else.

It says which network was taken and why, what changed, what is left, and what the figures cannot
say. It never says "fair".
"""

from __future__ import annotations

from likeforlike._text import counted
from likeforlike.document._training_types import (
    ModelPart,
    NetworkPart,
    TrainingDataPart,
    TrainingFigures,
    TrainingFindingPart,
)
from likeforlike.document._types import EstimatePart
from likeforlike.errors import InputError
from likeforlike.report._format import (
    confidence,
    contrast_p,
    count,
    fixed,
    listed,
    number,
    open_interval,
    tick,
)

# A p-value up to this is called evidence, as in the finding of an audit.
_SIGNIFICANCE = 0.05
# AUC in text keeps three places, so that two of them can be compared by eye.
_PLACES = 3


def outcome(training: TrainingFigures) -> TrainingFindingPart:
    """Setup, headline, sentences and cautions about trained networks."""
    plain, chosen = training["models"][0], training["models"][training["chosen"]]
    return {
        "setup": _setup(training),
        "headline": _headline(training["penalty"], plain, chosen),
        "sentences": [
            _choice(training, chosen),
            _left(chosen, training["limit"]),
            _repair(training),
        ],
        "cautions": _cautions(training["data"]),
    }


def estimate_of(model: ModelPart) -> EstimatePart:
    """The estimate in the audit of a network."""
    estimate = model["audit"]["contrasts"][0]["estimate"]
    if estimate is None:
        raise InputError(
            "training has a network without an estimate; audit it with permutations of at least 1."
        )
    return estimate


def distance_of(model: ModelPart) -> float:
    """The estimated distance of a network; 0 where most levels have single rows."""
    return estimate_of(model)["value"] or 0.0


def _setup(training: TrainingFigures) -> str:
    data = training["data"]
    return (
        f"For training, {count(data['rows'])} applications were drawn in which the score behind "
        f"the decisions differs by {tick(data['gap'])} between the groups of {data['sensitive']} "
        f"at equal {listed(data['legitimate'])}. "
        f"{counted(len(training['models']), 'network')} learnt {data['target']} from "
        f"{listed(data['features'])} in {count(data['learning'])} of them, each with its own "
        f"strength of the penalty {training['penalty']} (0 is none); {count(data['deciding'])} "
        "more told when to stop and which strength to take. Figures come from the "
        f"{count(data['held_out'])} that are left, unless they say otherwise."
    )


def _headline(penalty: str, plain: NetworkPart, chosen: NetworkPart) -> str:
    before, after = distance_of(plain), distance_of(chosen)
    return (
        f"Strength {tick(chosen['strength'])} of the penalty {penalty} "
        f"{_moved('the estimated disparity', number(before), number(after), after - before)} and "
        f"{_moved('AUC', _auc(plain), _auc(chosen), chosen['auc'] - plain['auc'])}."
    )


def _moved(what: str, before: str, after: str, change: float) -> str:
    """What became of a figure; figures that read alike did not move."""
    if before == after:
        return f"leaves {what} at {after}"
    return f"{'lowers' if change < 0.0 else 'raises'} {what} from {before} to {after}"


def _auc(model: ModelPart) -> str:
    return fixed(model["auc"], _PLACES)


def _choice(training: TrainingFigures, chosen: NetworkPart) -> str:
    limit, strength = tick(training["limit"]), tick(chosen["strength"])
    if training["met"]:
        return (
            f"It was chosen for the largest AUC among the strengths whose estimate is at most "
            f"{limit} on the rows to decide on, where its own is "
            f"{number(chosen['deciding']['estimate'])}."
        )
    return (
        f"No strength brought the estimate to {limit} or less on the rows to decide on; strength "
        f"{strength} came closest, with {number(chosen['deciding']['estimate'])}."
    )


def _left(chosen: NetworkPart, limit: float) -> str:
    contrast, estimate = chosen["audit"]["contrasts"][0], estimate_of(chosen)
    low, high = estimate["interval"]
    above = low is not None and low > limit
    side = "above" if above else "below" if high is not None and high < limit else "across"
    interval = (
        f"the {confidence(estimate['confidence'])} interval, {open_interval((low, high))}, lies "
        f"{side} the limit of {tick(limit)}"
    )
    p = contrast["p_value"]
    told = contrast_p(contrast)
    chance = f"(p {told})" if told.startswith("<") else f"(p = {told})"
    if p is not None and p <= _SIGNIFICANCE:
        return f"What is left is more than chance explains {chance}: {interval}."
    return (
        f"What is left is not more than chance explains {chance}, which does not prove that "
        f"nothing is left: {interval}."
    )


def _repair(training: TrainingFigures) -> str:
    repair, sensitive = training["repair"], training["data"]["sensitive"]
    return (
        "Moving the scores of the network without penalty to the barycenter of their level gives "
        f"an estimate of {number(distance_of(repair))} and an AUC of {_auc(repair)}; it "
        f"needs the {sensitive} of everybody whose score is repaired, the networks do not."
    )


def _cautions(data: TrainingDataPart) -> list[str]:
    once = (
        "Every network was trained once, and AUC carries no interval here: another seed gives "
        "somewhat different figures."
    )
    if not data["gap"]:
        return [once]
    planted = (
        f"AUC is measured against {data['target']}, which carries the planted disparity: part of "
        "what it rewards is repeating it."
    )
    return [planted, once]
