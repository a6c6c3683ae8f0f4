"""The section about training: two audits side by side, the trade-off, and all networks."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from likeforlike.document._training_types import (
    ModelPart,
    TrainingDataPart,
    TrainingFigures,
    TrainingFindingPart,
    TrainingPart,
)
from likeforlike.document._types import FindingPart
from likeforlike.report._format import (
    confidence,
    contrast_p,
    fixed,
    number,
    open_interval,
    tick,
)
from likeforlike.report._gap_panels import SHOWN, gap_panels
from likeforlike.report._tradeoff import NARROW, WIDE, tradeoff_chart, tradeoff_key
from likeforlike.report._training_finding import estimate_of

Row = list[str]


@dataclass(frozen=True, slots=True)
class Side:
    """One of two networks side by side: what its audit found, as text and as a chart."""

    title: str
    chart: Markup
    finding: FindingPart
    auc: str
    estimate: str
    interval: str
    p: str


@dataclass(frozen=True, slots=True)
class TrainingSection:
    """What the template of the section speaks of.

    Attributes
    ----------
    finding, data, penalty : of the document.
    sides : the network without penalty and the chosen one.
    score, groups : what their charts compare.
    hidden : how many levels are not drawn.
    confidence, limit : as text.
    wide, narrow : the trade-off, for desks and for phones.
    marks : its marks, to be explained.
    rows : a table of all networks.
    """

    finding: TrainingFindingPart
    data: TrainingDataPart
    penalty: str
    sides: list[Side]
    score: str
    groups: list[str]
    hidden: int
    confidence: str
    limit: str
    wide: Markup
    narrow: Markup
    marks: dict[str, Markup]
    rows: list[Row]


def training_section(training: TrainingPart) -> TrainingSection:
    """Findings, charts and tables about training."""
    models = training["models"]
    plain, chosen = models[0], models[training["chosen"]]
    named = [("Without a penalty", plain), (f"With strength {tick(chosen['strength'])}", chosen)]
    panels = gap_panels([(title, model["audit"]) for title, model in named])
    levels = len(plain["audit"]["contrasts"][0]["levels"])
    return TrainingSection(
        finding=training["finding"],
        data=training["data"],
        penalty=training["penalty"],
        sides=[
            Side(title, panel, model["audit"]["finding"], *_figures(model))
            for (title, model), panel in zip(named, panels, strict=True)
        ],
        score=plain["audit"]["roles"]["score"],
        groups=plain["audit"]["contrasts"][0]["groups"],
        hidden=max(levels - SHOWN, 0),
        confidence=confidence(estimate_of(plain)["confidence"]),
        limit=tick(training["limit"]),
        wide=tradeoff_chart(training, WIDE),
        narrow=tradeoff_chart(training, NARROW),
        marks={kind: tradeoff_key(kind) for kind in ("network", "chosen", "repair", "frontier")},
        rows=network_rows(training),
    )


def network_rows(training: TrainingFigures) -> list[Row]:
    """Every network and the repair as one row of texts.

    Name, AUC, estimate, interval and p-value on the rows held out; AUC and estimate on the rows to
    decide on; what else there is to say.
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


def _figures(model: ModelPart) -> tuple[str, str, str, str]:
    """AUC, estimate, interval and p-value, as text."""
    contrast, estimate = model["audit"]["contrasts"][0], estimate_of(model)
    return (
        fixed(model["auc"], 3),
        number(estimate["value"]),
        open_interval(estimate["interval"]),
        contrast_p(contrast),
    )
