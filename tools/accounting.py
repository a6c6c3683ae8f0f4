"""Write what dp-accounting says of some ledgers: the oracle of `tests/teams/test_accounting.py`.

    pip install dp-accounting        (in an environment of its own: it wants older libraries)
    python -m tools.accounting tests/teams/accounting.json

Google's accountant composes privacy losses, which is as tight as can be. This file needs nothing
of likeforlike, so that both can be installed apart: sums at ε are Gaussian with the σ at which
zCDP comes to ε at δ = 1e-6, found here once more by SciPy.
"""

from __future__ import annotations

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

DELTA = 1e-6
# Name, counts at ε, sums at ε, and how much above the tight figure ours may be.
LEDGERS: list[tuple[str, list[float], list[float], float]] = [
    ("one sum at 1", [], [1.0], 1.25),
    ("one sum at .5", [], [0.5], 1.25),
    ("one sum at 4", [], [4.0], 1.25),
    ("one count at 1", [1.0], [], 1.001),
    ("two counts at .5", [0.5, 0.5], [], 1.001),
    ("a sum at 1 and four counts at .5", [0.5] * 4, [1.0], 1.25),
    ("three sums at .5", [], [0.5] * 3, 1.25),
    ("two sums at 1 and a count at .5", [0.5], [1.0, 1.0], 1.25),
]


def zcdp_sigma(epsilon: float) -> float:
    """Noise of sums of sensitivity 1 at which zCDP comes to ε."""
    from scipy.optimize import brentq, minimize_scalar

    def converted(rho: float) -> float:
        def bound(t: float) -> float:
            a = 1 + math.exp(t)
            return rho * a + math.log(1 / (a * DELTA)) / (a - 1) + math.log1p(-1 / a)

        return float(minimize_scalar(bound, bounds=(-8, 16), method="bounded").fun)

    rho = float(brentq(lambda r: converted(r) - epsilon, 1e-9, 100.0, xtol=1e-14))
    return 1 / math.sqrt(2 * rho)


def main(path: Path) -> None:
    """Write the figures."""
    import dp_accounting as dp
    from dp_accounting import pld

    found = []
    for name, counts, sums, at_most in LEDGERS:
        accountant = pld.PLDAccountant(value_discretization_interval=1e-4)
        for epsilon in counts:
            accountant.compose(dp.LaplaceDpEvent(1 / epsilon))
        for epsilon in sums:
            accountant.compose(dp.GaussianDpEvent(zcdp_sigma(epsilon)))
        tight = float(accountant.get_epsilon(DELTA))
        found.append(
            {"name": name, "counts": counts, "sums": sums, "epsilon": tight, "at_most": at_most}
        )
    written = {"dp-accounting": version("dp-accounting"), "delta": DELTA, "ledgers": found}
    path.write_text(json.dumps(written, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
