"""Early stopping for a stack: who is still improving, and everybody's best weights."""

from __future__ import annotations

import numpy as np
import torch

from likeforlike.nn.stacked import StackedMLP
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = ["Keeper"]


class Keeper:
    """Keeps the best weights of every member and says who has stopped improving.

    Parameters
    ----------
    network : the stack at the start; its members keep their numbers 0, ..., m - 1 for ever.
    patience : a member stops after so many epochs without improvement.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.nn import StackedMLP
    >>> from likeforlike.nn.keeper import Keeper
    >>> network = StackedMLP([0, 1], (2, 1))
    >>> keeper = Keeper(network, patience=1)
    >>> members = np.arange(2)
    >>> keeper.look(network, members, np.array([1.0, 1.0]), epoch=0)
    array([ True,  True])
    >>> keeper.look(network, members, np.array([2.0, 0.5]), epoch=1)
    array([False,  True])
    >>> keeper.best_epoch
    array([0, 1])
    """

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
