"""Honest statistics: whether there is a disparity, how large it is, how sure we can be.

Everything here reads cells only, so it holds for rows and for counts from an engine alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._certificate import certificate as certificate
    from ._contrast_test import adjust as adjust
    from ._contrast_test import jackknife_test as jackknife_test
    from ._distance import estimate_distance as estimate_distance
    from ._gap import compare_gaps as compare_gaps
    from ._gap import level_gaps as level_gaps
    from ._gap import signed_gap as signed_gap
    from ._headline import headline_test as headline_test
    from ._omnibus import omnibus_test as omnibus_test

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._bootstrap import DRAWS as DRAWS
    from ._bootstrap import rademacher_sum as rademacher_sum
    from ._certificate import Certificate as Certificate
    from ._contrast_test import DesignTest as DesignTest
    from ._contrast_test import conditional_parity_test as conditional_parity_test
    from ._contrast_test import joint_parity_test as joint_parity_test
    from ._distance import DistanceEstimate as DistanceEstimate
    from ._distance import SquaredDistance as SquaredDistance
    from ._distance import allocate as allocate
    from ._distance import debias_distance as debias_distance
    from ._distance import largest_distance as largest_distance
    from ._distance import wilson_hilferty_limit as wilson_hilferty_limit
    from ._gap import Gap as Gap
    from ._gap import LevelGaps as LevelGaps
    from ._gap import Paradox as Paradox
    from ._gap import bonferroni_confidence as bonferroni_confidence
    from ._gap import check_confidence as check_confidence
    from ._gap import edgeworth_shift as edgeworth_shift
    from ._headline import HeadlineTest as HeadlineTest
    from ._omnibus import OmnibusTest as OmnibusTest
    from ._permutation import expected_pairs as expected_pairs
    from ._random import hypergeometric as hypergeometric
    from ._random import next_bits as next_bits
    from ._random import start_stream as start_stream
    from ._random import uniform as uniform
    from ._rank_scores import atoms_of_contrast as atoms_of_contrast
    from ._sample import Sample as Sample
    from ._sample import take_sample as take_sample
    from ._tails import chi_square_tail as chi_square_tail
    from ._tails import homogeneity as homogeneity
    from ._tails import normal_quantile as normal_quantile
    from ._tails import t_quantile as t_quantile
    from ._tails import t_tail as t_tail

attach(__name__)
