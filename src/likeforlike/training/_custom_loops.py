"""Penalties as terms of any torch training loop: on each batch, or by a slope field of all rows.

Values and gradients come from `Penalty.evaluate`, in float64 on the processor, whatever the type
and device of the scores; the gradient travels back to where the scores live.

`PenaltyLoss` evaluates a penalty on a batch, in half of the time if it is given the columns of all
rows once, and then the numbers of the rows of each batch. In small batches samples of equal
distributions differ, which biases training towards scores that distinguish little. `SlopeFieldLoss`
evaluates the penalty on many rows from time to time, and batches read their gradient off the
`SlopeField` that is left, as the estimators of this library do. `CellBatchSampler` gives every
batch its share of every cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.disparity import Column
from likeforlike.errors import InputError
from likeforlike.penalties import Layout, NoCommonSupportError, Penalty, SlopeField
from likeforlike.training._training import evaluate_penalty, make_batches

with extra("train"):
    import torch
    from torch import Tensor, nn
    from torch.autograd.function import once_differentiable
    from torch.utils.data import Sampler


class _KnownGradient(torch.autograd.Function):
    """Attach a known gradient to a known value."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, value: float, gradient: Tensor) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(gradient)
        return scores.new_tensor(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weight: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        (gradient,) = ctx.saved_tensors
        return weight * gradient, None, None


def attach_gradient(scores: Tensor, value: float, gradient: FloatArray, order: float) -> Tensor:
    """Return a penalty of some order as a scalar tensor, with its gradient at the scores."""
    limit = torch.finfo(scores.dtype).max
    # If the sum of squares fits, each slope does, and one pass is enough.
    if not np.vdot(gradient, gradient) < limit and not np.abs(gradient).max() <= limit:
        raise InputError(
            f"the slopes of a penalty of order {order:g} are too large for {scores.dtype}; scale "
            "the scores, or check whether training diverged."
        )
    there = torch.from_numpy(np.ascontiguousarray(gradient)).to(scores)
    return cast(Tensor, _KnownGradient.apply(scores, value, there))  # type: ignore[no-untyped-call]


def check_score_tensor(scores: Tensor) -> FloatArray:
    """Compute scores (n,) or (n, c) as an array, checked."""
    if scores.ndim not in (1, 2) or not scores.is_floating_point():
        raise InputError(
            f"scores must be a floating-point tensor of shape (n,) or (n, c), not "
            f"{tuple(scores.shape)} of {scores.dtype}."
        )
    bad = torch.nonzero(~torch.isfinite(scores.detach()))
    if len(bad):
        raise InputError(
            f"scores have {len(bad)} missing or infinite value(s), the first at row "
            f"{int(bad[0, 0])}; did training diverge?"
        )
    return np.ascontiguousarray(scores.detach().cpu().double().numpy())


def make_layout(*columns: Column | None) -> Layout:
    """Make a layout of groups, levels and weights, each of which may be a tensor."""
    given = (one.detach().cpu().numpy() if isinstance(one, Tensor) else one for one in columns)
    return Layout.from_columns(*given)


class PenaltyLoss(nn.Module):
    """A penalty as a term of a torch loss.

    Parameters
    ----------
    penalty : any `Penalty`, such as `FairLeap()` or `FairBiT()`.
    sensitive_features, legitimate_features, sample_weight : (n,) each, of all training rows, if
        batches say by `rows` which of them they are of; `legitimate_features=None` is one level.

    Attributes
    ----------
    thin_batches : how many batches had no level with two groups. Nothing in them could be
        compared, so they added 0 to the loss, without a slope. If there are many, take larger
        batches or coarser levels.

    Examples
    --------
    >>> import torch
    >>> import likeforlike as lfl
    >>> from likeforlike.training import PenaltyLoss
    >>> scores = torch.tensor([0.2, 0.6], dtype=torch.float64, requires_grad=True)
    >>> loss = PenaltyLoss(lfl.FairLeap())(scores, ["f", "m"])
    >>> loss.backward()
    >>> round(loss.item(), 12), scores.grad
    (0.16, tensor([-0.8000,  0.8000], dtype=torch.float64))
    >>> term = PenaltyLoss(lfl.FairLeap(), ["m", "f", "m"])
    >>> round(term(scores, rows=[1, 2]).item(), 12)
    0.16
    """

    def __init__(
        self,
        penalty: Penalty,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> None:
        super().__init__()
        self.penalty = penalty
        self.thin_batches: int = 0
        self._layout: Layout | None = None
        if sensitive_features is not None:
            layout = make_layout(sensitive_features, legitimate_features, sample_weight)
            self._layout = penalty.prepare(layout)
            penalty.check(self._layout)

    def forward(
        self,
        scores: Tensor,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
        *,
        rows: Column | None = None,
    ) -> Tensor:
        """Return the penalty as a scalar tensor; 0 for a batch where no level holds two groups.

        Parameters
        ----------
        scores : (n,) or (n, c) floating-point tensor of any type, on any device.
        sensitive_features, legitimate_features, sample_weight : (n,) each; tensors, arrays, lists
            or series.
        rows : (n,) numbers of the rows of the batch among all training rows, in the place of their
            columns, where the loss was made with those.
        """
        if rows is not None:
            if self._layout is None or sensitive_features is not None:
                raise InputError(
                    "rows are numbers of the rows that the loss was made with: give it their "
                    "sensitive_features, PenaltyLoss(penalty, sensitive_features, ...), and "
                    "batches nothing but scores and rows."
                )
            return self._evaluate_rows(scores, rows, self._layout)
        if sensitive_features is None:
            raise InputError("sensitive_features is missing: give it of every row, or give rows.")
        plain = check_score_tensor(scores)
        layout = make_layout(sensitive_features, legitimate_features, sample_weight)
        if layout.size != len(scores):
            raise InputError(f"groups has {layout.size} row(s), but scores have {len(scores)}.")
        try:
            layout = self.penalty.prepare(layout)
            self.penalty.check(layout)
        except NoCommonSupportError:
            self.thin_batches += 1
            return (scores * 0.0).sum()
        values, gradients = evaluate_penalty(self.penalty, plain[None], layout)
        return attach_gradient(scores, float(values[0]), gradients[0], self.penalty.order)

    def _evaluate_rows(self, scores: Tensor, rows: Column, known: Layout) -> Tensor:
        """Return the penalty of rows whose layout is known."""
        plain = scores.detach().cpu().double().numpy()
        usual = plain.ndim in (1, 2) and scores.is_floating_point()
        if not (usual and math.isfinite(np.vdot(plain, plain))):  # find out what is odd, if it is
            plain = check_score_tensor(scores)
        layout = known.take(check_row_numbers(rows, len(plain), known.size))
        try:
            self.penalty.check(layout)
        except NoCommonSupportError:
            self.thin_batches += 1
            return (scores * 0.0).sum()
        values, gradients = evaluate_penalty(self.penalty, plain[None], layout)
        return attach_gradient(scores, float(values[0]), gradients[0], self.penalty.order)

    def extra_repr(self) -> str:
        """Return the penalty inside, and how many batches were too thin for it."""
        thin = f", thin_batches={self.thin_batches}" if self.thin_batches else ""
        return f"{self.penalty!r}{thin}"


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
    >>> from likeforlike.training import SlopeFieldLoss
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
        layout = make_layout(sensitive_features, legitimate_features, sample_weight)
        self.penalty = penalty
        self.value: float | None = None
        self._layout = penalty.prepare(layout)
        penalty.check(self._layout)
        # Moved mass of a row, times the number of rows: what a row of a batch stands for.
        self._density: FloatArray = penalty.transported_mass(self._layout) * layout.size
        self._fields: list[SlopeField] = []

    def refresh(self, scores: Tensor, rows: Column | None = None) -> None:
        """Evaluate the penalty on the scores that rows have now.

        Parameters
        ----------
        scores : (r,) or (r, c) floating-point tensor; a gradient is neither needed nor taken.
        rows : (r,) their numbers among the training rows; `None` is all of them, in order. A sample
            should have its share of every cell, as in the batches of `CellBatchSampler`.
        """
        plain = _columns(scores)
        layout = self._layout
        if rows is not None:
            layout = layout.take(check_row_numbers(rows, len(scores), layout.size))
            self.penalty.check(layout)
        elif len(scores) != layout.size:
            raise InputError(
                f"scores have {len(scores)} row(s), but there are {layout.size} training rows; say "
                "by rows which of them they are of."
            )
        precision = torch.finfo(scores.dtype).eps
        self._fields = [
            SlopeField.fit(self.penalty, column[None], layout, precision=precision)
            for column in plain
        ]
        self.value = float(sum(field.values[0] for field in self._fields))

    def forward(self, scores: Tensor, rows: Column) -> Tensor:
        """Return the penalty at the last refresh as a scalar tensor, with its gradient for a batch.

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
        numbers = check_row_numbers(rows, len(scores), self._layout.size)
        layout = self._layout.take(numbers)
        share = self._density[self._layout.locate_places(numbers[None])] / numbers.size
        slopes = [
            layout.sum_places(field.gradient(column[None], layout) * share)[0]
            for field, column in zip(self._fields, plain, strict=True)
        ]
        gradient = slopes[0] if scores.ndim == 1 else np.stack(slopes, axis=1)
        return attach_gradient(scores, self.value, gradient, self.penalty.order)

    def extra_repr(self) -> str:
        """Return the penalty inside."""
        return repr(self.penalty)


def check_row_numbers(rows: Column, size: int, n_rows: int) -> IntArray:
    """Check numbers of the rows of `size` scores among `n_rows` training rows."""
    numbers = np.asarray(rows.detach().cpu() if isinstance(rows, Tensor) else rows)
    if numbers.shape != (size,) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"rows must be the {size} number(s) of the rows that scores are of, as integers."
        )
    numbers = numbers.astype(np.int64, copy=False)
    if size and numbers.view(np.uint64).max() >= n_rows:  # negative ones are large there
        raise InputError(
            f"rows must lie between 0 and {n_rows - 1}, the numbers of the training rows."
        )
    return numbers


def _columns(scores: Tensor) -> list[FloatArray]:
    """Return columns of scores (n,) or (n, c), checked."""
    plain = check_score_tensor(scores)
    return [np.ascontiguousarray(column) for column in plain.reshape(len(plain), -1).T]


class CellBatchSampler(Sampler[list[int]]):
    """Batches for a torch `DataLoader` in which every cell has its share of rows.

    Parameters
    ----------
    sensitive_features : (n,) labels of the sensitive feature.
    legitimate_features : (n,) labels of the legitimate features, or `None`.
    batch_size : at most this many rows in a batch.
    random_state : seed.

    Examples
    --------
    >>> from likeforlike.training import CellBatchSampler
    >>> batches = CellBatchSampler(["f", "m"] * 50, batch_size=10, random_state=0)
    >>> len(batches), {sum(row % 2 for row in batch) for batch in batches}
    (10, {5})
    """

    def __init__(
        self,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        *,
        batch_size: int = 128,
        random_state: int | None = None,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1, not {batch_size}.")
        self._cells = Layout.from_columns(sensitive_features, legitimate_features).segments[0]
        self._batch_size = batch_size
        self._rng = np.random.default_rng(random_state)

    def __len__(self) -> int:
        return int(-(-self._cells.size // self._batch_size))

    def __iter__(self) -> Iterator[list[int]]:
        yield from make_batches(self._cells, self._batch_size, self._rng).tolist()
