"""Randomized response of a column of groups, without a ledger: for those who publish once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from likeforlike.disparity._columns import Column, encode
from likeforlike.errors import InputError
from likeforlike.teams._accounting import answer_epsilon
from likeforlike.teams._samplers import randomized


def randomize(
    sensitive_features: Column, *, labels: Sequence[Hashable], epsilon: float
) -> list[Hashable]:
    """Groups of which each is kept with probability e^ε / (e^ε + G - 1), else another one.

    ε-differentially private for every row, and exactly so: coins are whole numbers. It keeps no
    books: calling it twice tells twice as much. `Custodian.randomize` books it in a ledger, knows
    people with several rows, and answers the same request with the same file.

    Parameters
    ----------
    sensitive_features : (n,) labels.
    labels : the G labels that there could be, two or more, even if no row has them: a label that is
        listed only because one person has it would show who that is.
    epsilon : > 0.

    References
    ----------
    Warner (1965), *Randomized response*; Wang, Wu & Hu (2016), for more than two groups.

    Examples
    --------
    >>> from likeforlike.teams import randomize
    >>> answers = randomize(["f", "m"] * 500, labels=["f", "m"], epsilon=1.0)
    >>> kept = sum(a == b for a, b in zip(answers, ["f", "m"] * 500))
    >>> 600 < kept < 860
    True
    """
    held, declared = encode(sensitive_features, "groups"), list(labels)
    if len(set(declared)) != len(declared) or len(declared) < 2:
        raise InputError("labels must be two or more, each once; name all that there could be.")
    strange = [label for label in held.labels if label not in declared]
    if strange:
        raise InputError(f"groups holds {strange}, which labels does not name; add them there.")
    codes = np.array([declared.index(label) for label in held.labels], np.int64)[held.codes]
    answers = randomized(codes, answer_epsilon(epsilon), len(declared))
    return [declared[code] for code in answers.tolist()]
