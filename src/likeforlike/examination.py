"""Examine one contrast: everything an audit says about two groups."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from likeforlike.cells import Cells
from likeforlike.contrasts import Contrast, contrasts
from likeforlike.disparity import Disparity, cdd_lp, dd
from likeforlike.inference import (
    Certificate,
    Estimate,
    PermutationTest,
    certificate,
    estimate,
    gap_errors,
    permutation_test,
)
from likeforlike.measures import Measure
from likeforlike.nested_disparity import NestedDisparity, cdd_wass
from likeforlike.tables import TableCells

__all__ = ["ContrastAudit", "Distribution", "LevelAudit", "Paradox", "contrast_dict", "examine"]

Paradox = Literal["none", "masked", "reversed"]
"""Whether a comparison of everybody misleads about equals, and how."""

# The plan between levels is a problem of size K x K; beyond this its split is not computed.
_NESTED_LEVELS = 500
_SHOWN_LEVELS = 6
_HISTOGRAM_BINS = 24


@dataclass(frozen=True, slots=True)
class Distribution:
    """Scores of both groups in one level as histograms over the same bins.

    Attributes
    ----------
    level : name of the level.
    edges : (b + 1,) edges of the bins.
    shares : {group: (b,) shares of its weight in each bin}.

    Examples
    --------
    >>> from likeforlike.examination import Distribution
    >>> shown = Distribution("low", (0.0, 0.5, 1.0), {"f": (0.8, 0.2), "m": (0.6, 0.4)})
    >>> len(shown.edges) == len(shown.shares["f"]) + 1
    True
    """

    level: str
    edges: tuple[float, ...]
    shares: dict[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class LevelAudit:
    """What was found in one level.

    Attributes
    ----------
    level, name : its label, and how to call it in front of people.
    rows : {group: rows}.
    weight : Q(l).
    distance : W_1 between the groups.
    null_distance : what W_1 averages to at parity with cells of this size (`None` untested).
    gap, gap_interval : mean of the second group minus that of the first.
    contribution : share of Σ Q W_2² that comes from this level.
    p_value, p_adjusted : of W_2² in this level, before and after adjustment for many levels.
    thin : whether a cell has fewer than `min_cell` rows.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> level = lfl.audit(load_loans(1000).frame, **roles, permutations=0).levels[0]
    >>> level.name, level.rows, round(level.gap, 3), level.thin
    ('income high', {'female': 300, 'male': 50}, 0.2, False)
    """

    level: Hashable
    name: str
    rows: dict[str, int]
    weight: float
    distance: float
    null_distance: float | None
    gap: float
    gap_interval: tuple[float, float] | None
    contribution: float
    p_value: float | None
    p_adjusted: float | None
    thin: bool


@dataclass(frozen=True, slots=True)
class ContrastAudit:
    """Two groups compared.

    Attributes
    ----------
    groups : their labels; a positive gap means that the second scores higher.
    unconditional, conditional : plug-in W_1, everybody and among equals.
    nested : the bi-causal distance and its split (`None` beyond 500 levels).
    test, estimate : `None` if no resampling was asked for.
    p_value : of the test, adjusted if there are several contrasts.
    certificate : finite-sample bounds on the conditional W_1.
    paradox : "masked" if the groups are much closer overall than among equals, "reversed" if the
        overall gap has the opposite sign, else "none".
    levels : ranked by contribution, thin ones last.
    coverage : share of each group in levels where both occur.
    thin_share : share of each group in levels with a cell of fewer than `min_cell` rows.
    excluded : levels that lack a group: {name: {group: rows}}.
    distributions : scores in the levels that contribute most.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> contrast = lfl.audit(load_loans(1000).frame, **roles, permutations=99).contrasts[0]
    >>> contrast.groups, contrast.paradox, contrast.coverage
    (('female', 'male'), 'masked', {'female': 1.0, 'male': 1.0})
    """

    groups: tuple[str, str]
    unconditional: Disparity
    conditional: Disparity
    nested: NestedDisparity | None
    test: PermutationTest | None
    estimate: Estimate | None
    p_value: float | None
    certificate: Certificate
    paradox: Paradox
    levels: tuple[LevelAudit, ...]
    coverage: dict[str, float]
    thin_share: dict[str, float]
    excluded: dict[str, dict[str, int]]
    distributions: tuple[Distribution, ...]


def examine(
    contrast: Contrast,
    table: TableCells,
    measure: Measure,
    settings: Mapping[str, Any],
    progress: Callable[[int], None] | None,
) -> ContrastAudit:
    """Measure, test and describe one contrast.

    Parameters
    ----------
    contrast : two groups that meet in some level.
    table : the table their cells came from, for the names of levels.
    measure : Q.
    settings : of the audit.
    progress : called with the number of replicates done since the last call.

    Examples
    --------
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.examination import examine
    >>> from likeforlike.tables import Roles, read_cells
    >>> table = read_cells(load_loans().frame, Roles("approved", "sex", ("income",)))
    >>> settings = {"permutations": 0, "confidence": 0.95, "min_cell": 20}
    >>> found = examine(contrasts(table.cells, "pairwise")[0], table, "marginal", settings, None)
    >>> round(found.conditional.value, 3), found.test
    (0.2, None)
    """
    cells = contrast.cells
    if len(cells.groups) > 2:
        cells = cells.regroup({group: group for group in contrast.groups})
    contrast = contrasts(cells, "pairwise")[0]
    conditional = cdd_lp(cells, order=1, measure=measure)
    weights = conditional.by_level.weight
    test, sized = None, None
    if settings["permutations"]:
        seed = settings["random_state"]
        test = permutation_test(
            contrast,
            weights,
            permutations=settings["permutations"],
            seed=seed,
            adjustment=settings["adjustment"],
            progress=progress,
        )
        sized = estimate(
            contrast,
            weights,
            confidence=settings["confidence"],
            seed=seed + 1,
            progress=progress,
        )
    unconditional = dd(cells, order=1)
    names = _level_names(table, cells)
    levels = _level_audits(contrast, conditional, test, names, settings)
    low, high = (str(group) for group in contrast.groups)
    return ContrastAudit(
        groups=(low, high),
        unconditional=unconditional,
        conditional=conditional,
        nested=cdd_wass(cells) if len(cells.levels) <= _NESTED_LEVELS else None,
        test=test,
        estimate=sized,
        p_value=None if test is None else test.p_value,
        certificate=certificate(contrast, weights, confidence=settings["confidence"]),
        paradox=_paradox(unconditional, conditional, test, sized),
        levels=levels,
        coverage={str(group): share for group, share in conditional.coverage.items()},
        thin_share=_thin_share(contrast, settings["min_cell"]),
        excluded={
            names[level]: {str(group): rows for group, rows in counts.items()}
            for level, counts in conditional.excluded.items()
        },
        distributions=_distributions(contrast, levels),
    )


def _level_names(table: TableCells, cells: Cells) -> dict[Hashable, str]:
    names = dict(zip(table.cells.levels, table.level_names, strict=True))
    return {level: names[level] for level in cells.levels}


def _level_audits(
    contrast: Contrast,
    conditional: Disparity,
    test: PermutationTest | None,
    names: Mapping[Hashable, str],
    settings: Mapping[str, Any],
) -> tuple[LevelAudit, ...]:
    by_level = conditional.by_level
    costs = cdd_lp(contrast.cells, order=2).by_level.distance ** 2
    paid = by_level.weight * costs
    contribution = paid / paid.sum() if paid.sum() > 0.0 else np.zeros(paid.size)
    reach = NormalDist().inv_cdf(0.5 + settings["confidence"] / 2.0) * gap_errors(contrast)
    thin = (by_level.counts < settings["min_cell"]).any(axis=1)
    groups = [str(group) for group in contrast.groups]

    def entry(k: int) -> LevelAudit:
        known = bool(np.isfinite(reach[k]))
        gap = float(by_level.gap[k])
        return LevelAudit(
            level=by_level.level[k],
            name=names[by_level.level[k]],
            rows=dict(zip(groups, by_level.counts[k].tolist(), strict=True)),
            weight=float(by_level.weight[k]),
            distance=float(by_level.distance[k]),
            null_distance=None if test is None else float(test.level_null_distance[k]),
            gap=gap,
            gap_interval=(gap - float(reach[k]), gap + float(reach[k])) if known else None,
            contribution=float(contribution[k]),
            p_value=None if test is None else float(test.level_p_values[k]),
            p_adjusted=None if test is None else float(test.level_adjusted[k]),
            thin=bool(thin[k]),
        )

    # The largest differences of tiny cells are mostly chance, so thin levels come last.
    ranking = np.lexsort((-contribution, thin))
    return tuple(entry(int(k)) for k in ranking)


def _thin_share(contrast: Contrast, min_cell: int) -> dict[str, float]:
    thin = contrast.support & (contrast.counts < min_cell).any(axis=1)
    shares = contrast.shares[thin].sum(axis=0)
    return dict(zip(map(str, contrast.groups), shares.tolist(), strict=True))


def _paradox(
    unconditional: Disparity,
    conditional: Disparity,
    test: PermutationTest | None,
    sized: Estimate | None,
) -> Paradox:
    """Whether looking at everybody would mislead (Simpson's paradox); only on clear evidence."""
    if test is None or sized is None or len(conditional.by_level) < 2 or test.p_value > 0.05:
        return "none"
    opposite = unconditional.gap * conditional.gap < 0.0
    if opposite and test.p_value_gap <= 0.05 and abs(unconditional.gap) > test.detectable / 2.0:
        return "reversed"
    return "masked" if unconditional.value < 0.5 * sized.interval[0] else "none"


def _distributions(contrast: Contrast, levels: tuple[LevelAudit, ...]) -> tuple[Distribution, ...]:
    """Histograms of the levels that contribute most, over the range of all scores."""
    cells = contrast.cells
    low, high = float(cells.atoms.values.min()), float(cells.atoms.values.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _HISTOGRAM_BINS + 1)
    position = {level: k for k, level in enumerate(cells.levels)}
    shown = []
    for entry in levels[:_SHOWN_LEVELS]:
        shares = {}
        for g, group in zip(contrast.positions, contrast.groups, strict=True):
            segment = position[entry.level] * len(cells.groups) + g
            part = slice(cells.atoms.offsets[segment], cells.atoms.offsets[segment + 1])
            counted, _ = np.histogram(
                cells.atoms.values[part], bins=edges, weights=cells.atoms.mass[part]
            )
            shares[str(group)] = tuple((counted / counted.sum()).tolist())
        shown.append(Distribution(entry.name, tuple(edges.tolist()), shares))
    return tuple(shown)


def contrast_dict(contrast: ContrastAudit) -> dict[str, Any]:
    """A contrast as plain values, with large tables cut down to what readers need.

    Parameters
    ----------
    contrast : of `examine`, or one of the contrasts of an audit.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.examination import contrast_dict
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> found = lfl.audit(load_loans(1000).frame, **roles, permutations=0)
    >>> contrast_dict(found.contrasts[0])["rows"]
    [500, 500]
    """
    test, nested = contrast.test, contrast.nested
    return {
        "groups": contrast.groups,
        "rows": contrast.conditional.by_level.counts.sum(axis=0).tolist(),
        "unconditional": {
            "value": contrast.unconditional.value,
            "gap": contrast.unconditional.gap,
            "rows": contrast.unconditional.by_level.counts.sum(axis=0).tolist(),
        },
        "conditional": {"value": contrast.conditional.value, "gap": contrast.conditional.gap},
        "estimate": None if contrast.estimate is None else asdict(contrast.estimate),
        "p_value": contrast.p_value,
        "test": None
        if test is None
        else {
            "p_value": test.p_value,
            "p_value_gap": test.p_value_gap,
            "null_distance": test.null_distance,
            "excess": contrast.conditional.value - test.null_distance,
            "detectable": test.detectable,
            "permutations": test.permutations,
        },
        "certificate": asdict(contrast.certificate),
        "paradox": contrast.paradox,
        "nested": None
        if nested is None
        else {
            "value": nested.value,
            "root": nested.root,
            "diagonal": nested.diagonal,
            "off_diagonal": nested.off_diagonal,
            "level_transport": nested.level_transport,
            "excess": nested.excess,
            "diagonal_mass": nested.diagonal_mass,
            "overlap": nested.overlap,
            "order": nested.order,
            "level_cost": nested.level_cost,
        },
        "coverage": contrast.coverage,
        "thin_share": contrast.thin_share,
        "excluded": contrast.excluded,
        "levels": [asdict(level) for level in contrast.levels],
        "distributions": [asdict(shown) for shown in contrast.distributions],
    }
