"""The audit: one call from a table to a finding with its evidence.

Unconditional next to conditional disparity, a test, an estimate with its interval, a certificate,
the levels that matter, who could be compared at all, and where every figure came from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from likeforlike.cells import Cells
from likeforlike.contrasts import Contrast, contrasts
from likeforlike.disparity import Disparity
from likeforlike.errors import InputError
from likeforlike.examination import ContrastAudit, LevelAudit, contrast_dict, examine
from likeforlike.files import write_whole
from likeforlike.findings import finding
from likeforlike.inference import Adjustment, adjust
from likeforlike.measures import Measure
from likeforlike.nested_disparity import NestedDisparity
from likeforlike.provenance import Provenance, fingerprint, provenance
from likeforlike.tables import Roles, TableCells, read_cells

__all__ = ["SCHEMA_VERSION", "Audit", "Verdict", "audit"]

SCHEMA_VERSION = 1
"""Version of the document that `Audit.to_dict` makes; it rises when an entry changes meaning."""
Verdict = Literal["pass", "fail", "investigate"]
"""What a gate says: the interval lies below the threshold, above it, or across it."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of `audit`. Figures without a contrast are those of the largest one.

    Attributes
    ----------
    contrasts : every two groups compared, the largest disparity first.
    roles, settings : what was asked.
    table : rows, missing values, bins and engine of the data.
    provenance : fingerprint of the data, versions, time.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> found = lfl.audit(
    ...     load_loans(1000).frame, score="approved", sensitive="sex", legitimate=["income"]
    ... )
    >>> round(found.conditional.value, 3), round(found.unconditional.value, 3)
    (0.2, 0.0)
    >>> found.gate(0.05), found.contrasts[0].paradox
    ('fail', 'masked')
    """

    contrasts: tuple[ContrastAudit, ...]
    roles: Roles
    settings: dict[str, Any]
    table: TableCells
    provenance: Provenance

    @property
    def unconditional(self) -> Disparity:
        """Plug-in W_1 between the groups, whatever their level."""
        return self.contrasts[0].unconditional

    @property
    def conditional(self) -> Disparity:
        """Plug-in Σ_l Q(l) W_1(l)."""
        return self.contrasts[0].conditional

    @property
    def nested(self) -> NestedDisparity | None:
        """The bi-causal distance and its split."""
        return self.contrasts[0].nested

    @property
    def p_value(self) -> float | None:
        """Of the within-level permutation test, adjusted if there are several contrasts."""
        return self.contrasts[0].p_value

    @property
    def null_mean(self) -> float | None:
        """What the conditional plug-in W_1 averages to at parity."""
        test = self.contrasts[0].test
        return None if test is None else test.null_distance

    @property
    def estimate(self) -> float | None:
        """Conditional disparity (Σ Q W_2²)^{1/2} with its small-sample bias removed."""
        found = self.contrasts[0].estimate
        return None if found is None else found.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Confidence interval of the estimate."""
        found = self.contrasts[0].estimate
        return None if found is None else found.interval

    @property
    def levels(self) -> tuple[LevelAudit, ...]:
        """One entry a level, ranked by contribution."""
        return self.contrasts[0].levels

    @property
    def coverage(self) -> dict[str, float]:
        """Share of each group in levels where both groups occur."""
        return self.contrasts[0].coverage

    def gate(self, threshold: float) -> Verdict:
        """Compare the interval of every contrast with a threshold, in units of the score.

        "pass": all intervals lie at or below it. "fail": one lies above it. "investigate": the
        evidence does not settle it.
        """
        if not (math.isfinite(threshold) and threshold >= 0.0):
            raise InputError(f"threshold must be a finite number of 0 or more, not {threshold!r}.")
        intervals = [c.estimate.interval for c in self.contrasts if c.estimate is not None]
        if len(intervals) < len(self.contrasts):
            raise InputError("a gate needs an interval; audit with permutations of at least 1.")
        if any(low > threshold for low, _ in intervals):
            return "fail"
        return "pass" if all(high <= threshold for _, high in intervals) else "investigate"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; the page and the JSON are made of this and nothing else."""
        document = {
            "schema": "likeforlike.audit",
            "schema_version": SCHEMA_VERSION,
            "roles": asdict(self.roles),
            "settings": self.settings,
            "data": {
                "rows": self.table.rows,
                "used": self.table.used,
                "missing": self.table.missing,
                "edges": {column: list(edges) for column, edges in self.table.edges.items()},
                "engine": self.table.engine,
                "resolution": self.table.cells.resolution,
            },
            "contrasts": [contrast_dict(contrast) for contrast in self.contrasts],
            "provenance": asdict(self.provenance),
        }
        plain: dict[str, Any] = _plain(document)
        return {**plain, "finding": finding(plain)}

    def to_json(self, path: str | Path | None = None) -> str:
        """The document of `to_dict` as JSON; also written to `path`, whole or not at all."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if path is not None:
            write_whole(path, text)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained page; also written to `path`, whole or not at all."""
        from likeforlike.report import page

        text = page(self.to_dict())
        if path is not None:
            write_whole(path, text)
        return text

    def _repr_html_(self) -> str:
        from likeforlike.report import summary

        return summary(self.to_dict())


def audit(
    data: Any,  # noqa: ANN401
    *,
    score: str,
    sensitive: str,
    legitimate: str | Sequence[str] = (),
    weight: str | None = None,
    bins: Mapping[str, int] | None = None,
    measure: Measure = "marginal",
    min_cell: int = 20,
    resolution: float | None = None,
    permutations: int = 999,
    confidence: float = 0.95,
    adjustment: Adjustment = "holm",
    reference: Hashable | None = None,
    random_state: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Audit the scores in a table for conditional demographic parity.

    Parameters
    ----------
    data : pandas, polars (eager or lazy), pyarrow, DuckDB relation, PySpark DataFrame, or a path
        to a .csv or .parquet file.
    score : column of scores or decisions. They must come from a model that has not seen these
        rows.
    sensitive : column whose values are the groups.
    legitimate : columns whose combinations are the levels. With the target among them this is
        an audit of equalised odds.
    weight : column of sample weights.
    bins : {column: how many} legitimate columns to be cut at quantiles.
    measure : Q, how much each level counts.
    min_cell : levels with fewer rows of a group are called thin; they are kept and marked.
    resolution : width of the bins of scores, for data that should stay in its engine; `None`
        keeps scores exact.
    permutations : of the test; 0 leaves out everything that needs resampling.
    confidence : of intervals and certificate.
    adjustment : of p-values of many levels, `"holm"` or `"bh"`.
    reference : with more than two groups, compare all others with this one; `None` compares
        every two.
    random_state : seed; the same seed gives the same audit on any engine and machine.
    progress : called with the number of replicates done since the last call.

    References
    ----------
    Ghassemi et al. (2025); the statistics are those of `likeforlike.inference`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> found = lfl.audit(
    ...     make_loans(5000, gap=0.1).frame, score="score", sensitive="sex", legitimate="income"
    ... )
    >>> found.interval[0] < 0.1 < found.interval[1], found.p_value
    (True, 0.001)
    """
    roles = Roles(score, sensitive, _names(legitimate), weight)
    if permutations < 0:
        raise InputError(f"permutations must be 0 or more, not {permutations}.")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence}.")
    table = read_cells(data, roles, bins=bins, resolution=resolution)
    settings = {
        "measure": measure if isinstance(measure, str) else "given",
        "min_cell": min_cell,
        "permutations": permutations,
        "confidence": confidence,
        "adjustment": adjustment,
        "reference": reference,
        "random_state": random_state,
    }
    chosen = _chosen(table.cells, reference)
    with ThreadPoolExecutor(1) as beside:
        # Hashing takes a while and leaves the interpreter alone.
        mark = beside.submit(fingerprint, table.cells)
        examined = [examine(contrast, table, measure, settings, progress) for contrast in chosen]
    return Audit(
        contrasts=_ranked(examined),
        roles=roles,
        settings=settings,
        table=table,
        provenance=provenance(mark.result()),
    )


