"""A loss with a penalty, as gradient boosting asks for it: gradient and second derivative by row.

With raw scores z, weights w of sum n_w, scores f(z) and a penalty V the trees minimize

    Σ_i w_i loss_i(z_i) + n_w * strength * V(f(z)),

that is n_w times (mean loss + strength * V). By the chain rule

    gradient_i = w_i loss_i'(z_i) + n_w * strength * ∂_i V * f'(z_i)
    hessian_i  = w_i loss_i''(z_i) + n_w * strength * η c_i * f'(z_i)²,

with c the diagonal bound `Penalty.curvature` and η the learning rate. The second term is that of
Gauss and Newton, bounded: V pulls rows of one group against rows of another, so its second
derivative is not diagonal, and c_i is what is safe for each row alone. Where rows of both groups
move together, which V does not mind, steps are then shorter than they need be. But boosting takes
only the part η of a step anyway. With h the part of the loss and c that of the penalty, η <= 1 and
D = h + η c, the objective falls in such a step by at least

    η g·D⁻¹g - ½ η² g·D⁻¹(h + c)D⁻¹g >= ½ η g·D⁻¹g

(order 2, squared loss), since η (h + c) <= D: no step makes it worse, and strong penalties are
fitted with far fewer trees than with c itself, which is what η = 1 gives.

For the squared loss everything is halved: the libraries minimize ½ (z - y)², and halved the
objective has the minimum of mean squared error + strength * V while the libraries' own settings
(regularization, least weight of a leaf) keep the meaning they have without a penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

from likeforlike._arrays import FloatArray
from likeforlike.boosting._penalized import PenalizedLoss, at_least_zero
from likeforlike.boosting._problem import BoostedRows, Problem, curved
from likeforlike.disparity._columns import Column
from likeforlike.errors import InputError


@dataclass(frozen=True, eq=False)
class FairObjective(PenalizedLoss):
    """An objective for LightGBM or XGBoost that trades a loss off against a penalty.

    Called as `objective(raw, data)` by `lightgbm.train` and `xgboost.train`, or as
    `objective(targets, raw, weights)` by their scikit-learn estimators, it returns the gradient and
    the second derivative of the total objective for every row. It can be pickled and copied.

    Attributes
    ----------
    penalty, strength, layout, loss : as for `PenalizedLoss`.
    learning_rate : η > 0 of the model.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.boosting import FairObjective
    >>> from likeforlike.penalties import Layout
    >>> objective = FairObjective(lfl.FairLeap(), 1.0, Layout.of_rows(["f", "m"]), "squared", 0.5)
    >>> objective([0.0, 1.0], [0.0, 1.0])
    (array([-2.,  2.]), array([3., 3.]))
    """

    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not at_least_zero(self.learning_rate) or self.learning_rate == 0.0:
            raise InputError(
                f"learning_rate must be a finite number > 0, not {self.learning_rate!r}."
            )

    def __call__(
        self, first: Column, second: Column, sample_weight: Column | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient and positive second derivative, both of shape (n,)."""
        call = self._read(first, second, sample_weight)
        rows = BoostedRows(call.targets, call.weight, call.layout)
        problem = Problem(self.loss, self.penalty, self.strength, float(self.learning_rate), 0.0)
        at = problem.at(rows, call.raw)
        moved = self.penalty.moved(call.layout)
        return at.gradient, curved(problem, rows, at, moved).bound
