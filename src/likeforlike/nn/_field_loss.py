"""A penalty as a term of any training loop, by its slopes on all rows instead of a batch's.

`PenaltyLoss` evaluates a penalty on a batch, where a few rows of equal law never look alike: that
is biased, towards scores that tell nobody apart. Here the penalty is evaluated on many rows every
now and then, and batches read their gradient off the slope field that is left
(`penalties.SlopeField`). Estimators of this library train in the same way.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._columns import Column
from likeforlike.errors import InputError
from likeforlike.nn._loss import known_loss, plain_column, plain_scores
from likeforlike.penalties import Layout, Penalty, SlopeField


class SlopeFieldLoss(nn.Module):
    """A penalty on all training rows, as a term of the loss of any batch.

    Call `refresh` with the scores of all rows, or of a few thousand of them, before every epoch or
    every few steps; it takes no gradient. Then each batch adds `strength * term(scores, rows)` to
    its loss, with `rows` their numbers among the training rows. For a row i of a batch of b rows
    the gradient is

        (n / b) moved_i s(f_i),

    where s is the slope of the penalty for a unit of moved mass, in the cell of the row and at the
    score it has now. Over an epoch that adds up to the gradient on all rows. The value of the term
    is the penalty at the last refresh.

    Parameters
    ----------
    penalty : any `Penalty`, such as `FairLeap()`.
    sensitive_features, legitimate_features, sample_weight : (n,) each, of the training rows;
        `legitimate_features=None` is one level.

    Attributes
    ----------
    value : the penalty at the last refresh; `None` before the first.

    Examples
    --------
    A plain loop. In Lightning, `refresh` belongs to `on_train_epoch_start` and the term to
    `training_step`; in skorch, to `on_epoch_begin` and `get_loss`.

    >>> import torch
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.nn import SlopeFieldLoss
    >>> loans = make_loans(2000, gap=0.15)
    >>> X = torch.tensor(loans.inputs().matrix, dtype=torch.float32)
    >>> X = (X - X.mean(0)) / X.std(0)
    >>> y = torch.tensor(loans.targets, dtype=torch.float32)
    >>> def trained(strength):
    ...     _ = torch.manual_seed(0)
    ...     hidden, last = torch.nn.Linear(4, 16), torch.nn.Linear(16, 1)
    ...     model = torch.nn.Sequential(hidden, torch.nn.ReLU(), last, torch.nn.Sigmoid())
    ...     adam = torch.optim.Adam(model.parameters(), lr=0.01)
    ...     term = SlopeFieldLoss(lfl.FairLeap(), loans.groups, loans.levels)
    ...     for epoch in range(8):
    ...         with torch.no_grad():
    ...             term.refresh(model(X)[:, 0])
    ...         for rows in torch.randperm(2000).split(200):
    ...             scores = model(X[rows])[:, 0]
    ...             loss = torch.nn.functional.binary_cross_entropy(scores, y[rows])
    ...             adam.zero_grad()
    ...             (loss + strength * term(scores, rows)).backward()
    ...             adam.step()
    ...     return term.value
    >>> trained(10.0) < 0.3 * trained(0.0)
    True
    """

    def __init__(
        self,
        penalty: Penalty,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(penalty, Penalty):
            raise InputError(f"penalty must be a penalty such as FairLeap(), not {penalty!r}.")
        layout = Layout.of_rows(
            plain_column(sensitive_features),
            plain_column(legitimate_features),
            plain_column(sample_weight),
        )
        self.penalty = penalty
        self.value: float | None = None
        self._layout = penalty.prepared(layout)
        penalty.check(self._layout)
        # Moved mass of a row, times the number of rows: what a row of a batch stands for.
        self._density: FloatArray = penalty.moved(self._layout) * layout.size
        self._fields: list[SlopeField] = []

    def refresh(self, scores: Tensor, rows: Column | None = None) -> None:
        """Evaluate the penalty on the scores that rows have now.

        Parameters
        ----------
        scores : (r,) or (r, c) floating-point tensor; a gradient is neither needed nor taken.
        rows : (r,) their numbers among the training rows; `None` is all of them, in order. A sample
            should have its share of every cell, as `CellBatchSampler` deals them.
        """
        plain = _columns(scores)
        layout = self._layout
        if rows is not None:
            layout = layout.take(self._numbers(rows, len(scores)))
            self.penalty.check(layout)
        elif len(scores) != layout.size:
            raise InputError(
                f"scores have {len(scores)} row(s), but there are {layout.size} training rows; say "
                "by rows which of them they are of."
            )
        precision = torch.finfo(scores.dtype).eps
        self._fields = [
            SlopeField.of(self.penalty, column[None], layout, precision=precision)
            for column in plain
        ]
        self.value = float(sum(field.values[0] for field in self._fields))

    def forward(self, scores: Tensor, rows: Column) -> Tensor:
        """The penalty at the last refresh as a scalar tensor, with its gradient for a batch.

        Parameters
        ----------
        scores : (b,) or (b, c) floating-point tensor.
        rows : (b,) numbers of the rows of the batch among the training rows.
        """
        if self.value is None:
            raise InputError("call refresh with the scores of the training rows first.")
        plain = _columns(scores)
        if len(plain) != len(self._fields):
            raise InputError(
                f"scores have {len(plain)} column(s), but had {len(self._fields)} at the last "
                "refresh."
            )
        numbers = self._numbers(rows, len(scores))
        layout = self._layout.take(numbers)
        share = self._density[self._layout.places_of(numbers[None])] / numbers.size
        slopes = [
            layout.folded(field.slopes(column[None], layout) * share)[0]
            for field, column in zip(self._fields, plain, strict=True)
        ]
        gradient = slopes[0] if scores.ndim == 1 else np.stack(slopes, axis=1)
        return known_loss(scores, self.value, gradient, self.penalty.order)

    def extra_repr(self) -> str:
        """The penalty inside."""
        return repr(self.penalty)

    def _numbers(self, rows: Column, size: int) -> IntArray:
        """Numbers of rows, checked."""
        numbers = np.asarray(plain_column(rows))
        if numbers.shape != (size,) or numbers.dtype.kind not in "iu":
            raise InputError(
                f"rows must be the {size} number(s) of the rows that scores are of, as integers."
            )
        if size and not 0 <= numbers.min() <= numbers.max() < self._layout.size:
            raise InputError(
                f"rows must lie between 0 and {self._layout.size - 1}, the numbers of the training "
                "rows."
            )
        return numbers.astype(np.int64)


def _columns(scores: Tensor) -> list[FloatArray]:
    """Columns of scores (n,) or (n, c), checked."""
    plain = plain_scores(scores)
    return [np.ascontiguousarray(column) for column in plain.reshape(len(plain), -1).T]
