"""Early stopping for a stack: who is still improving, and everybody's best weights."""

from __future__ import annotations

import numpy as np
import torch

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.nn._stacked import StackedMLP


class Keeper:
    """Keeps the best weights of every member and says who has stopped improving."""

    def __init__(self, network: StackedMLP, patience: int) -> None:
        everybody = torch.arange(network.members)
        self.network = network.select(everybody)
        self.patience = patience
        self.best: FloatArray = np.full(network.members, np.inf)
        self.best_epoch: IntArray = np.full(network.members, -1)
        self._stopped = np.zeros(network.members, bool)

    def look(
        self, network: StackedMLP, members: IntArray, objective: FloatArray, epoch: int
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Note the objective of the members in `network`; which of them should go on.

        A member whose objective is not a number has diverged and stops. Whoever has stopped stays
        stopped, even if the stack still carries it along: its result may not depend on company.
        """
        going: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~self._stopped[members]
        better = going & (objective < self.best[members])
        if better.any():
            which = np.flatnonzero(better)
            self.network.keep(torch.from_numpy(members[which]), network, torch.from_numpy(which))
            self.best[members[which]] = objective[which]
            self.best_epoch[members[which]] = epoch
        going &= (epoch - self.best_epoch[members] < self.patience) & np.isfinite(objective)
        self._stopped[members[~going]] = True
        return going