def _names(legitimate: str | Sequence[str]) -> tuple[str, ...]:
    return (legitimate,) if isinstance(legitimate, str) else tuple(legitimate)


def _chosen(cells: Cells, reference: Hashable | None) -> list[Contrast]:
    """The contrasts to examine, each with cells of its own two groups only."""
    # A command line only has text, so a group may also be named by how it is written.
    named = [group for group in cells.groups if str(group) == str(reference)]
    reference = named[0] if reference not in cells.groups and named else reference
    if reference is not None and reference not in cells.groups:
        raise InputError(f"reference {reference!r} is no group; there are {list(cells.groups)}.")
    found = [
        contrast
        for contrast in contrasts(cells, "pairwise")
        if reference is None or reference in contrast.groups
    ]
    met = [contrast for contrast in found if contrast.support.any()]
    if not met:
        raise InputError(
            f"no level holds two of the groups {list(cells.groups)}, so nothing can be compared; "
            "use coarser levels."
        )
    return met


def _ranked(examined: list[ContrastAudit]) -> tuple[ContrastAudit, ...]:
    """Adjust p-values for several contrasts (Holm), and put the largest disparity first."""
    tested = [contrast.p_value for contrast in examined if contrast.p_value is not None]
    if len(tested) == len(examined) > 1:
        adjusted = adjust(np.array(tested), "holm").tolist()
        examined = [
            replace(contrast, p_value=p) for contrast, p in zip(examined, adjusted, strict=True)
        ]

    def size(contrast: ContrastAudit) -> float:
        found = contrast.estimate
        return contrast.conditional.value if found is None else found.value

    return tuple(sorted(examined, key=size, reverse=True))


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Only dictionaries, lists, text, numbers, truth values and None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
