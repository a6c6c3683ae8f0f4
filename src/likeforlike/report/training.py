"""The section about training: two audits side by side, the trade-off, and all networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likeforlike.report.beside import SHOWN, gap_panels
from likeforlike.report.format import confidence, fixed, interval, number, p_value, tick
from likeforlike.report.outcome import estimate_of
from likeforlike.report.tradeoff import NARROW, WIDE, tradeoff_chart, tradeoff_key

__all__ = ["network_rows", "training_section"]

Part = Mapping[str, Any]
Row = list[str]


def training_section(training: Part) -> dict[str, Any]:
    """What the template of the section speaks of: findings, charts and tables.

    Parameters
    ----------
    training : of the document of a demonstration, as made by `demonstration.compare_models`.

    Examples
    --------
    >>> from likeforlike.demonstration import compare_models, train_models
    >>> from likeforlike.report.training import training_section
    >>> training = compare_models(
    ...     train_models(500, strengths=(0.0, 3.0), epochs=1), permutations=9
    ... )
    >>> [side["title"] for side in training_section(training)["sides"]]
    ['Without a penalty', 'With strength 3']
    """
    models = training["models"]
    plain, chosen = models[0], models[training["chosen"]]
    named = [("Without a penalty", plain), (f"With strength {tick(chosen['strength'])}", chosen)]
    panels = gap_panels([(title, model["audit"]) for title, model in named])
    levels = len(plain["audit"]["contrasts"][0]["levels"])
    return {
        "finding": training["finding"],
        "data": training["data"],
        "penalty": training["penalty"],
        "sides": [
            {"title": title, "chart": panel, **_side(model)}
            for (title, model), panel in zip(named, panels, strict=True)
        ],
        "score": plain["audit"]["roles"]["score"],
        "groups": plain["audit"]["contrasts"][0]["groups"],
        "hidden": max(levels - SHOWN, 0),
        "confidence": confidence(estimate_of(plain)["confidence"]),
        "limit": tick(training["limit"]),
        "wide": tradeoff_chart(training, WIDE),
        "narrow": tradeoff_chart(training, NARROW),
        "marks": {kind: tradeoff_key(kind) for kind in ("network", "chosen", "repair", "frontier")},
        "rows": network_rows(training),
    }


def _side(model: Part) -> dict[str, Any]:
    contrast, sized = model["audit"]["contrasts"][0], estimate_of(model)
    return {
        "finding": model["audit"]["finding"],
        "estimate": number(sized["value"]),
        "interval": interval(sized["interval"]),
        "p": p_value(contrast["p_value"]),
        "auc": fixed(model["auc"], 3),
    }


def network_rows(training: Part) -> list[Row]:
    """Every network and the repair as one row of texts.

    Name, AUC, estimate, interval and p-value on the rows held out; AUC and estimate on the rows to
    decide on; what else there is to say.

    Parameters
    ----------
    training : of the document of a demonstration.

    Examples
    --------
    >>> from likeforlike.demonstration import compare_models, train_models
    >>> from likeforlike.report.training import network_rows
    >>> training = compare_models(
    ...     train_models(500, strengths=(0.0, 3.0), epochs=1), permutations=9
    ... )
    >>> [row[0] for row in network_rows(training)]
    ['strength 0', 'strength 3', 'repair']
    """
    rows = [
        [
            f"strength {tick(model['strength'])}",
            *_figures(model),
            fixed(model["deciding"]["auc"], 3),
            number(model["deciding"]["estimate"]),
            {0: "no penalty", training["chosen"]: "chosen"}.get(k, ""),
        ]
        for k, model in enumerate(training["models"])
    ]
    needs = f"needs {training['data']['sensitive']}"
    return [*rows, ["repair", *_figures(training["repair"]), number(None), number(None), needs]]


def _figures(model: Part) -> Row:
    contrast, sized = model["audit"]["contrasts"][0], estimate_of(model)
    return [
        fixed(model["auc"], 3),
        number(sized["value"]),
        interval(sized["interval"]),
        p_value(contrast["p_value"]),
    ]
