"""How well the group can be guessed among equals, and whether the guesses hold what they say."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._compiled import compiled

# Bins of calibration, in each of which so many rows are wanted.
_MOST_BINS, _ROWS_OF_BIN = 20, 50


class GuessQuality(NamedTuple):
    """What chances of a group are worth, on rows that the model had not seen.

    Attributes
    ----------
    group : whose chances.
    auc : the chance that of two people of one level, one of the group and one not, the member has
        the higher guess; .5 is a coin.
    gain : how much smaller the mean squared error of the guess is than that of the group's share in
        the level, as a part of the latter; 0 is nothing gained, 1 is certainty.
    gain_error : standard error of the gain.
    spread : how much guesses differ inside levels, a standard deviation.
    calibration : root mean square difference between guessed and true shares, without what chance
        adds to it: 0 is right on average at every guess.
    calibration_z : how far that is beyond chance, in standard deviations of chance.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import UnawareRepair
    >>> loans = make_loans(1000)
    >>> repair = UnawareRepair(propensity="given")
    >>> knows = (loans.groups == np.unique(loans.groups)[1]).astype(float)
    >>> _ = repair.fit(
    ...     loans.targets, knows, sensitive_features=loans.groups, legitimate_features=loans.levels
    ... )
    >>> repair.guess_[0].auc, repair.guess_[0].calibration
    (1.0, 0.0)
    """

    group: Hashable
    auc: float
    gain: float
    gain_error: float
    spread: float
    calibration: float
    calibration_z: float

    @property
    def weak(self) -> bool:
        """Whether the guess is no better than the share of the group in the level, beyond noise."""
        return not self.gain > 2.0 * self.gain_error

    @property
    def miscalibrated(self) -> bool:
        """Whether guessed shares are wrong by a quarter of what guesses differ by, beyond noise."""
        return self.calibration > 0.25 * self.spread and self.calibration_z > 4.0


def guess_quality(
    label: Hashable,
    chance: FloatArray,
    member: FloatArray,
    level: IntArray,
    mass: FloatArray,
) -> GuessQuality:
    """Compare chances of a group with who is in it.

    Parameters
    ----------
    label : of the group.
    chance : (n,) floats in [0, 1].
    member : (n,) floats, 1 for people of the group and 0 for others.
    level : (n,) integers from 0.
    mass : (n,) floats > 0.
    """
    whole = np.bincount(level, mass)
    share = (np.bincount(level, mass * member) / whole)[level]
    mean = (np.bincount(level, mass * chance) / whole)[level]
    total = float(mass.sum())
    plain = float(mass @ (member - share) ** 2) / total
    better = (member - share) ** 2 - (member - chance) ** 2
    gained = float(mass @ better) / total
    error = math.sqrt(float(mass**2 @ (better - gained) ** 2)) / total
    calibration, z = _calibration(chance, member, mass)
    return GuessQuality(
        label,
        _auc(chance, member, level, mass),
        gained / plain if plain > 0.0 else 0.0,
        error / plain if plain > 0.0 else 0.0,
        math.sqrt(float(mass @ (chance - mean) ** 2) / total),
        calibration,
        z,
    )


def _calibration(chance: FloatArray, member: FloatArray, mass: FloatArray) -> tuple[float, float]:
    """Root mean square error of guessed shares over bins of guesses, and its distance from chance.

    A bin of rows whose guesses are right has Σ m (A - η) of mean 0 and variance Σ m² η (1 - η).
    """
    order = np.argsort(chance, kind="stable")
    bins = int(np.clip(chance.size // _ROWS_OF_BIN, 1, _MOST_BINS))
    # Equal guesses are never cut apart.
    at = np.searchsorted(chance[order], chance, side="left") * bins // chance.size
    at = np.unique(at, return_inverse=True)[1]
    held = np.bincount(at, mass)
    missed = np.bincount(at, mass * (member - chance)) / held
    noise = np.bincount(at, mass**2 * chance * (1.0 - chance)) / held**2
    share = held / held.sum()
    squared = float(share @ (missed**2 - noise))
    spread = math.sqrt(2.0 * float(share**2 @ noise**2))
    if spread == 0.0:
        wrong = float(share @ missed**2)
        return math.sqrt(wrong), math.inf if wrong > 0.0 else 0.0
    return math.sqrt(max(squared, 0.0)), squared / spread


def _auc(chance: FloatArray, member: FloatArray, level: IntArray, mass: FloatArray) -> float:
    """Share of pairs of one level, by weight, in which the member has the higher chance."""
    order = np.lexsort((chance, level))
    won, pairs = _count_pairs(chance[order], member[order], level[order], mass[order])
    return won / pairs if pairs > 0.0 else 0.5


@compiled
def _count_pairs(
    chance: FloatArray, member: FloatArray, level: IntArray, mass: FloatArray
) -> tuple[float, float]:
    """Mass of pairs that the member wins, ties by half, and of all pairs; rows are in order."""
    won, pairs = 0.0, 0.0
    others, members = 0.0, 0.0
    k = 0
    while k < level.size:
        if k > 0 and level[k] != level[k - 1]:
            pairs += others * members
            others, members = 0.0, 0.0
        tied_others, tied_members = 0.0, 0.0
        at = k
        while k < level.size and level[k] == level[at] and chance[k] == chance[at]:
            tied_members += mass[k] * member[k]
            tied_others += mass[k] * (1.0 - member[k])
            k += 1
        won += tied_members * (others + 0.5 * tied_others)
        others += tied_others
        members += tied_members
    pairs += others * members
    return won, pairs
