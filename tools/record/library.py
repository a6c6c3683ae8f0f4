"""The names of the library that are recorded, by the paths that its documentation shows.

No other file of the record imports from the library, so this is the one to change if a path does.
"""

import likeforlike as lfl
from likeforlike import datasets, experiments, inference, penalties, training
from likeforlike.cli import app
from likeforlike.experiments import rivals
from likeforlike.repair import ConditionalBarycenter
from likeforlike.training import StackedMLP

__all__ = [
    "ConditionalBarycenter",
    "StackedMLP",
    "app",
    "datasets",
    "experiments",
    "inference",
    "lfl",
    "penalties",
    "rivals",
    "training",
]
