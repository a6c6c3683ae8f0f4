"""Experiments: many models on the same data, stacked, and what they trade against each other."""

from likeforlike.files import extra

extra("torch", "train")
extra("sklearn", "train")

from likeforlike.experiments.frontier import Frontier  # noqa: E402
from likeforlike.experiments.journal import Journal  # noqa: E402
from likeforlike.experiments.methods import (  # noqa: E402
    DCFR,
    Adversarial,
    LegitimateOnly,
    Method,
    Penalised,
    Plain,
    WithoutSensitive,
)
from likeforlike.experiments.named import METHOD_NAMES, named_methods  # noqa: E402
from likeforlike.experiments.repairing import PostProcessed, Repaired  # noqa: E402
from likeforlike.experiments.saving import fit_model  # noqa: E402
from likeforlike.experiments.split import Split, split  # noqa: E402
from likeforlike.experiments.sweep import Sweep, sweep  # noqa: E402
from likeforlike.experiments.task import Task  # noqa: E402
from likeforlike.experiments.tradeoff import Point, tradeoff  # noqa: E402

__all__ = [
    "DCFR",
    "METHOD_NAMES",
    "Adversarial",
    "Frontier",
    "Journal",
    "LegitimateOnly",
    "Method",
    "Penalised",
    "Plain",
    "Point",
    "PostProcessed",
    "Repaired",
    "Split",
    "Sweep",
    "Task",
    "WithoutSensitive",
    "fit_model",
    "named_methods",
    "split",
    "sweep",
    "tradeoff",
]
