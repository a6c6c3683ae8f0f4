"""Layout of rows: the level and group of each, encoded once and used many times.

With `SoftGroups` a row belongs to every group, with probabilities instead of a label. Its layout
holds a copy of the row per group (`Layout.expand_soft_groups`).

Rows are held back from training, and batches drawn, in a stratified order, in which each cell is
spread evenly: the r-th row of a cell of n rows (in random order) goes to place (r + u) / n, with u
uniform and the same for the cell. So every block of it is a stratified sample.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray, plain
from likeforlike.disparity import Codes, Column, encode, refuse_many_groups, weights
from likeforlike.errors import InputError
from likeforlike.transport import Scale, Stack, compiled, moderate_weights

# Probabilities that were written with a few digits add up to one only nearly.
_SLACK = 1e-6


class SoftGroups:
    """Probabilities of groups by row, in the place of labels.

    Accepted wherever groups train a model: by penalties, by estimators as `sensitive_features`, by
    objectives of boosting and by torch losses. A row counts in every group by its probability.
    Where A is no input of the model nothing is lost in population, since

        E[g_A ∂f | X, L] = Σ_a P(A = a | X, L) g_a ∂f.

    Measures and audits do not take it: whether a model treats groups alike is for the true A to
    say (`likeforlike.teams`).

    Parameters
    ----------
    probabilities : (n, G) numbers >= 0 that sum to one in every row; (n,) are those of the second
        of two groups.
    groups : G labels, in the order of the columns.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.penalties import SoftGroups
    >>> sure = SoftGroups([0.0, 1.0], ("f", "m"))
    >>> lfl.FairLeap().value_and_grad([0.2, 0.6], sure)[0] == (
    ...     lfl.FairLeap().value_and_grad([0.2, 0.6], ["f", "m"])[0]
    ... )
    True
    >>> unsure = SoftGroups([0.5, 0.5], ("f", "m"))
    >>> lfl.FairLeap().value_and_grad([0.2, 0.6], unsure)[0]
    0.0
    """

    def __init__(
        self, probabilities: npt.ArrayLike, groups: Sequence[Hashable] = ("0", "1")
    ) -> None:
        try:
            given = np.asarray(probabilities, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"probabilities must be numbers: {error}.") from error
        if given.ndim == 1:
            given = np.column_stack([1.0 - given, given])
        self.groups: tuple[Hashable, ...] = tuple(groups)
        self.probabilities: FloatArray = _check_probabilities(given, self.groups)

    def __len__(self) -> int:
        return len(self.probabilities)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows and groups there are, (n, G)."""
        return self.probabilities.shape

    # Rows are selected together, never one by one: a single row would look like two.
    __iter__ = None

    def __getitem__(self, rows: Any) -> SoftGroups:  # noqa: ANN401
        return SoftGroups(self.probabilities[rows], self.groups)

    def __repr__(self) -> str:
        return f"SoftGroups({len(self):,} rows of {list(self.groups)})"


def _check_probabilities(given: FloatArray, groups: tuple[Hashable, ...]) -> FloatArray:
    if given.ndim != 2 or given.shape[1] != len(groups) or len(set(groups)) < len(groups):
        raise InputError(
            f"probabilities must have a column for each of the groups {list(groups)}, which must "
            f"differ; their shape is {given.shape}."
        )
    if not given.size:
        raise InputError("probabilities is empty; there is nothing to measure.")
    odd = ~(np.isfinite(given) & (given >= 0.0)).all(axis=1)
    odd |= ~(np.abs(given.sum(axis=1) - 1.0) <= _SLACK)
    if odd.any():
        row = int(np.argmax(odd))
        raise InputError(
            f"probabilities of row {row} are {given[row].tolist()}; they must be 0 or more and sum "
            "to one."
        )
    whole: FloatArray = given / given.sum(axis=1, keepdims=True)
    return whole


