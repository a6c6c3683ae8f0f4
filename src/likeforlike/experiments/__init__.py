"""Experiments: many models on the same data, stacked, and what they trade against each other."""

from likeforlike.files import extra

extra("torch", "train")
extra("sklearn", "train")

from likeforlike.experiments.split import Split, split  # noqa: E402
from likeforlike.experiments.tradeoff import Point, tradeoff  # noqa: E402

__all__ = ["Point", "Split", "split", "tradeoff"]
