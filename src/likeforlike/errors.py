"""The errors of the library: bad input, missing extras. And its warnings."""

from __future__ import annotations

__all__ = [
    "BinnedLevelWarning",
    "InputError",
    "LevelCostWarning",
    "MissingExtra",
    "RepairWarning",
    "UnmetLimitWarning",
    "UnpenalisedWarning",
]


class InputError(ValueError):
    """Bad input. The message names the argument, what is wrong with it and what to do.

    It is a `ValueError`, so callers that know nothing of this library can catch it.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> lfl.cdd_lp([0.1, 0.2, 0.3], ["f", "m"])
    Traceback (most recent call last):
    likeforlike.errors.InputError: groups has 2 row(s), but scores have 3.
    """


class MissingExtra(InputError, ImportError):  # noqa: N818
    """A library that is not part of the base installation is not there.

    The message says which extra brings it. It is an `ImportError` as well, so that a program which
    can do without the library catches it as it would any missing library.

    Examples
    --------
    >>> from likeforlike import MissingExtra
    >>> try:
    ...     from likeforlike.nn import PenaltyLoss
    ... except MissingExtra as missing:
    ...     print(missing)
    """


class LevelCostWarning(UserWarning):
    """The level cost is too small to keep like compared with like.

    Below the bound of `likeforlike.transport.safe_level_cost` the cheapest plan may move
    people to another level although their own could take them, and the nested distance then no
    longer measures how differently equals are scored.

    Examples
    --------
    >>> import warnings
    >>> import likeforlike as lfl
    >>> with warnings.catch_warnings(action="ignore", category=lfl.LevelCostWarning):
    ...     low = lfl.cdd_wass([0, 0, 1, 1], ["f", "f", "m", "m"], [0, 1, 0, 1], level_cost=0.1)
    >>> low.level_cost
    0.1
    """


class BinnedLevelWarning(UserWarning):
    """Levels are bins of a continuous feature, so people in one level are not quite equal.

    If the score depends on the feature and the groups are spread differently inside a bin, their
    scores differ there without anybody having been treated differently.

    Examples
    --------
    >>> import warnings
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> roles = {"score": "score", "sensitive": "sex", "legitimate": "debt"}
    >>> with warnings.catch_warnings(action="ignore", category=lfl.BinnedLevelWarning):
    ...     audit = lfl.audit(make_loans(400).frame, **roles, bins={"debt": 4}, permutations=0)
    >>> len(audit.contrasts[0].levels)
    4
    """


class UnpenalisedWarning(UserWarning):
    """A model was trained without its penalty, because nobody said who belongs to which group.

    Examples
    --------
    >>> import warnings
    >>> from likeforlike import FairClassifier, UnpenalisedWarning
    >>> with warnings.catch_warnings(action="ignore", category=UnpenalisedWarning):
    ...     model = FairClassifier(max_epochs=1).fit([[0.0], [1.0]] * 20, [0, 1] * 20)
    """


class UnmetLimitWarning(UserWarning):
    """No strength that was tried kept the disparity on the validation rows below the limit.

    Examples
    --------
    >>> import warnings
    >>> from likeforlike import FairClassifier, UnmetLimitWarning
    >>> rows, sex = [[0.0], [1.0]] * 40, ["f", "m"] * 40
    >>> model = FairClassifier(max_disparity=1e-9, max_epochs=1)
    >>> with warnings.catch_warnings(action="ignore", category=UnmetLimitWarning):
    ...     model = model.fit(rows, [0, 1] * 40, sensitive_features=sex)
    """


class RepairWarning(UserWarning):
    """A repair may not do what was asked of it, and the message says why.

    The group cannot be guessed from the inputs, the guesses are not what they say, or the disparity
    that is left on rows held out is too large.

    Examples
    --------
    >>> import warnings
    >>> from likeforlike import RepairWarning
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.postprocess import UnawareRepair
    >>> loans = make_loans(400)
    >>> repair, nothing = UnawareRepair(propensity="given"), [[0.5, 0.5]] * 400
    >>> with warnings.catch_warnings(action="ignore", category=RepairWarning):
    ...     repair = repair.fit(loans.targets, nothing, sensitive_features=loans.groups)
    >>> repair.guess_[0].weak
    True
    """
