"""Wasserstein regularization: the distance between all scores of the groups, whatever their level.

    V(f) = W_p^p(P_0, P_1),

the method the paper compares with. It enforces demographic parity, not conditional parity.

Reference: Jiang et al. (2020), *Wasserstein fair classification*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._cdd_wass import check_reg
from likeforlike.disparity._distances import check_cost_order
from likeforlike.penalties._fairleap import levelwise_cost
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty, group_transported_mass


@dataclass(frozen=True)
class WassersteinPenalty(Penalty):
    """Penalty on the distance between groups, W_p^p(P_0, P_1); levels are ignored.

    Parameters
    ----------
    order : p from 1 to 32.
    reg : 0 is exact; above 0 the cost is entropic, as for `FairLeap`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> value, gradient = lfl.WassersteinPenalty().value_and_grad([0.2, 0.6], ["f", "m"], [1, 2])
    >>> round(value, 12), gradient
    (0.16, array([-0.8,  0.8]))
    """

    order: float = 2.0
    reg: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", check_cost_order(self.order))
        object.__setattr__(self, "reg", check_reg(self.reg))

    @classmethod
    def paper(cls, *, order: float = 1.0, reg: float = 0.0) -> WassersteinPenalty:
        """Return the paper's settings: W_1, entropic with `reg`."""
        return cls(order=order, reg=reg)

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, n) of the scores (m, n) of m models on rows of a layout."""
        return levelwise_cost(scores, _pool_levels(layout), self.order, reg=self.reg)

    def comparison_layout(self, layout: Layout) -> Layout:
        """Pool all levels, so that all rows are compared.

        Parameters
        ----------
        layout : prepared.
        """
        return _pool_levels(layout)

    def permute_under_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Return rows whose groups differ by chance alone, whatever their levels.

        Parameters
        ----------
        layout : prepared.
        rng : generator of the permutation.
        """
        return _pool_levels(layout).permute_groups(rng) if layout.places == 1 else None

    def check(self, layout: Layout) -> None:
        """Raise unless the layout has two groups; they need not meet in a level."""
        _pool_levels(layout).check_common_support()

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Mass (n,) that the plan moves to or from each row of a layout: 1 / n_a for two groups."""
        return group_transported_mass(layout)


def _pool_levels(layout: Layout) -> Layout:
    """Pool all levels of the same rows."""
    return replace(layout, segments=layout.segments % len(layout.groups), levels=("all",))
