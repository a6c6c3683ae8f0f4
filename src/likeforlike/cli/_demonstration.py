"""The demonstration: what an audit finds in the embedded loans, and what training can do about it.

Networks are trained on loans with a planted disparity, all strengths together as one stack. Rows
are dealt out three ways, every cell in proportion: some to learn from, some to decide on (when to
stop, and which strength to take), and some held out for every figure that is shown. A repair of
the scores of the network without penalty is set beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import polars as pl

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.auditing._audit import Audit
from likeforlike.auditing._audit_table import audit
from likeforlike.datasets import Dataset, load_loans, make_loans
from likeforlike.document._training_types import (
    DecidingPart,
    DemonstrationDocument,
    ModelPart,
    NetworkPart,
    TrainingDataPart,
    TrainingFigures,
    TrainingPart,
)
from likeforlike.document._types import AuditDocument
from likeforlike.errors import InputError
from likeforlike.penalties import FairLeap, Layout
from likeforlike.repair import ConditionalBarycenter

STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Strengths trained with; the first is that of no penalty."""
LIMIT = 0.03
"""A strength is chosen among those whose estimated disparity lies at or below this."""
EPOCHS = 60
"""Training ends after so many epochs at the latest."""
PERMUTATIONS = 199
"""Of the test of each network."""

_SCORE = "predicted approval"
_HIDDEN = (50, 20)
# Of the rows to learn from, to decide on, and held out.
_SHARES = (0.5, 0.2, 0.3)


@dataclass(frozen=True, slots=True)
class LossTerms:
    """Scores of m networks on rows they did not learn from.

    Attributes
    ----------
    loans : all rows.
    gap, seed : the planted disparity, and the seed of everything else.
    strengths : (m,), the first 0.
    learning, deciding, held_out : (n,) integers each, the numbers of the rows.
    when_deciding, when_held_out : (m, n) floats, the scores of those rows.
    """

    loans: Dataset
    gap: float
    seed: int
    strengths: tuple[float, ...]
    learning: IntArray
    deciding: IntArray
    held_out: IntArray
    when_deciding: FloatArray
    when_held_out: FloatArray


def check_extras() -> None:
    """Raise a `MissingDependencyError` that says what to install where training is not possible."""
    with extra("train"):
        import_module("torch")
        import_module("sklearn.metrics")


def audit_loans(progress: Callable[[int], None] | None = None) -> Audit:
    """Audit the loans of the paper's Table 1: parity overall, none among equals."""
    loans = load_loans(2000)
    return audit(
        loans.frame,
        score=loans.target,
        sensitive=loans.sensitive,
        legitimate=loans.legitimate,
        progress=progress,
    )


def train_models(
    applicants: int = 10_000,
    *,
    gap: float = 0.15,
    strengths: Sequence[float] = STRENGTHS,
    epochs: int = EPOCHS,
    seed: int = 0,
    tick: Callable[[int], None] | None = None,
) -> LossTerms:
    """Train a network at every strength on loans with a planted disparity.

    Each minimizes  log loss + strength * Σ_l P(l) W_2²(l)  on half of the rows, and stops by a
    fifth of them.
    """
    check_extras()
    if len(strengths) < 2 or strengths[0] != 0.0 or min(strengths[1:]) <= 0.0:
        raise InputError(f"strengths must be 0 and others above 0, not {list(strengths)}.")
    from likeforlike.experiments import split
    from likeforlike.training._networks import StackedMLP
    from likeforlike.training._training import Recipe, evaluate, train

    loans = make_loans(applicants, gap=gap)
    parts = split(loans, [seed], shares=_SHARES)
    recipe = Recipe(
        loss="logistic",
        penalty=FairLeap(),
        learning_rate=3e-3,
        max_epochs=epochs,
        patience=15,
        batch_size=256,
    )
    trained = train(
        StackedMLP([seed] * len(strengths), (parts.train.inputs.shape[2], *_HIDDEN, 1)),
        parts.train,
        parts.validation,
        recipe,
        strengths=np.array(strengths),
        seeds=np.array([seed]),
        follow=None if tick is None else lambda epoch: tick(epoch.number),
    )

    splits = np.zeros(len(strengths), np.int64)
    return LossTerms(
        loans=loans,
        gap=gap,
        seed=seed,
        strengths=tuple(strengths),
        learning=parts.train_rows[0],
        deciding=parts.validation_rows[0],
        held_out=parts.test_rows[0],
        when_deciding=evaluate(trained.network, parts.validation, splits, recipe)[2],
        when_held_out=evaluate(trained.network, parts.test, splits, recipe)[2],
    )


