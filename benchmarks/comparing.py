"""Whether comparisons of two scores hold what they promise: coverage, false claims, widths.

    python -m benchmarks.comparing --json benchmarks/comparing.json --page docs/comparing_figures.md
    python -m benchmarks.comparing --read benchmarks/comparing.json --page docs/comparing_figures.md
    python -m benchmarks.comparing --json FILE --again 1000 NUMBER [NUMBER ...]

Rows with two correlated scores whose gaps and distances are known are drawn again and again. It is
counted how often the intervals of the differences miss the truth on each side, which is how often
"not worse" is claimed falsely at the worst margin (and with the scores exchanged), and how wide
they are next to those of two samples of their own. `--again` draws a few settings more often, with
another seed, and `--only` runs a part of them.
"""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.commands import command_line, kept, write_json
from benchmarks.report import source_digest
from benchmarks.sections import table
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Codes, contrasts, level_weights
from likeforlike.files import write_whole
from likeforlike.monitoring._comparison import ScoreLines, ScorePair, _compare_pair, _select

__all__ = ["SETTINGS", "Found", "Setting", "main", "page", "simulate"]

_SIGMA = 0.75
_CUTS = np.array([-1.2, -0.4, 0.4, 1.2])


def _normal(z: FloatArray) -> FloatArray:
    return np.array([0.5 * math.erfc(-x * math.sqrt(0.5)) for x in z.ravel()]).reshape(z.shape)


def _rating_shift(distance: float) -> float:
    def mean(shift: float) -> float:
        return float((1.0 - _normal(_CUTS - shift)).sum())

    low, high = 0.0, 4.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if mean(middle) - mean(0.0) < distance else (low, middle)
    return low


class Setting(NamedTuple):
    """Two scores of the same rows: sizes of levels, distances, correlation, where they differ."""

    law: str
    sizes: tuple[tuple[int, int], ...]
    first: float
    second: float
    correlation: float
    first_shape: str = "even"
    second_shape: str = "even"
    design: str = "rows"

    @property
    def name(self) -> str:
        """The setting in words."""
        alike = len(set(self.sizes)) == 1
        n, m = self.sizes[-1]
        sizes = (
            f"{len(self.sizes)} x ({n}+{m})" if alike else f"{len(self.sizes)} levels, last {n}+{m}"
        )
        shapes = f"{self.first_shape}/{self.second_shape}"
        extra = "" if self.design == "rows" else f", {self.design}"
        return f"{self.law}, {shapes}, {sizes}{extra}"


def _levels(count: int, first: int, second: int) -> tuple[tuple[int, int], ...]:
    return ((first, second),) * count


