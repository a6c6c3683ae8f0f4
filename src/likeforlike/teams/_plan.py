"""The plan of an audit without A: what the custodian is to count, and how to read the answer.

A plan holds what is public about the audit: the scores, the levels and how the levels are called.
With the custodian's noisy counts it becomes an audit, on the same page as any other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._text import figure
from likeforlike.auditing import (
    Audit,
    Evidence,
    Examination,
    TableCells,
    audit_document,
    drop_lower_limit,
    provenance,
    sort_contrasts,
)
from likeforlike.disparity import (
    Cells,
    Codes,
    Column,
    Disparity,
    LevelTable,
    encode_columns,
    find_float_noise,
    numbers,
    replace_scores,
)
from likeforlike.document import Distribution, LevelAudit, Roles, Settings, Unexamined
from likeforlike.errors import InputError
from likeforlike.inference import (
    HeadlineTest,
    adjust,
    bonferroni_confidence,
    check_confidence,
    normal_quantile,
)
from likeforlike.teams._files import texts
from likeforlike.teams._noisy import (
    Estimates,
    NoisyPair,
    NoisyTest,
    compare,
    estimate,
    parity_test,
    read_counts,
)
from likeforlike.teams._releases import Noise, Release
from likeforlike.teams._requests import CountsRequest
from likeforlike.teams._score_bins import ROWS_PER_BIN, ScoreBins, cut_scores


@dataclass(frozen=True, eq=False)
class AuditPlan:
    """What modelers know of an audit before the custodian has answered. `audit_plan` makes one.

    Attributes
    ----------
    request : for the custodian: a bin of the score inside its level for every row.
    bins : what is public about those bins.
    levels : labels of the K levels.
    score, sensitive, legitimate : names, for sentences and headings.

    Examples
    --------
    >>> from likeforlike.teams import audit_plan
    >>> plan = audit_plan([0.1, 0.4, 0.2, 0.9], ["low", "low", "high", "high"], [1, 2, 3, 4])
    >>> plan.levels, plan.request.n_codes
    (('high', 'low'), 4)
    """

    request: CountsRequest
    bins: ScoreBins = field(repr=False)
    levels: tuple[Hashable, ...]
    score: str
    sensitive: str
    legitimate: tuple[str, ...]

    def read(
        self,
        release: Release,
        *,
        confidence: float = 0.95,
        permutations: int = 999,
        random_state: int = 0,
    ) -> PlanAudit:
        """Read from the custodian's answer what it says about the scores.

        Parameters
        ----------
        release : the answer to `request`.
        confidence : of intervals, in (0, 1).
        permutations : how often labels are permuted for the test, at least 19.
        random_state : seed of deals and noise; the release is not changed by it.
        """
        release.check("counts", self.request.digest)
        known = read_counts(release, self.bins)
        pairs: list[NoisyPair | tuple[int, int]] = []
        for pair in combinations(range(len(release.groups)), 2):
            found = compare(self.bins, known, pair)
            pairs.append(pair if found is None else found)
        if not any(isinstance(pair, NoisyPair) for pair in pairs):
            raise InputError(
                "no level seems to hold enough rows of two groups to be compared under this noise; "
                "use coarser levels (--legitimate), or ask for a larger epsilon (--epsilon)."
            )
        return examine_pairs(self, release, pairs, confidence, permutations, random_state)


def level_name(level: Hashable, columns: Sequence[str]) -> str:
    """How to call a level in front of people: columns and their values."""
    values = level if isinstance(level, tuple) else (level,)
    if len(values) != len(columns):
        return " ".join(map(str, values))
    return ", ".join(f"{column} {value}" for column, value in zip(columns, values, strict=True))


def whole_counts(amounts: FloatArray) -> IntArray:
    """Whole numbers (..., J) whose running sums are those of amounts, rounded."""
    rounded = np.rint(np.cumsum(amounts, axis=-1))
    counts: IntArray = np.diff(rounded, axis=-1, prepend=0.0).astype(np.int64)
    return counts


_SHOWN_LEVELS = 6
_HISTOGRAM_BINS = 24
_FEWEST_DEALS = 19


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanAudit(Audit):
    """What noisy counts say about scores: an audit in whose intervals the custodian's noise is.

    It has all that an `Audit` has, and the same page. Distances are as they would be observed
    without the noise; rows of groups, coverage and the table of cells are noisy.

    Attributes
    ----------
    figures, evidence : as of `Audit`.
    epsilon : what the release may tell about one person.
    noise : its distribution.
    errors : {pair of groups: standard errors of the gap, from sampling and from noise}.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.teams import Custodian, Ledger, audit_plan
    >>> table = make_loans(20_000, gap=0.1).frame.with_row_index("id")
    >>> plan = audit_plan(table["score"], table["income"], table["id"], legitimate="income")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     book = Ledger(f"{folder}/a.ledger", epsilon=1.0, groups=["female", "male"])
    ...     release = Custodian.of_columns(table["id"], table["sex"], book).counts(
    ...         plan.request, epsilon=1.0
    ...     )
    >>> found = plan.read(release, permutations=99)
    >>> found.gate(0.05), found.noise["law"]
    ('fail', 'discrete Laplace')
    """

    epsilon: float
    noise: Noise
    errors: dict[tuple[str, str], tuple[float, float]]


def examine_pairs(
    plan: AuditPlan,
    release: Release,
    pairs: Sequence[NoisyPair | tuple[int, int]],
    confidence: float,
    permutations: int,
    seed: int,
) -> PlanAudit:
    """Audit a plan: examine every pair of groups, and put those that differ most first."""
    check_confidence(confidence)
    if isinstance(permutations, bool) or not permutations >= _FEWEST_DEALS:
        raise InputError(f"permutations must be {_FEWEST_DEALS} or more, not {permutations!r}.")
    compared = [pair for pair in pairs if isinstance(pair, NoisyPair)]
    each = bonferroni_confidence(confidence, len(compared))
    rngs = np.random.default_rng(seed).spawn(len(compared))
    found = [
        (pair, estimate(pair, each, rng), parity_test(pair, permutations, rng))
        for pair, rng in zip(compared, rngs, strict=True)
    ]
    adjusted = adjust(np.array([test.p_value for _, _, test in found]), "holm")
    examined = [
        _audit_pair(plan, release, pair, said, test, float(p_value), permutations)
        for (pair, said, test), p_value in zip(found, adjusted, strict=True)
    ]
    clear = [p_value <= 1.0 - confidence for p_value in adjusted.tolist()]
    examined = [
        contrast if differs else drop_lower_limit(contrast)
        for contrast, differs in zip(examined, clear, strict=True)
    ]
    errors = {
        contrast.groups: (said.sampling, said.noise)
        for contrast, (_, said, _) in zip(examined, found, strict=True)
    }
    evidence = Evidence(
        contrasts=tuple(sort_contrasts(examined, clear)),
        omnibus=None,
        unexamined=tuple(_apart(plan, release, pair) for pair in pairs if isinstance(pair, tuple)),
        roles=Roles(plan.score, plan.sensitive, plan.legitimate),
        settings=Settings(
            permutations=permutations, confidence=confidence, adjustment="holm", random_state=seed
        ),
        table=_table(plan, release),
        provenance=provenance(plan.request.digest),
        conventional=False,
    )
    return PlanAudit(
        audit_document(evidence),
        evidence,
        epsilon=release.epsilon,
        noise=release.noise,
        errors=errors,
    )


def _noise_words(release: Release, said: Estimates) -> str:
    """Describe the noise that every interval contains next to sampling error."""
    rows = f", up to {release.rows_per_person} rows a person" if release.rows_per_person > 1 else ""
    return (
        f"The custodian added noise to every count (epsilon = {release.epsilon:g}, discrete "
        f"Laplace of scale {release.noise['scale']}{rows}). It is in every interval and p-value: "
        f"the gap has the standard error {figure(said.gap.error)}, of which sampling alone would "
        f"be {figure(said.sampling)}. Rows of groups are noisy, too. Groups are counted in bins of "
        f"scores; intervals allow {figure(said.distance.rounding)} for where in their bins they "
        "lie."
    )


def _audit_pair(
    plan: AuditPlan,
    release: Release,
    pair: NoisyPair,
    said: Estimates,
    test: NoisyTest,
    p_value: float,
    permutations: int,
) -> Examination:
    reason = _noise_words(release, said)
    first, second = (release.groups[g] for g in pair.pair)
    conditional = _disparity(plan, pair, said.observed, (first, second))
    ranking = np.argsort(-pair.measure * said.observed**2, kind="stable")
    return Examination(
        groups=(first, second),
        unconditional=_overall(plan, pair, (first, second)),
        conditional=conditional,
        nested=None,
        gap=replace(said.gap, reason=reason),
        test=_headline(pair, test, permutations),
        estimate=replace(said.distance, reason=reason),
        p_value=p_value,
        certificate=None,
        paradox="none",
        levels=_plan_levels(plan, pair, said, test, ranking, (first, second)),
        coverage={str(group): share for group, share in conditional.coverage.items()},
        thin_share={first: 0.0, second: 0.0},
        excluded={
            level_name(level, plan.legitimate): {str(g): rows for g, rows in counts.items()}
            for level, counts in conditional.excluded.items()
        },
        distributions=_distributions(plan, pair, ranking, (first, second)),
        columns=(plan.sensitive,),
    )


def _headline(pair: NoisyPair, test: NoisyTest, permutations: int) -> HeadlineTest:
    leading_component = min(test.components, key=lambda name: test.components[name])
    return HeadlineTest(
        p_value=test.p_value,
        tail_p_value=test.p_value,
        leading_component="gap" if leading_component == "gap" else "distance",
        components={"gap": test.components["gap"], "distance": test.components["distance"]},
        method="permutation",
        level_p_values=test.levels,
        level_adjusted=adjust(test.levels, "holm"),
        null_distance=float(pair.measure @ test.null),
        level_null_distance=test.null,
        detectable=None,
        permutations=permutations,
    )


def _whole(totals: FloatArray) -> list[int]:
    """Noisy rows as rows are written: whole numbers, none below 0."""
    rows: list[int] = np.maximum(np.rint(totals), 0.0).astype(int).tolist()
    return rows


def _disparity(
    plan: AuditPlan, pair: NoisyPair, distances: FloatArray, groups: tuple[str, str]
) -> Disparity:
    """Σ Q W_1 without the noise, with coverage and what is left out as noisy counts tell them."""
    everywhere = plan.bins.by_level(pair.known.counts[list(pair.pair)])
    whole = np.maximum(everywhere, 0.0).sum(axis=1)
    covered = np.clip(pair.totals.sum(axis=1) / whole, 0.0, 1.0)
    kept = np.flatnonzero(pair.kept)
    counts = np.maximum(np.rint(pair.totals.T), 0.0).astype(np.int64)
    table = LevelTable(
        level=tuple(plan.levels[k] for k in kept),
        distance=distances,
        gap=pair.scores.gaps,
        weight=pair.measure,
        counts=counts,
        groups=groups,
    )
    return Disparity(
        value=float(pair.measure @ distances),
        gap=float(pair.measure @ pair.scores.gaps),
        groups=groups,
        distance="wasserstein",
        order=1.0,
        p=1.0,
        measure="marginal",
        by_level=table,
        coverage=dict(zip(groups, covered.tolist(), strict=True)),
        excluded={
            plan.levels[k]: dict(zip(groups, _whole(everywhere[:, k]), strict=True))
            for k in np.flatnonzero(~pair.kept)
        },
    )


def _overall(plan: AuditPlan, pair: NoisyPair, groups: tuple[str, str]) -> Disparity:
    """W_1 of all rows, whatever their level. With all rows, noise hardly adds to it."""
    counts, bins = pair.known.counts[list(pair.pair)], plan.bins
    order = np.argsort(bins.places, kind="stable")
    shares = bins.spread(counts / counts.sum(axis=1, keepdims=True))
    heights = np.cumsum((shares[0] - shares[1])[order])
    steps = np.diff(bins.places[order], append=bins.places[order][-1:])
    value, gap = float(np.abs(heights) @ steps), float((shares[1] - shares[0]) @ bins.places)
    table = LevelTable(
        level=("all",),
        distance=np.array([value]),
        gap=np.array([gap]),
        weight=np.ones(1),
        counts=np.maximum(np.rint(counts.sum(axis=1)), 0.0).astype(np.int64)[None],
        groups=groups,
    )
    one: dict[Hashable, float] = dict.fromkeys(groups, 1.0)
    return Disparity(value, gap, groups, "wasserstein", 1.0, 1.0, "marginal", table, one, {})


def _plan_levels(
    plan: AuditPlan,
    pair: NoisyPair,
    said: Estimates,
    test: NoisyTest,
    ranking: IntArray,
    groups: tuple[str, str],
) -> tuple[LevelAudit, ...]:
    paid = pair.measure * said.observed**2
    contribution = paid / paid.sum() if paid.sum() > 0.0 else np.zeros(paid.size)
    reach = normal_quantile(0.5 + said.gap.confidence / 2.0) * np.sqrt(pair.scores.variances)
    adjusted, kept = adjust(test.levels, "holm"), np.flatnonzero(pair.kept)

    def entry(k: int) -> LevelAudit:
        level, gap = plan.levels[kept[k]], float(pair.scores.gaps[k])
        return LevelAudit(
            level=level,
            name=level_name(level, plan.legitimate),
            rows=dict(zip(groups, _whole(pair.totals[:, k]), strict=True)),
            weight=float(pair.measure[k]),
            distance=float(said.observed[k]),
            null_distance=float(test.null[k]),
            gap=gap,
            gap_interval=(gap - float(reach[k]), gap + float(reach[k])),
            contribution=float(contribution[k]),
            p_value=float(test.levels[k]),
            p_adjusted=float(adjusted[k]),
            thin=False,
        )

    return tuple(entry(int(k)) for k in ranking)


def _distributions(
    plan: AuditPlan, pair: NoisyPair, ranking: IntArray, groups: tuple[str, str]
) -> tuple[Distribution, ...]:
    """Histograms of the levels that contribute most; what noise took below 0 is drawn as 0."""
    bins, kept = pair.bins, np.flatnonzero(pair.kept)
    low, high = float(bins.places.min()), float(bins.places.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _HISTOGRAM_BINS + 1)
    masses = np.maximum(bins.spread(pair.counts), 0.0)
    shown = []
    for k in ranking[:_SHOWN_LEVELS].tolist():
        inside = bins.part_level == k
        drawn = [
            np.histogram(bins.places[inside], edges, weights=side[inside])[0] for side in masses
        ]
        shares = {
            group: tuple((side / side.sum()).tolist())
            for group, side in zip(groups, drawn, strict=True)
        }
        name = level_name(plan.levels[kept[k]], plan.legitimate)
        shown.append(Distribution(name, tuple(edges.tolist()), shares))
    return tuple(shown)


def _apart(plan: AuditPlan, release: Release, pair: tuple[int, int]) -> Unexamined:
    """Two groups that have no level with enough rows of both."""
    counts = read_counts(release, plan.bins).counts[list(pair)].sum(axis=1)
    groups = (release.groups[pair[0]], release.groups[pair[1]])
    rows = dict(zip(groups, _whole(counts), strict=True))
    reason = "no level seems to hold enough rows of both under this noise."
    return Unexamined(groups, rows, reason, (plan.sensitive,))


def _table(plan: AuditPlan, release: Release) -> TableCells:
    """Describe the data for the page; the cells are noisy counts, as whole numbers."""
    bins, known = plan.bins, read_counts(release, plan.bins)
    counts = whole_counts(np.maximum(bins.spread(known.counts), 0.0))
    size = bins.places.size
    cells = Cells.from_codes(
        Codes(np.tile(bins.part_level, len(release.groups)), plan.levels),
        Codes(np.repeat(np.arange(len(release.groups)), size), release.groups),
        np.tile(bins.places, len(release.groups)),
        counts=counts.ravel(),
    )
    rows = len(plan.request.ids)
    return TableCells(
        cells=cells,
        level_names=tuple(level_name(level, plan.legitimate) for level in plan.levels),
        rows=rows,
        used=rows,
        missing={},
        edges={},
        engine="custodian",
    )


def audit_plan(
    scores: Column,
    legitimate_features: Column | None,
    ids: Column,
    *,
    rows_per_bin: int = ROWS_PER_BIN,
    score: str = "score",
    sensitive: str = "group",
    legitimate: str | Sequence[str] = (),
) -> AuditPlan:
    """Plan an audit of scores whose groups another team holds.

    Scores are cut into bins inside every level. The custodian counts the groups in these bins, with
    noise, and `AuditPlan.read` makes of it what an audit says: gap, distance, test, with the noise
    in every interval.

    Parameters
    ----------
    scores : (n,) finite numbers.
    legitimate_features : (n,) labels of the legitimate features, or several columns; `None` means
        one level.
    ids : (n,) by which the custodian knows the rows, each once.
    rows_per_bin : about how many rows make a bin.
    score, sensitive : what to call them in the report.
    legitimate : names of the columns of `legitimate_features`, for the report.

    Examples
    --------
    Both teams at one table; the loans have a disparity of 0.1 planted in them.

    >>> import tempfile
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.teams import Custodian, Ledger, audit_plan
    >>> loans = make_loans(20_000, gap=0.1).frame.with_row_index("id")
    >>> plan = audit_plan(loans["score"], loans["income"], loans["id"], legitimate="income")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/a.ledger", epsilon=1.0, groups=["female", "male"])
    ...     custodian = Custodian.of_columns(loans["id"], loans["sex"], ledger)
    ...     found = plan.read(custodian.counts(plan.request, epsilon=1.0))
    >>> abs(found.gap - 0.1) < 0.01, found.p_value
    (True, 0.001)
    """
    values = numbers(scores, "scores")
    values = replace_scores(values, changed) if (changed := find_float_noise(values)[0]) else values
    named = texts(ids, "ids")
    if len(named) != values.size:
        raise InputError(f"ids has {len(named)} row(s), but scores have {values.size}.")
    if isinstance(rows_per_bin, bool) or not rows_per_bin >= 1:
        raise InputError(f"rows_per_bin must be 1 or more, not {rows_per_bin!r}.")
    level = _levels(legitimate_features, values.size)
    bins, codes = cut_scores(values, level.codes, len(level.labels), int(rows_per_bin))
    columns = (legitimate,) if isinstance(legitimate, str) else tuple(legitimate)
    if legitimate_features is not None and not columns:
        columns = ("level",)
    request = CountsRequest(tuple(named), codes, bins.rows.size)
    return AuditPlan(request, bins, level.labels, score, sensitive, columns)


def _levels(levels: Column | None, size: int) -> Codes:
    if levels is None:
        return Codes(np.zeros(size, np.int64), ("all",))
    return encode_columns(levels, "levels", size)
