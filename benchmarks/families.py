"""What the page of the benchmarks says about each family, and which comparisons the README shows.

Words only: figures come from the results. A family of `suite.FAMILIES` needs its note here.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HEADLINES", "NOTES", "Headline", "Note"]


class Note(NamedTuple):
    """Words about a family.

    Attributes
    ----------
    title : heading of its section.
    opening : what the two sides are.
    caution : what to know before quoting a ratio.
    """

    title: str
    opening: str
    caution: str


class Headline(NamedTuple):
    """A comparison of the README.

    Attributes
    ----------
    comparison : its name in the results.
    what, peer : what is computed, and by whom on the other side, in few words.
    """

    comparison: str
    what: str
    peer: str


NOTES = {
    "fairbit": Note(
        "FairBiT on a training batch",
        """Value and gradient of the bi-causal distance of a batch, as training needs them at every
step. The peers are Algorithm 1 of the paper (POT's `sinkhorn2` for every pair of levels,
differentiated by torch) and the same loop with POT's exact `emd2`.""",
        """Sinkhorn's time depends on its regularization, `reg`: a large one is fast and blurs, a
small one is slow. The table shows three, and how far each is from the exact value and gradient. The
peer that computes what we compute is the `emd2` loop.""",
    ),
    "nested": Note(
        "The nested distance",
        """The bi-causal distance of two groups, ours from raw rows, against `pnot`, the reference
implementation in C++.""",
        """`pnot` works on a grid and gets faster the more ties there are, so the ratio depends on
the decimals of the scores: far smaller at two than at four.""",
    ),
    "levels": Note(
        "Distances inside every level",
        """W1, W2 and KS of every level, ours from raw rows, against loops over levels with SciPy
and NumPy, with and without a shared sort. The last row sets all of it beside `numpy.sort` of the
scores, without which nobody can do.""",
        """Our sorts and sweeps use all cores from about 130,000 rows on (`LIKEFORLIKE_THREADS=1`
turns that off); the loops use one. A NumPy loop by hand that sorts each group once and computes
everything from it comes close to us. What it lacks is weights, ties in the gradient, thousands of
levels and somebody to maintain it.""",
    ),
    "growth": Note(
        "How our time grows",
        """`cdd_lp` at ten times the rows, and at a hundred times the levels. The peer is
ourselves at the smaller size.""",
        """Linear time would make ten times the rows cost ten times as much. A hundred thousand rows
fit into the cache of a processor and a million do not, which may cost half as much again.""",
    ),
    "audit": Note(
        "Whole audits",
        """A whole audit of a pandas table without resampling beside the means of `MetricFrame` of
fairlearn. Then a Parquet file of many rows read by DuckDB, its time and its memory.""",
        """fairlearn computes means and we compute distances, so the ratio is what a user waits for,
not the same work twice. Much of what `MetricFrame` spends is Python code for every row; `groupby`
of pandas alone finds the same means in less time than our audit takes. The ratio also depends on
how fast a machine hands out memory, which our arrays ask for and Python's rows do not.

An audit of a file spends a constant time on resampling, whatever the rows, which would flatter the
growth of its time: the ratio is that of the audit without resampling, and the note gives the other.
Memory counts the whole process, Python and its libraries included. The files take about a gigabyte
in the folder for temporary files while they are there; `TMPDIR` names another.""",
    ),
    "inference": Note(
        "The headline test",
        """Processor seconds of all threads together. One permutation, looked at by all five
components, beside one bootstrap of the means by fairlearn; as many permutations as an audit takes,
beside a limit that we set ourselves; and a test of counts that stand for a thousand times the
rows.""",
        """A permutation and a bootstrap answer different questions; the ratio is what they cost.
Counts are dealt bin by bin, so their test costs what the bins cost, whatever they stand for.""",
    ),
    "training": Note(
        "Training",
        """Law School, with batches of 128 rows and 50 and 20 hidden units: what a penalty adds to
training, what one network costs in a stack of many, and one model trained to the end beside the
time the paper reports.""",
        """The paper's two hours were measured by its authors on their machine, with a graphics
card. That row compares what a user waits for, on different machines, and requires nothing. The
other rows set us beside ourselves: whatever makes plain training of one network faster makes their
ratios worse, though nobody waits longer.""",
    ),
    "smooth": Note(
        "Audits along a number",
        """Processor seconds of all threads together: an audit with `smooth` beside the same audit
with a hundred bins at given edges, from rows in memory and from a Parquet file that DuckDB counts;
and the peak memory of the latter beside a limit that we set ourselves.""",
        """Bins cost less and answer another question. From a file the engine passes over the rows
twice, to find fine cells of the number and to count in them, where given edges need one pass.""",
    ),
    "smooth_penalty": Note(
        "A penalty along a number",
        """Value and gradient of `SmoothFairLeap`, where every row is compared at two anchors with
weights, beside those of `FairLeap` in twenty bins on the same rows.""",
        """Both sides have their rows prepared, as training has them. Learning anchors from a
million different numbers takes a few seconds more, once.""",
    ),
    "startup": Note(
        "The first answer",
        """Processor seconds of a process from its start to its end: a warm audit of a small file
with its page, help, imports, and the very first audit and fit after the wheel was installed, with
the machine code that comes along, on this processor and as on one without AVX-512.
The peer of an audit is the import of fairlearn's `MetricFrame`; elsewhere it is a limit that we set
ourselves.""",
        """An import measures nothing yet, so the first row sets a whole audit beside half a task of
the peer's. `import likeforlike` loads names when they are asked for; the row below it asks for
one. How long somebody waits also depends on the disk, and on what is in its cache.""",
    ),
}
HEADLINES = (
    Headline(
        "FairBiT value and gradient, 128 rows: POT sinkhorn2, reg 0.1",
        "FairBiT, value and gradient of a batch of 128 rows",
        "Algorithm 1 of the paper by POT and torch, approximate",
    ),
    Headline(
        "FairBiT value and gradient, 128 rows: POT emd2 (exact)",
        "the same",
        "POT and torch, exact",
    ),
    Headline(
        "nested distance, 2 x 10,000 rows, scores to 0.001: pnot (C++)",
        "nested distance of 2 x 10,000 rows",
        "`pnot`, in C++",
    ),
    Headline(
        "W1, W2 and KS, 1,000,000 rows in 50 levels: SciPy and NumPy loop",
        "W1, W2 and KS of 1,000,000 rows in 50 levels",
        "SciPy and NumPy, level by level",
    ),
    Headline(
        "point audit, 1,000,000 rows in 50 levels: means by fairlearn",
        "audit of 1,000,000 rows without resampling",
        "fairlearn, means alone",
    ),
    Headline(
        "one FairBiT model on Law School, trained to the end: two hours (the paper)",
        "a FairBiT model on Law School, trained to the end",
        "as the paper reports, on another machine",
    ),
)