_EIGHT, _FORTY, _TWENTY = _levels(8, 50, 50), _levels(40, 5, 5), _levels(20, 17, 3)
_THIN, _ONE, _UNEVEN8 = (*_levels(9, 200, 200), (300, 4)), _levels(1, 200, 100), _levels(8, 80, 20)
_SIZES = tuple((n, max(n // 3, 3)) for n in (10, 20, 30, 50, 80, 120, 200, 300))
_OF_DESIGN = [
    *(
        Setting("normal", _EIGHT, 0.4, 0.4 * f, rho)
        for rho in (0.0, 0.5, 0.9)
        for f in (1.0, 0.5, 0.0)
    ),
    *(Setting("normal", _FORTY, 0.6, 0.6 * f, rho) for rho in (0.0, 0.9) for f in (1.0, 0.5)),
    Setting("normal", _FORTY, 0.6, 0.0, 0.5),
    Setting("normal", _EIGHT, 0.0, 0.0, 0.5),
    Setting("normal", _EIGHT, 0.0, 0.0, 0.9),
    Setting("normal", _FORTY, 0.0, 0.0, 0.9),
    Setting("decisions", _EIGHT, 0.0, 0.0, 0.5),
    Setting("skewed", _TWENTY, 0.0, 0.0, 0.5),
    Setting("skewed", _EIGHT, 0.3, 0.15, 0.9),
    Setting("skewed", _FORTY, 0.5, 0.5, 0.5),
    Setting("skewed", _UNEVEN8, 0.4, 0.4, 0.9),
    Setting("skewed", _TWENTY, 0.6, 0.3, 0.5),
    Setting("skewed", _UNEVEN8, 0.4, 0.0, 0.5),
    Setting("decisions", _EIGHT, 0.2, 0.1, 0.5),
    Setting("decisions", _FORTY, 0.25, 0.25, 0.9),
    Setting("decisions", _UNEVEN8, 0.2, 0.0, 0.5),
    Setting("decisions", _EIGHT, 0.2, 0.2, 0.9),
    Setting("decisions", _TWENTY, 0.25, 0.25, 0.5),
    Setting("ratings", _EIGHT, 0.4, 0.2, 0.9),
    Setting("ratings", _FORTY, 0.6, 0.6, 0.5),
    Setting("ratings", _UNEVEN8, 0.4, 0.0, 0.5),
    Setting("ratings", _TWENTY, 0.6, 0.6, 0.9),
    Setting("normal", _EIGHT, 0.4, 0.4, 0.5, "even", "one"),
    Setting("normal", _EIGHT, 0.4, 0.4, 0.5, "spread", "even"),
    Setting("normal", _EIGHT, 0.4, 0.4, 0.9, "alternating", "even"),
    Setting("normal", _FORTY, 0.6, 0.6, 0.5, "one", "even"),
    Setting("normal", _EIGHT, 0.4, 0.0, 0.9, "spread", "even"),
    Setting("normal", _ONE, 0.4, 0.2, 0.9),
    Setting("normal", _ONE, 0.0, 0.0, 0.9),
    Setting("normal", _THIN, 0.25, 0.0, 0.5, "last", "even"),
    Setting("normal", _THIN, 0.25, 0.25, 0.9, "last", "even"),
]
_OTHERS = [
    Setting("normal", _EIGHT, 0.4, 0.4, 0.7, design="weights"),
    Setting("skewed", _EIGHT, 0.4, 0.0, 0.7, design="weights"),
    Setting("decisions", _EIGHT, 0.2, 0.2, 0.7, design="weights"),
    Setting("normal", _EIGHT, 0.4, 0.4, 0.7, design="clusters of five"),
    Setting("decisions", _EIGHT, 0.2, 0.0, 0.7, design="clusters of five"),
    Setting("normal", _EIGHT, 0.4, 0.4, 0.7, design="couples of both groups"),
    Setting("normal", _EIGHT, 0.4, 0.4, -0.5),
    Setting("normal", _EIGHT, 0.4, 0.0, -0.5),
    Setting("ratings", _EIGHT, 0.4, 0.4, -0.8),
    Setting("rounded", _FORTY, 0.6, 0.6, 0.9),
    Setting("decisions", _ONE, 0.2, 0.2, 0.9),
    Setting("normal", _SIZES, 0.3, 0.3, 0.9),
]
SETTINGS = (*_OF_DESIGN, *_OTHERS)
"""Those that the method was made with, then twelve others."""


@dataclass(frozen=True)
class Found:
    """What was counted in one setting.

    Attributes
    ----------
    number, setting : which.
    repetitions : data sets drawn.
    better, worse : in how many the interval of D_1 - D_0 lay below the truth, and above it.
    gap : in how many that of Δ_1 - Δ_0 missed.
    size : in how many that of |Δ_1| - |Δ_0| missed.
    width, gap_width : median widths over those of two samples of their own.
    clear : in how many the interval of D_1 - D_0 left out 0.
    first, second, correlation : the truth.
    """

    number: int
    setting: str
    repetitions: int
    better: int
    worse: int
    gap: int
    size: int
    width: float
    gap_width: float
    clear: int
    first: float
    second: float
    correlation: float


class _Law:
    """A score with distance D."""

    def __init__(self, law: str, distance: float, shape: str, measure: FloatArray) -> None:
        k = measure.size
        apart = np.ones(k)
        if shape == "alternating":
            apart = np.where(np.arange(k) % 2, 1.0, -1.0)
        elif shape in ("one", "last"):
            apart = np.zeros(k)
            apart[slice(max(1, k // 8)) if shape == "one" else slice(k - 1, k)] = 1.0
        self.law, self.distance, self.shape = law, distance, shape
        self.shift = distance * apart / math.sqrt(float(measure @ apart**2))
        self.moves = self.shift
        if law == "ratings":
            self.moves = np.array([_rating_shift(abs(x)) * np.sign(x) for x in self.shift])
        self.gap = 0.0 if shape == "spread" else float(measure @ self.shift)

    def draw(self, z: FloatArray, level: IntArray, group: IntArray) -> FloatArray:
        """Make scores of normal numbers."""
        moved: FloatArray = self.moves[level] * group
        if self.shape == "spread":
            return np.asarray(z * (1.0 + group * self.distance * math.sqrt(math.pi / 2.0)))
        if self.law == "skewed":
            return np.asarray(np.exp(_SIGMA * z - _SIGMA**2 / 2.0) * (1.0 + moved))
        if self.law == "decisions":
            return (_normal(z) < 0.35 + moved).astype(np.float64)
        if self.law == "ratings":
            return 1.0 + np.searchsorted(_CUTS, z + moved).astype(np.float64)
        if self.law == "rounded":
            # Rows fall on either side, so that the mean stays what it was.
            exact = (z + moved) / 0.3
            return np.asarray(0.3 * np.floor(exact + np.random.default_rng(1).random(z.size)))
        return np.asarray(z + moved)


def simulate(number: int, repetitions: int, seed: int = 0) -> Found:
    """Draw data of a setting, compare the scores, and see where the truth lies."""
    s = SETTINGS[number]
    sizes = np.array(s.sizes)
    level = np.repeat(np.arange(len(sizes)), sizes.sum(axis=1))
    group = np.concatenate([np.repeat([0, 1], each) for each in s.sizes])
    measure = sizes.sum(axis=1) / sizes.sum()
    laws = [
        _Law(s.law, s.first, s.first_shape, measure),
        _Law(s.law, s.second, s.second_shape, measure),
    ]
    # A sum of two shifts in opposite directions would not be D; the gap has a sign.
    truth, gap = s.second - s.first, laws[1].gap - laws[0].gap
    size = abs(laws[1].gap) - abs(laws[0].gap)
    rng = np.random.default_rng(10_000 * seed + number)
    counted = np.zeros(5, np.int64)
    widths = []
    for _ in range(repetitions):
        n = level.size
        cluster, weight = None, None
        z = rng.normal(size=(2, n))
        if s.design == "clusters of five":
            cluster = np.arange(n) // 5
            z = np.sqrt(0.5) * z + np.sqrt(0.5) * rng.normal(size=(2, n // 5 + 1))[:, cluster]
        elif s.design == "couples of both groups":
            cluster = np.concatenate([level[group == g] * 50 + np.arange(400) % 50 for g in (0, 1)])
            cluster = cluster[np.argsort(np.argsort(group * n + np.arange(n)))]
            z = np.sqrt(0.5) * z + np.sqrt(0.5) * rng.normal(size=(2, 400))[:, cluster]
        elif s.design == "weights":
            weight = rng.gamma(2.0, size=n)
        z[1] = s.correlation * z[0] + math.sqrt(1.0 - s.correlation**2) * z[1]
        scores = np.stack([law.draw(z[j], level, group) for j, law in enumerate(laws)])
        found = compare_arrays(scores, group, level, weight, cluster, int(rng.integers(2**31)))
        low, high = found.distance.interval or (-math.inf, math.inf)
        gaps, of_size = found.gap.interval or (-9.0, 9.0), found.size.interval or (-9.0, 9.0)
        counted += (
            high < truth - 1e-9,
            low > truth + 1e-9,
            not gaps[0] - 1e-9 <= gap <= gaps[1] + 1e-9,
            not of_size[0] - 1e-9 <= size <= of_size[1] + 1e-9,
            low > 0.0 or high < 0.0,
        )
        singles = [found.distance.first_interval, found.distance.second_interval]
        own = math.hypot(*(float(i[1] or math.inf) - i[0] for i in singles if i is not None))
        two = [found.gap.first_interval, found.gap.second_interval]
        gap_own = math.hypot(*(float(i[1] or 0.0) - i[0] for i in two if i is not None))
        widths.append(((high - low) / own, (gaps[1] - gaps[0]) / gap_own))
    width, gap_width = np.median(widths, axis=0).tolist()
    better, worse, missed, of_sizes, clear = counted.tolist()
    return Found(
        number, s.name, repetitions, better, worse, missed, of_sizes, round(width, 3),
        round(gap_width, 3), clear, s.first, s.second, s.correlation,
    )  # fmt: skip


def compare_arrays(
    scores: FloatArray,
    group: IntArray,
    level: IntArray,
    weight: FloatArray | None,
    cluster: IntArray | None,
    seed: int,
) -> ScorePair:
    """Compare two scores of rows, as `compare` does once they are read."""
    levels, groups = Codes(level, tuple(range(level.max() + 1))), Codes(group, (0, 1))
    clusters = None if cluster is None else Codes(cluster, tuple(range(cluster.max() + 1)))
    values = (scores[0], scores[1], scores[1] - scores[0], scores[0] + scores[1])
    mass = np.ones(level.size) if weight is None else weight
    counts = np.ones(level.size, np.int64)
    lines = ScoreLines(scores, None, levels, groups, mass, counts, clusters, weight is not None)
    of_cells = [contrasts(lines.cells(x), "pairwise")[0] for x in values]
    measure = level_weights(of_cells[0], "marginal")
    pairs = _select(of_cells[0], lines, scores)
    return _compare_pair(("first", "second"), of_cells, pairs, measure, 0.95, 0.0, seed)


_OPENING = """# Comparisons, measured

How often the intervals of a [comparison](monitoring.md) miss what is true. `python -m
benchmarks.comparing` makes this page. Two scores of the same rows have known distances D and a
correlation ρ; intervals are of nominal 95%, so that each end should miss in 2.5% of data sets. An
end that is too low claims "not worse" falsely at the worst margin; the other one is the same with
the scores exchanged. A share of .025 counted on 250 data sets has a standard error of .010, on
1,000 one of .005. Widths are those over the widths of two samples of their own, of equal size
(unpaired). The first {made} settings are those that the method was made with, the others are new.

"""


def page(found: list[Found]) -> str:
    """Write the page of the documentation."""
    rows = []
    for each in sorted(found, key=lambda one: one.number):
        n = each.repetitions
        rows.append(
            (
                each.setting,
                f"{each.correlation:g}",
                f"{each.first:g}, {each.second:g}",
                f"{n:,}",
                f"{each.better / n:.3f}",
                f"{each.worse / n:.3f}",
                f"{1 - (each.better + each.worse) / n:.3f}",
                f"{each.width:.2f}",
                f"{1 - each.gap / n:.3f}",
                f"{each.gap_width:.2f}",
                f"{1 - each.size / n:.3f}",
            )
        )
    heads = (
        *("setting", "ρ", "D", "data sets", "too low", "too high", "D covered", "width"),
        *("gap covered", "gap width", "size of gap covered"),
    )
    return _OPENING.format(made=len(_OF_DESIGN)) + table(heads, rows) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, write JSON and page."""
    line = command_line("comparing", __doc__)
    line.add_argument("--page", type=Path, help="write the page of the documentation")
    line.add_argument("--again", type=int, nargs="+", help="repetitions, then numbers of settings")
    line.add_argument("--only", type=int, nargs="+", help="numbers of settings")
    given = line.parse_args(arguments)
    before = kept(given.read or given.json, {"found": []})
    found = {one["number"]: Found(**one) for one in before["found"]}
    if given.read is None:
        chosen = given.only or range(len(SETTINGS))
        repetitions, seed = 4 if given.quick else 250, 0
        if given.again:
            repetitions, *chosen = given.again
            seed = 1
        for number in chosen:
            found[number] = simulate(number, repetitions, seed)
            one = found[number]
            print(asdict(one), file=sys.stderr, flush=True)
            parts = [asdict(found[k]) for k in sorted(found)]
            write_json(given.json, {"source": source_digest(), "found": parts})
    if given.page is not None:
        write_whole(given.page, page(list(found.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
