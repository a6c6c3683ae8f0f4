"""Histograms in which every bar stands for many, between edges that are no row's score."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._coarse import round_step
from likeforlike.disparity._cells import Cells
from likeforlike.document._results import Distribution
from likeforlike.transport._atoms import sums_by

_FINE, _DECISION_BINS = 20, 24


def coarse_histograms(
    cells: Cells, levels: Sequence[tuple[Hashable, str]], groups: Sequence[int], limit: int
) -> list[Distribution]:
    """Scores of two groups in some levels, by label and name.

    Neighboring bins are put together until each has the limit of both groups; a level that would
    be left with a single one is not shown. The lowest and the highest edge are round numbers
    outside of all scores.
    """
    edges = _edges(cells)
    if edges is None:
        return []
    position = {level: k for k, level in enumerate(cells.levels)}
    shown = []
    for label, name in levels:
        bars = [_bars(cells, position[label] * len(cells.groups) + g, edges) for g in groups]
        ends = _ends([each.people for each in bars], limit)
        if len(ends) < 3:
            continue
        decisions = edges.size == _DECISION_BINS + 1
        shares = {
            str(cells.groups[g]): _shares(each.mass, None if decisions else ends)
            for g, each in zip(groups, bars, strict=True)
        }
        kept = tuple((edges if decisions else edges[ends]).tolist())
        shown.append(Distribution(name, kept, shares))
    return shown


def _edges(cells: Cells) -> FloatArray | None:
    """Round edges around all scores; the two values of decisions; `None` if there are none."""
    values = cells.atoms.values
    low, high = float(values.min()), float(values.max())
    if ((values == low) | (values == high)).all():
        return np.linspace(low, high, _DECISION_BINS + 1) if high > low else None
    wide = round_step(high / 2.0 - low / 2.0)
    if wide <= 0.0:
        return None
    first, last = math.floor(low / wide), math.ceil(high / wide)
    places = np.arange(first * _FINE, last * _FINE + 1, dtype=np.float64)
    edges = np.array([float(f"{place:.15g}") for place in (places * (wide / _FINE)).tolist()])
    return edges if np.isfinite(edges).all() and (np.diff(edges) > 0.0).all() else None


class _Bars(NamedTuple):
    """What lies between the edges: how many people, and what they weigh."""

    people: IntArray
    mass: FloatArray


def _bars(cells: Cells, segment: int, edges: FloatArray) -> _Bars:
    part = slice(int(cells.atoms.offsets[segment]), int(cells.atoms.offsets[segment + 1]))
    place = np.searchsorted(edges, cells.atoms.values[part], side="right") - 1
    # The last bin holds its upper edge.
    place = np.clip(place, 0, edges.size - 2)
    mass = sums_by(place, cells.scaled().cells.atoms.mass[part], edges.size - 1)
    if cells.cluster is None:
        people = sums_by(place, cells.atoms.counts[part].astype(np.float64), edges.size - 1)
    else:
        # A unit in several bins counts in one.
        _, first = np.unique(cells.cluster[part], return_index=True)
        people = np.bincount(place[first], minlength=edges.size - 1).astype(np.float64)
    return _Bars(people.astype(np.int64), mass)


def _ends(people: Sequence[IntArray], limit: int) -> list[int]:
    """Where bins end that hold enough of every group, with 0 in front."""
    ends, held = [0], np.zeros(len(people), np.int64)
    for end, here in enumerate(np.stack(people, axis=1), start=1):
        held += here
        if (held >= limit).all():
            ends.append(end)
            held[:] = 0
    # Who is left over belongs to the last bin.
    return [*ends[:-1], people[0].size] if len(ends) > 1 else ends


def _shares(mass: FloatArray, ends: Sequence[int] | None) -> tuple[float, ...]:
    """What part of the weight lies in each bin."""
    joined = mass if ends is None else np.add.reduceat(mass, ends[:-1])
    return tuple(round(share, 2) for share in (joined / joined.sum()).tolist())
