"""What training did about a disparity, in plain language, from the figures and nothing else.

It says which network was taken and why, what changed, what is left, and what the figures cannot
say. It never says "fair".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likeforlike.report.format import (
    confidence,
    count,
    counted,
    fixed,
    interval,
    listed,
    number,
    p_value,
    tick,
)

__all__ = ["estimate_of", "outcome"]

Part = Mapping[str, Any]

# A p-value up to this is called evidence, as in the finding of an audit.
_LEVEL = 0.05
# AUC in text keeps three places, so that two of them can be compared by eye.
_PLACES = 3


def outcome(training: Part) -> dict[str, Any]:
    """Setup, headline, sentences and cautions about trained networks.

    Parameters
    ----------
    training : `data`, `penalty`, `limit`, `models`, `repair`, `chosen` and `met`, as made by
        `demonstration.compare_models`.

    Returns
    -------
    dictionary with `setup` and `headline` (texts), `sentences` and `cautions` (lists of texts).

    Examples
    --------
    >>> from likeforlike.demonstration import compare_models, train_models
    >>> scored = train_models(500, strengths=(0.0, 3.0), epochs=1)
    >>> said = compare_models(scored, permutations=9)["finding"]["headline"]
    >>> said.startswith("Strength 3 of the penalty FairLeap ")
    True
    """
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


def estimate_of(model: Part) -> Part:
    """The estimate in the audit of a network: `value`, `interval` and `confidence`.

    Examples
    --------
    >>> from likeforlike.report.outcome import estimate_of
    >>> estimate_of({"audit": {"contrasts": [{"estimate": {"value": 0.1}}]}})
    {'value': 0.1}
    """
    found: Part = model["audit"]["contrasts"][0]["estimate"]
    return found


def _setup(training: Part) -> str:
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


def _headline(penalty: str, plain: Part, chosen: Part) -> str:
    before, after = estimate_of(plain)["value"], estimate_of(chosen)["value"]
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


def _auc(model: Part) -> str:
    return fixed(model["auc"], _PLACES)


def _choice(training: Part, chosen: Part) -> str:
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


def _left(chosen: Part, limit: float) -> str:
    contrast, sized = chosen["audit"]["contrasts"][0], estimate_of(chosen)
    low, high = sized["interval"]
    side = "above" if low > limit else "below" if high < limit else "across"
    reach = (
        f"the {confidence(sized['confidence'])} interval, {interval((low, high))}, lies {side} "
        f"the limit of {tick(limit)}"
    )
    told = f"(p = {p_value(contrast['p_value'])})"
    if contrast["p_value"] <= _LEVEL:
        return f"What is left is more than chance explains {told}: {reach}."
    return (
        f"What is left is not more than chance explains {told}, which does not prove that nothing "
        f"is left: {reach}."
    )


def _repair(training: Part) -> str:
    repair, sensitive = training["repair"], training["data"]["sensitive"]
    return (
        "Moving the scores of the network without penalty to the barycentre of their level gives "
        f"an estimate of {number(estimate_of(repair)['value'])} and an AUC of {_auc(repair)}; it "
        f"needs the {sensitive} of everybody whose score is repaired, the networks do not."
    )


def _cautions(data: Part) -> list[str]:
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
