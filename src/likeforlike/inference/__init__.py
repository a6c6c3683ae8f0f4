"""Honest statistics: whether there is a disparity, how large it is, how sure we can be.

- `permutation`: the within-level permutation test, exact for any statistic.
- `estimation`: an estimate without small-sample bias, with its interval.
- `certificates`: bounds that hold for any sample size.
- `multiplicity`: p-values of many levels.
- `draws`, `pooling`, `spread`, `replicates`: what they are made of.
"""

from likeforlike.inference.certificates import Certificate as Certificate
from likeforlike.inference.certificates import certificate as certificate
from likeforlike.inference.certificates import effective_rows as effective_rows
from likeforlike.inference.certificates import gap_errors as gap_errors
from likeforlike.inference.estimation import Estimate as Estimate
from likeforlike.inference.estimation import estimate as estimate
from likeforlike.inference.multiplicity import Adjustment as Adjustment
from likeforlike.inference.multiplicity import adjust as adjust
from likeforlike.inference.permutation import PermutationTest as PermutationTest
from likeforlike.inference.permutation import permutation_test as permutation_test

__all__ = [
    "Adjustment",
    "Certificate",
    "Estimate",
    "PermutationTest",
    "adjust",
    "certificate",
    "effective_rows",
    "estimate",
    "gap_errors",
    "permutation_test",
]
