import numpy as np
import pytest

from likeforlike import Cells
from likeforlike._settings import Measure
from likeforlike.disparity import contrasts, level_weights

# Level 1 holds f f m, level 2 holds f m m m, level 3 only f.
GROUPS = list("ffmfmmmf")
LEVELS = [1, 1, 1, 2, 2, 2, 2, 3]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("marginal", [3, 4]),
        ("average", [(2 / 4 + 1 / 4) / 2, (1 / 4 + 3 / 4) / 2]),
        ("uniform", [1, 1]),
        ("overlap", [1 / 4, 1 / 4]),
        ({1: 3.0, 2: 1.0}, [3, 1]),
        ({1: 3.0, 2: 1.0, 3: 9.0}, [3, 1]),
    ],
)
def test_measures_weigh_the_shared_levels(measure: Measure, expected: list[float]) -> None:
    cells = Cells.from_rows(np.zeros(8), GROUPS, LEVELS)
    weights = level_weights(contrasts(cells, "pairwise")[0], measure)
    np.testing.assert_allclose(weights, np.array(expected) / sum(expected))
    np.testing.assert_allclose(weights.sum(), 1.0)


def test_sample_weights_move_the_measures() -> None:
    weight = [2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    cells = Cells.from_rows(np.zeros(8), GROUPS, LEVELS, sample_weight=weight)
    contrast = contrasts(cells, "pairwise")[0]
    np.testing.assert_allclose(level_weights(contrast, "marginal"), [5 / 9, 4 / 9])
    assert contrast.coverage == {"f": pytest.approx(5 / 6), "m": 1.0}
