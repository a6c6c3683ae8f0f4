"""The names of the library that are recorded, by the paths that its documentation shows.

No other file of the record imports from the library, so this is the one to change if a path does.
"""

import likeforlike as lfl
from likeforlike import boosting, datasets, experiments, inference, nn, penalties
from likeforlike.cli import app
from likeforlike.experiments import rivals
from likeforlike.repair import ConditionalBarycenter

__all__ = [
    "ConditionalBarycenter",
    "app",
    "boosting",
    "datasets",
    "experiments",
    "inference",
    "lfl",
    "nn",
    "penalties",
    "rivals",
]