def compare_models(
    scored: LossTerms,
    *,
    limit: float = LIMIT,
    permutations: int = PERMUTATIONS,
    progress: Callable[[int], None] | None = None,
) -> TrainingPart:
    """AUC and audit of every network and of a repair, the choice, the frontier, and the words.

    The choice is the strength above 0 with the largest AUC among those whose estimate lies at or
    below the limit; if there is none, the strength with the smallest estimate. It is made on the
    rows to decide on; AUC and audits that are shown come from the rows held out.
    """
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, not {permutations}.")
    from likeforlike.report._training_finding import outcome

    models: list[NetworkPart] = [
        {
            "strength": strength,
            **_held_out_figures(scored, scored.when_held_out[k], permutations, progress),
            "deciding": _deciding_figures(scored, scored.when_deciding[k]),
        }
        for k, strength in enumerate(scored.strengths)
    ]
    chosen, met = _choice(models, limit)
    figures: TrainingFigures = {
        "data": _data(scored),
        "penalty": "FairLeap",
        "limit": limit,
        "models": models,
        "repair": _held_out_figures(scored, _repaired(scored), permutations, progress),
        "chosen": chosen,
        "met": met,
        "frontier": _frontier(models),
    }
    return {**figures, "finding": outcome(figures)}


def _data(scored: LossTerms) -> TrainingDataPart:
    loans = scored.loans
    return {
        "source": "likeforlike.datasets.make_loans",
        "gap": scored.gap,
        "seed": scored.seed,
        "rows": loans.frame.height,
        "learning": scored.learning.size,
        "deciding": scored.deciding.size,
        "held_out": scored.held_out.size,
        "features": list(loans.features),
        "target": loans.target,
        "sensitive": loans.sensitive,
        "legitimate": list(loans.legitimate),
    }


def _held_out_figures(
    scored: LossTerms,
    scores: FloatArray,
    permutations: int,
    progress: Callable[[int], None] | None,
) -> ModelPart:
    loans, rows = scored.loans, scored.held_out
    table = loans.frame[rows].select(loans.sensitive, *loans.legitimate)
    audited = audit(
        table.with_columns(pl.Series(_SCORE, scores)),
        score=_SCORE,
        sensitive=loans.sensitive,
        legitimate=loans.legitimate,
        permutations=permutations,
        progress=progress,
    )
    return {"auc": _auc(loans, rows, scores), "audit": audited.to_dict()}


def _deciding_figures(scored: LossTerms, scores: FloatArray) -> DecidingPart:
    from likeforlike.training._limits import distance_or_inf, estimate_level_disparity

    loans, rows = scored.loans, scored.deciding
    layout = Layout.from_columns(loans.groups[rows], loans.levels[rows])
    return {
        "auc": _auc(loans, rows, scores),
        "estimate": distance_or_inf(estimate_level_disparity(scores, layout)),
    }


def _auc(loans: Dataset, rows: IntArray, scores: FloatArray) -> float:
    from likeforlike.experiments._split import predictive_performance

    return predictive_performance(scores, loans.targets[rows], "logistic")


def _repaired(scored: LossTerms) -> FloatArray:
    """Held-out scores of the network without penalty, moved by maps from the deciding rows."""
    groups, levels = scored.loans.groups, scored.loans.levels
    seen, new = scored.deciding, scored.held_out
    maps = ConditionalBarycenter().fit(
        scored.when_deciding[0], sensitive_features=groups[seen], legitimate_features=levels[seen]
    )
    return maps.transform(
        scored.when_held_out[0], sensitive_features=groups[new], legitimate_features=levels[new]
    )


def _choice(models: Sequence[NetworkPart], limit: float) -> tuple[int, bool]:
    """Which network with a penalty is taken, and whether it keeps the limit where it is chosen."""
    penalized = range(1, len(models))
    deciding = [model["deciding"] for model in models]
    within = [k for k in penalized if deciding[k]["estimate"] <= limit]
    if within:
        return max(within, key=lambda k: deciding[k]["auc"]), True
    return min(penalized, key=lambda k: deciding[k]["estimate"]), False


def _frontier(models: Sequence[NetworkPart]) -> list[int]:
    """Networks that no other beats in disparity and AUC at once, the least disparity first."""
    from likeforlike.experiments import Frontier
    from likeforlike.report._training_finding import distance_of

    lost = [1.0 - model["auc"] for model in models]
    disparity = [distance_of(model) for model in models]
    order: list[int] = Frontier.of(lost, disparity, range(len(models))).order.tolist()
    return order[::-1]


def demonstration_document(
    document: AuditDocument, training: TrainingPart | None
) -> DemonstrationDocument:
    """All that the demonstration shows: the document of an audit, and `training` besides."""
    return {**document, "schema": "likeforlike.demonstration", "training": training}