class NoCommonSupportError(InputError):
    """No level of these rows holds two groups."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Levels and groups of rows, for one model or a stack of them.

    Attributes
    ----------
    segments : (s, n) integers, level * G + group of every row; s = 1 if all models of a stack see
        the same rows, else s models.
    levels, groups : labels of the K levels and of the G groups.
    mass : (s, n) floats >= 0, sample weights, or (0, 0) where every row counts one.
    away : (0, 0), or where rows have two places, as in `SmoothFairLeap`, (s, 2 n) floats: the
        distance of each row from the anchor it is compared at. `segments` and `mass` are then
        (s, 2 n) too, first places before second ones.
    share : (0, 0, 0), or for soft groups (s, n, G) floats, the probabilities of the groups;
        `segments` are then levels only.
    copies : number of copies of each row, one block after the other in all arrays: 1, or G where
        soft groups were expanded (`expand_soft_groups`).
    unit : (s,) positive floats, or (0,) for 1: the unit of scores. Constants of a penalty that have
        a unit, a level cost or an entropic term, refer to scores times this.

    Examples
    --------
    >>> from likeforlike.penalties import Layout
    >>> layout = Layout.from_columns(["f", "m", "m"], [1, 1, 2])
    >>> layout.levels, layout.groups, layout.coverage()
    ((1, 2), ('f', 'm'), {'f': 1.0, 'm': 0.5})
    """

    segments: IntArray
    levels: tuple[Hashable, ...]
    groups: tuple[Hashable, ...]
    mass: FloatArray
    away: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    share: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    copies: int = 1
    unit: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def from_columns(
        cls,
        sensitive_features: Column,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Layout:
        """Make the layout of n rows.

        Parameters
        ----------
        sensitive_features : (n,) labels of the sensitive feature, or `SoftGroups`.
        legitimate_features : (n,) labels of the legitimate features; `None` means one level.
        sample_weight : (n,) numbers >= 0.
        """
        group = (
            sensitive_features
            if isinstance(sensitive_features, SoftGroups)
            else encode(sensitive_features, "groups")
        )
        level = None
        if legitimate_features is not None:
            level = encode(legitimate_features, "levels")
            size = len(group) if isinstance(group, SoftGroups) else group.codes.size
            if size != level.codes.size:
                raise InputError(f"levels has {level.codes.size} row(s), but groups have {size}.")
        layout = cls.from_codes(group, level)
        if sample_weight is None:
            return layout
        return layout.with_weights(weights(sample_weight, "sample_weight", layout.size))

    @classmethod
    def from_codes(cls, group: Codes | SoftGroups, level: Codes | None) -> Layout:
        """Make the layout of rows with encoded group and level; `level=None` is one level."""
        if isinstance(group, SoftGroups):
            alone = cls.from_codes(Codes(np.zeros(len(group), np.int64), group.groups), level)
            return replace(alone, share=group.probabilities[None])
        refuse_many_groups(group.labels, "groups")
        if level is None:
            return cls(group.codes[None, :], ("all",), group.labels, np.empty((0, 0)))
        segments = level.codes * len(group.labels) + group.codes
        return cls(segments[None, :], level.labels, group.labels, np.empty((0, 0)))

    @classmethod
    def ungrouped(cls, size: int) -> Layout:
        """Make the layout of `size` rows of one level and one group."""
        return cls(np.zeros((1, size), np.int64), ("all",), ("all",), np.empty((0, 0)))

    def with_weights(self, sample_weight: FloatArray) -> Layout:
        """Multiply the weights of rows by `sample_weight`, (n,) numbers >= 0."""
        mass = sample_weight[None, :]
        return replace(self, mass=mass * self.mass if self.mass.size else mass)

    def with_moderate_weights(self) -> Layout:
        """Scale weights so that their products do not overflow."""
        mass = moderate_weights(self.mass) if self.mass.size else self.mass
        return self if mass is self.mass else replace(self, mass=mass)

    @property
    def size(self) -> int:
        """Number n of rows of one model."""
        return int(self.segments.shape[1]) // self.places

    @property
    def places(self) -> int:
        """Number of places where each row is compared: one or two, for every copy."""
        return self.copies * (2 if self.away.size else 1)

    @property
    def cell_codes(self) -> IntArray:
        """Cells (s, n) that batches are stratified by: those of the first places."""
        return self.segments[:, : self.size]

    @property
    def cells(self) -> int:
        """Number of cells, K x G."""
        return len(self.levels) * len(self.groups)

    def select_model(self, k: int) -> Layout:
        """Make the layout of the rows that model k of a stack sees."""
        place = min(k, len(self.segments) - 1)
        part = self._each(lambda values: values[place : place + 1])
        return replace(part, unit=self.unit[place : place + 1])

    def select_splits(self, splits: IntArray) -> Layout:
        """Make the layout for m models of which model k sees the rows of split `splits[k]`."""
        if len(self.segments) == 1:
            return self
        each = self._each(lambda values: values[splits])
        return replace(each, unit=self.unit[splits] if self.unit.size else self.unit)

    def convert_constant(self, constant: float, sizes: FloatArray, order: float) -> FloatArray:
        """Convert a constant of costs of an order to that of scores divided by sizes, (m,)."""
        units = sizes * (self.unit if self.unit.size else 1.0)
        return np.array([Scale(size=unit).powered(constant, -order) for unit in units])

    def take(self, rows: IntArray) -> Layout:
        """Select rows: (n',) integers for all models, or (s, n') for each model."""
        chosen = self.locate_places(np.atleast_2d(rows))
        if len(self.segments) == 1:
            return self._each(lambda values: values[0, chosen])
        return self._each(lambda values: np.take_along_axis(values, chosen, axis=1))

    def _each(self, pick: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Layout:
        """Apply `pick` to all arrays that have an entry per row."""
        return replace(
            self,
            segments=pick(self.segments),
            mass=pick(self.mass) if self.mass.size else self.mass,
            away=pick(self.away) if self.away.size else self.away,
            share=pick(self.share) if self.share.size else self.share,
        )

    def expand_soft_groups(self) -> Layout:
        """Copy rows of soft groups once per group, each with its part of the mass."""
        if not self.share.size:
            return self
        many = len(self.groups)
        mass = self.share.transpose(0, 2, 1)
        if self.mass.size:
            mass = mass * self.mass[:, None, :]
        segments = self.segments[:, None, :] + np.arange(many)[:, None]
        return replace(
            self,
            segments=segments.reshape(len(segments), -1),
            mass=np.ascontiguousarray(mass).reshape(len(mass), -1),
            share=np.empty((0, 0, 0)),
            copies=many,
        )

    def separate_copies(self) -> Layout:
        """Make every copy of a row a row of its own."""
        return self if self.copies == 1 else replace(self, copies=1)

    def repeat_copies(self, values: FloatArray) -> FloatArray:
        """Repeat values of rows (..., n) for every copy (..., copies n)."""
        return _repeat(values, self.copies)

    def sum_copies(self, values: FloatArray) -> FloatArray:
        """Sum values of copies (..., copies n) per row (..., n)."""
        return _sum_parts(values, self.copies)

    def locate_places(self, rows: IntArray) -> IntArray:
        """Locate the places of rows (s, b) among those of all rows, (s, c b)."""
        if self.places == 1:
            return rows
        return np.concatenate([rows + k * self.size for k in range(self.places)], axis=1)

    def repeat_at_places(self, values: FloatArray) -> FloatArray:
        """Repeat values of rows (..., n) at each of their places (..., c n)."""
        return _repeat(values, self.places)

    def sum_places(self, values: FloatArray) -> FloatArray:
        """Sum values of places (..., c n) per row (..., n)."""
        return _sum_parts(values, self.places)

    def permute_groups(self, rng: np.random.Generator) -> Layout:
        """Permute group labels within each level by the generator `rng`."""
        many = len(self.groups)
        permuted = np.empty_like(self.segments)
        for k, cells in enumerate(self.segments):
            level = cells // many
            mixed = np.lexsort((rng.random(level.size), level))
            permuted[k, mixed] = cells[np.argsort(level, kind="stable")]
        return replace(self, segments=permuted)

    def cell_mass(self) -> FloatArray:
        """Compute the scaled mass of each cell of the first model's rows, shape (K, G)."""
        shape = len(self.levels), len(self.groups)
        row_weights = self.with_moderate_weights().mass[0] if self.mass.size else None
        mass = np.bincount(self.segments[0], row_weights, minlength=shape[0] * shape[1])
        return mass.reshape(shape).astype(np.float64)

    def cell_values_by_row(self, values: FloatArray) -> FloatArray:
        """Multiply values of cells (K, G) per unit of mass by the first model's row masses."""
        mass = self.with_moderate_weights().mass[0] if self.mass.size else 1.0
        amounts: FloatArray = values.ravel()[self.segments[0]] * mass
        return amounts

    def stack(self, scores: FloatArray) -> Stack:
        """Return the rows with the scores (m, n) of m models, as kernels take them."""
        # For read-only arrays, such as those of polars, or strides, kernels would be recompiled.
        return Stack(
            plain(scores),
            plain(self.segments),
            plain(self.mass),
            len(self.levels),
            len(self.groups),
            np.empty(len(scores)),
            np.empty(scores.shape),
        )

    def coverage(self) -> dict[Hashable, float]:
        """Compute the share of each group in levels that have another: what a penalty acts on."""
        mass = self.cell_mass()
        met = (mass > 0.0).sum(axis=1) > 1
        totals = np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
        return dict(zip(self.groups, (mass[met].sum(axis=0) / totals).tolist(), strict=True))

    def check_common_support(self) -> None:
        """Raise unless some level contains two groups."""
        if len(self.groups) < 2:
            raise NoCommonSupportError(
                f"groups (--sensitive) has the single value {self.groups[0]!r}, and needs another."
            )
        if self.mass.size:
            shared = bool(((self.cell_mass() > 0.0).sum(axis=1) > 1).any())
        else:
            shared = _has_shared_level(plain(self.segments[0]), self.cells, len(self.groups))
        if not shared:
            raise NoCommonSupportError(
                f"no level holds two of the groups {list(self.groups)}, so nothing can be "
                "compared; use coarser levels in legitimate_features (--legitimate)."
            )


@compiled
def _has_shared_level(segments: IntArray, n_cells: int, n_groups: int) -> bool:
    """Return whether some level holds two groups; each level keeps the first that it is seen with.

    Levels are looked at row by row, and in most batches the first few rows decide.
    """
    seen = np.full(n_cells // n_groups, -1)
    for cell in segments:
        level = cell // n_groups
        if seen[level] < 0:
            seen[level] = cell
        elif seen[level] != cell:
            return True
    return False


def _repeat(values: FloatArray, times: int) -> FloatArray:
    """Repeat values (..., n), as (..., times n)."""
    return values if times == 1 else np.concatenate([values] * times, axis=-1)


def _sum_parts(values: FloatArray, parts: int) -> FloatArray:
    """Add up values (..., parts n) of all parts, (..., n)."""
    if parts == 1:
        return values
    summed: FloatArray = values.reshape(*values.shape[:-1], parts, -1).sum(axis=-2)
    return summed


_SHORT = 1 << 16


def stratified_order(cells: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a random order of the rows in which every cell is spread evenly, shape (n,)."""
    mixed = rng.permutation(cells.size)
    sizes = np.bincount(cells)
    # numpy sorts short integers by their digits, which is several times as fast.
    named = cells.astype(np.uint16) if sizes.size <= _SHORT else cells
    by_cell = mixed[np.argsort(named[mixed], kind="stable")]
    begins = np.cumsum(sizes) - sizes
    in_order = cells[by_cell]
    place = (np.arange(cells.size) - begins[in_order] + rng.random(sizes.size)[in_order]) / sizes[
        in_order
    ]
    order: IntArray = by_cell[np.argsort(place, kind="stable")]
    return order


SMALL = 100
"""Below this number of rows none are held back."""


def split_holdout(
    layout: Layout,
    classes: IntArray | FloatArray | None,
    shares: tuple[float, float],
    seed: int,
    marked: BoolArray | None = None,
) -> list[IntArray]:
    """Draw rows that stop training, and rows that judge a limit; none of fewer than `SMALL` rows.

    Parameters
    ----------
    layout : of all rows.
    classes : (n,) codes of their classes, or `None` where targets are numbers.
    shares : of the first part and of the second.
    seed : of the draw.
    marked : (n,) truth values that select the first part.
    """
    size, cells = layout.size, layout.cell_codes[0]
    if size < SMALL and marked is None:
        return [np.empty(0, np.int64), np.empty(0, np.int64)]
    if classes is not None:
        codes = classes.astype(np.int64)
        cells = np.unique(cells * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    order = stratified_order(cells, np.random.default_rng([seed, 2]))
    second = int(shares[1] * size)
    if marked is not None:
        return [np.flatnonzero(marked), np.sort(order[~marked[order]][:second])]
    first = max(1, int(shares[0] * size))
    return [np.sort(order[:first]), np.sort(order[first : first + second])]
