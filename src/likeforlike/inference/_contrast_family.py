"""Many contrasts: p-values of every two groups, adjusted for how many there are.

Each contrast is tested by permuting the labels of its own two groups only. Permuting all groups
together would be quicker, but then a difference between two groups, in spread say, would show up
in the null distribution of a contrast between others, and reject where there is nothing. p-values
are continued below 1 / (B + 1) along their tail: 66 contrasts could not be separated from chance
with 999 permutations otherwise, however different the groups are.

Reference: Holm (1979), *A simple sequentially rejective multiple test procedure*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.inference._headline import HeadlineTest
from likeforlike.inference._multiplicity import adjust


def adjust_contrasts(tests: Sequence[HeadlineTest]) -> FloatArray:
    """Holm-adjusted p-values of the headline tests of several contrasts, shape (m,).

    A single test keeps its exact p-value.

    Parameters
    ----------
    tests : one for each contrast.

    References
    ----------
    Holm (1979), *A simple sequentially rejective multiple test procedure*.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import headline_test
    >>> from likeforlike.inference._contrast_family import adjust_contrasts
    >>> scores = np.tile(np.arange(50.0), 3) + np.repeat([0.0, 0.0, 40.0], 50)
    >>> cells = Cells.from_rows(scores, np.repeat(["a", "b", "c"], 50))
    >>> tests = [headline_test(two, np.ones(1)) for two in contrasts(cells, "pairwise")]
    >>> adjust_contrasts(tests) < 0.05
    array([False,  True,  True])
    """
    if len(tests) == 1:
        return np.array([tests[0].p_value])
    return adjust(np.array([test.tail_p_value for test in tests]), "holm")
