"""The errors of the library: bad input, missing extras. And its warnings."""

from __future__ import annotations

__all__ = [
    "BinnedLevelWarning",
    "InconclusiveWarning",
    "InputError",
    "LevelCostWarning",
    "MissingDependencyError",
    "MissingGroupsWarning",
    "RepairWarning",
    "ThinLevelsWarning",
    "UnderfitWarning",
    "UnmetLimitWarning",
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


class MissingDependencyError(InputError, ImportError):
    """A library that is not part of the base installation is not there.

    The message says which extra brings it. It is an `ImportError` as well, so that a program which
    can do without the library catches it as it would any missing library.

    Examples
    --------
    >>> from likeforlike.errors import MissingDependencyError
    >>> try:
    ...     from likeforlike.training import PenaltyLoss
    ... except MissingDependencyError as missing:
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
    >>> with warnings.catch_warnings(action="ignore", category=lfl.errors.LevelCostWarning):
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
    >>> with warnings.catch_warnings(action="ignore", category=lfl.errors.BinnedLevelWarning):
    ...     audit = lfl.audit(make_loans(400).frame, **roles, bins={"debt": 4}, permutations=0)
    >>> len(audit.contrasts[0].levels)
    4
    """


class ThinLevelsWarning(UserWarning):
    """A legitimate feature is a number with too many values for rows to share one.

    Only rows with exactly the same number are compared; the others count for nothing.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import likeforlike as lfl
    >>> rng = np.random.default_rng(0)
    >>> score, sex, income = rng.random(400), rng.integers(0, 2, 400), rng.integers(0, 200, 400)
    >>> with warnings.catch_warnings(action="ignore", category=lfl.errors.ThinLevelsWarning):
    ...     coverage = lfl.cdd_lp(score, sex, income).coverage
    >>> min(coverage.values()) < 1.0
    True
    """


class MissingGroupsWarning(UserWarning):
    """A model was trained without its penalty, or some rows were, since their groups are not known.

    Examples
    --------
    >>> import warnings
    >>> from likeforlike import FairClassifier
    >>> from likeforlike.errors import MissingGroupsWarning
    >>> with warnings.catch_warnings(action="ignore", category=MissingGroupsWarning):
    ...     model = FairClassifier(max_epochs=1).fit([[0.0], [1.0]] * 20, [0, 1] * 20)
    """


class UnderfitWarning(UserWarning):
    """A model predicts worse than it could.

    Boosted trees ended before their objective had settled, or models of a sweep predict worse than
    a constant does.

    Examples
    --------
    >>> import warnings
    >>> from likeforlike import FairLGBMClassifier
    >>> from likeforlike.errors import UnderfitWarning
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(400)
    >>> X, y, sex = loans.inputs().matrix, loans.targets, loans.groups
    >>> with warnings.catch_warnings(action="ignore", category=UnderfitWarning):
    ...     model = FairLGBMClassifier(n_estimators=2).fit(X, y, sensitive_features=sex)
    """


class UnmetLimitWarning(UserWarning):
    """No strength that was tried could be shown to keep the disparity below the limit.

    The message says how far it is off, and what would help: more rows, or which looser limit.

    Examples
    --------
    >>> import warnings
    >>> from likeforlike import FairClassifier
    >>> from likeforlike.errors import UnmetLimitWarning
    >>> rows, sex = [[0.0], [1.0]] * 50, ["f", "m"] * 50
    >>> model = FairClassifier(max_disparity=1e-9, max_epochs=1)
    >>> with warnings.catch_warnings(action="ignore", category=UnmetLimitWarning):
    ...     model = model.fit(rows, [0, 1] * 50, sensitive_features=sex)
    """


class RepairWarning(UserWarning):
    """A repair may not do what was asked of it, and the message says why.

    The group cannot be guessed from the inputs, the guesses are not what they say, or the disparity
    that is left on rows held out is too large.

    Examples
    --------
    >>> import warnings
    >>> from likeforlike.errors import RepairWarning
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import UnawareRepair
    >>> loans = make_loans(400)
    >>> repair, nothing = UnawareRepair(propensity="given"), [[0.5, 0.5]] * 400
    >>> with warnings.catch_warnings(action="ignore", category=RepairWarning):
    ...     repair = repair.fit(loans.targets, nothing, sensitive_features=loans.groups)
    >>> repair.guess_[0].weak
    True
    """


class InconclusiveWarning(UserWarning):
    """The evidence does not settle whether a disparity lies below its threshold.

    The verdict is "investigate": more rows, or a look at who could not be compared, may settle it.

    Examples
    --------
    >>> import warnings
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.testing import assert_parity
    >>> few, roles = make_loans(300).frame, {"score": "approved", "sensitive": "sex"}
    >>> with warnings.catch_warnings(action="ignore", category=lfl.errors.InconclusiveWarning):
    ...     audit = assert_parity(few, 0.05, **roles)
    >>> audit.verdicts[0].verdict
    'investigate'
    """
