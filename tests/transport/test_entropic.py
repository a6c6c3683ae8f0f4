from itertools import pairwise

import numpy as np

from likeforlike.transport import _nested as nested
from likeforlike.transport._atoms import atoms_of_rows
from likeforlike.transport._entropic import nested_sinkhorn
from likeforlike.transport._level_cost import discrete_ground, metric_ground
from likeforlike.transport._sorting import sort_rows


def test_algorithm_1_converges_to_the_exact_value_from_above() -> None:
    rng = np.random.default_rng(2)
    scores, sides, levels = rng.random(24), np.arange(24) % 2, rng.integers(0, 3, 24)
    ground = metric_ground(np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))), 2.0)
    atoms = atoms_of_rows(sort_rows(scores, 2 * levels + sides, 6))
    left = 2 * np.arange(3)
    exact = nested.nested_transport(atoms, left, left + 1, ground, order=2.0, level_cost=0.05).value
    errors = []
    for reg in (0.3, 0.1, 0.03, 0.01):
        blurred = nested_sinkhorn(
            atoms, left, left + 1, ground, order=2.0, level_cost=0.05, reg=reg, tolerance=1e-6
        )
        errors.append(blurred - exact)
    assert all(error > 0.0 for error in errors)
    assert all(later < earlier for earlier, later in pairwise(errors))
    assert errors[-1] < 0.02 * errors[0]
    assert errors[-1] < 0.03 * exact


def test_levels_missing_on_one_side_are_no_obstacle() -> None:
    scores = np.array([0.0, 1.0, 0.5])
    sides, levels = np.array([0, 1, 0]), np.array([0, 1, 2])
    atoms = atoms_of_rows(sort_rows(scores, 2 * levels + sides, 6))
    left = 2 * np.arange(3)
    value = nested_sinkhorn(
        atoms, left, left + 1, discrete_ground(3), order=1.0, level_cost=2.0, reg=0.01
    )
    np.testing.assert_allclose(value, 2.0 + 0.75)
