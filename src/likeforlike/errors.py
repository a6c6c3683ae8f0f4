"""The error of the library, input that cannot be measured, and its warnings."""

from __future__ import annotations

__all__ = [
    "BinnedLevelWarning",
    "InputError",
    "LevelCostWarning",
    "UnmetLimitWarning",
    "UnpenalisedWarning",
]


class InputError(ValueError):
    """Bad input. The message names the argument, what is wrong with it and what to do.

    It is a `ValueError`, so callers that know nothing of this library can catch it.

    Examples
    --------
    >>> from likeforlike import InputError
    >>> issubclass(InputError, ValueError)
    True
    """


class LevelCostWarning(UserWarning):
    """The level cost is too small to keep like compared with like.

    Below the bound of `likeforlike.transport.level_cost.safe_level_cost` the cheapest plan may move
    people to another level although their own could take them, and the nested distance then no
    longer measures how differently equals are scored.

    Examples
    --------
    >>> from likeforlike import LevelCostWarning
    >>> issubclass(LevelCostWarning, UserWarning)
    True
    """


class BinnedLevelWarning(UserWarning):
    """Levels are bins of a continuous feature, so people in one level are not quite equal.

    If the score depends on the feature and the groups are spread differently inside a bin, their
    scores differ there without anybody having been treated differently.

    Examples
    --------
    >>> from likeforlike import BinnedLevelWarning
    >>> issubclass(BinnedLevelWarning, UserWarning)
    True
    """


class UnpenalisedWarning(UserWarning):
    """A model was trained without its penalty, because nobody said who belongs to which group.

    Examples
    --------
    >>> from likeforlike import UnpenalisedWarning
    >>> issubclass(UnpenalisedWarning, UserWarning)
    True
    """


class UnmetLimitWarning(UserWarning):
    """No strength that was tried kept the disparity on the validation rows below the limit.

    Examples
    --------
    >>> from likeforlike import UnmetLimitWarning
    >>> issubclass(UnmetLimitWarning, UserWarning)
    True
    """
