"""What an audit found, each result declared once.

`Audit` holds these; its JSON, the published JSON schema (`audit_schema`), its frames, the page and
the terminal are derived from them. What a docstring below says of an entry is what the schema says
of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from itertools import pairwise
from typing import Annotated, Final, Literal

from likeforlike.classical import BreslowDay, Category, MantelHaenszel, VanElteren
from likeforlike.document._plain import (
    PRIVATE,
    Amount,
    Count,
    Counts,
    Interval,
    Label,
    Limits,
    OpenInterval,
    Pair,
    Probability,
    entry,
    plain_label,
    restore,
)
from likeforlike.document._request import Roles, ScoreKind, Settings, Threshold
from likeforlike.errors import InputError
from likeforlike.inference import Certificate, Paradox
from likeforlike.sensitivity import Drivers, Sensitivity, Specifications

SCHEMA_VERSION: Final = 3
"""Version of the document; it rises when an entry changes meaning."""

Outcome = Literal["pass", "fail", "investigate"]
"""What a verdict says: the interval lies below the threshold, above it, or across it."""

SmoothMethod = Literal["carry", "propensity"]
SmoothUnit = Literal["rows", "numbers", "units"]
Coordinate = Literal["none", "rank", "number"]


@dataclass(frozen=True, slots=True)
class LostRows:
    """Rows of one group that were left out because a value is missing.

    Attributes
    ----------
    group : its name, or `None` for rows whose own group is not known.
    rows, lost : all of them, and those left out.
    columns : the sensitive columns that the group is a value of.
    """

    group: str | None
    rows: Count
    lost: Count
    columns: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of the group that was left out."""
        return self.lost / self.rows


@dataclass(frozen=True, slots=True)
class LossTest:
    """Whether some groups lost more of their rows than others: Pearson's χ².

    Attributes
    ----------
    columns : the sensitive columns of the groups.
    statistic, degrees : χ² and its degrees of freedom, the groups less one.
    p_value : of equal shares; rows whose group is not known do not count.
    """

    columns: tuple[str, ...]
    statistic: Amount
    degrees: Count
    p_value: Probability


@dataclass(frozen=True, slots=True)
class GroupRows:
    """Where the rows of one group are; those of all groups of a column add up to the table.

    Attributes
    ----------
    columns : the sensitive columns that the group is a value of; several if they are crossed.
    group : its name, or `None` for rows whose own group is not known.
    rows : all of them.
    compared : those in a comparison: their group is compared with another that is in their level.
    not_compared : those whose group, or whose level, could not be compared.
    missing : those that lack a value.
    """

    columns: tuple[str, ...]
    group: str | None
    rows: Count
    compared: Count
    not_compared: Count
    missing: Count


@dataclass(frozen=True, slots=True)
class Unexamined:
    """Groups that could not be compared with each other.

    Attributes
    ----------
    groups : their names; a single one if no row could be compared with it.
    rows : of each group.
    reason : why, as a sentence.
    columns : the sensitive columns that the groups are values of.
    """

    groups: tuple[str, ...]
    rows: dict[str, Count]
    reason: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """Scores of both groups in one level as histograms over the same bins.

    Attributes
    ----------
    level : name of the level.
    edges : of the bins, one more than there are bins.
    shares : of the weight of each group in every bin.
    """

    level: str
    edges: tuple[float, ...]
    shares: dict[str, tuple[Amount, ...]]

    @property
    def heights(self) -> dict[str, list[float]]:
        """Heights of bars such that areas compare: the shares, if all bins are alike."""
        widths = [right - left for left, right in pairwise(self.edges)]
        narrow, wide = min(widths), max(widths)
        # Edges as close or as far as numbers go have no widths to speak of.
        alike = not 0.0 < narrow <= wide < math.inf or wide <= narrow * (1.0 + 1e-6)
        scales = [1.0 if alike else narrow / width for width in widths]
        return {
            group: [share * scale for share, scale in zip(shares, scales, strict=True)]
            for group, shares in self.shares.items()
        }


@dataclass(frozen=True, slots=True)
class LevelAudit:
    """What was found in one level.

    Attributes
    ----------
    level, name : its label, and how to call it in front of people.
    rows : of each group.
    weight : Q(l).
    distance : W_1 between the groups.
    null_distance : what W_1 averages to at parity with cells of this size (`None` untested).
    gap, gap_interval : mean of the second group minus that of the first; the interval is `None`
        where the data give none.
    contribution : share of Σ Q W_1² that comes from this level.
    p_value, p_adjusted : of this level, before and after adjustment for many levels.
    thin : whether a cell has fewer than `min_cell` rows.
    """

    level: Hashable = field(metadata=entry(plain_label, Label))
    name: str
    rows: dict[str, Count]
    weight: Amount
    distance: Amount
    null_distance: Amount | None
    gap: float
    gap_interval: Interval | None
    contribution: Amount
    p_value: Probability | None
    p_adjusted: Probability | None
    thin: bool


@dataclass(frozen=True, slots=True)
class Window:
    """A point of the curve of the gap along a number.

    Attributes
    ----------
    level : name of the window among the levels.
    category : the other legitimate features there; empty without any.
    low, high : lowest and highest number in the window; `None` with `suppress_below`.
    center : the number that scores were carried to.
    """

    level: str
    category: str
    low: float | None
    high: float | None
    center: float


@dataclass(frozen=True, slots=True)
class Smooth:
    """How two groups were compared along numbers, and what bins would have made of it.

    Attributes
    ----------
    columns : the numbers.
    method : along one number, "carry"; along the estimated chance of belonging to the second group,
        "propensity", which stands for several numbers and categories. That and the score are
        predicted from them; if both predictions are right, the disparity is one among people who
        are equal in all of them.
    units : what was compared, in the category with most rows. "rows" where groups mix along the
        number. Where rows with nearly the same number are of one group, either "numbers", each a
        level of its own, or "units": rows with the same number, or of one cluster, count as one,
        and those of nearly equal numbers are compared.
    mixing : how often neighbors along the number are of different groups there, compared with
        random order: about 1 where groups mix, 0 where they lie apart.
    shared : share of the rows that have exactly the number of a row of the other group.
    bandwidth, coordinate : how the mean score was smoothed in the category with most rows: the
        half-width of the kernel as a part of the whole scale, and along what, the "rank" of the
        number, the "number" itself, or "none".
    confounding : distance with ten bins minus distance carried: what the width of bins would have
        added; `None` if either is unknown. Along several numbers they are bins of the estimated
        chance.
    gap_confounding : the same for the signed gap.
    companion_p : p-value of the generalized covariance measure, a second test that is hardly upset
        by jumps, and blind to differences that change sign along the number.
    jumps : numbers at which the mean score, or the share of a group, seems to jump.
    error : what bins of the engine may add to a distance, about; 0 for rows.
    bins : into how many bins a number would usually have been cut.
    windows : in the order of the number.
    explained : share of the variation of the group, and of the score, that several numbers and
        categories explain of rows left out; `None` along one number.
    boosted, boosted_rows : the same of boosted trees on the same folds, and on how many rows, at
        most 20,000; `None` along one number, without scikit-learn, or if nothing was tested.
    misfit : what boosted trees predict better beyond chance: "group", "score", or both.
    """

    columns: Annotated[tuple[str, ...], Limits(1)]
    method: SmoothMethod
    units: SmoothUnit
    mixing: Amount
    shared: Amount
    bandwidth: Amount
    coordinate: Coordinate
    bins: Count
    confounding: float | None
    gap_confounding: float | None
    companion_p: Probability | None
    jumps: tuple[float, ...]
    error: Amount
    windows: tuple[Window, ...]
    explained: Interval | None = None
    boosted: Interval | None = None
    boosted_rows: Count = 0
    misfit: tuple[Literal["group", "score"], ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where figures come from.

    Attributes
    ----------
    fingerprint : SHA-256 of the sorted scores, levels and groups that were measured. Neither the
        order of the rows nor the engine that held them changes it.
    versions : of likeforlike, Python and the libraries that compute.
    created : when, in coordinated universal time.
    salt : what the fingerprint was salted with, so that others cannot try out which data have it;
        `None` if it was not. It is not part of the document.
    """

    fingerprint: str
    versions: dict[str, str]
    created: str
    salt: str | None = field(default=None, repr=False, metadata=PRIVATE)


@dataclass(frozen=True, slots=True)
class Judgment:
    """Two groups held against their threshold.

    Attributes
    ----------
    groups : their names; a single one if no row could be compared with it.
    verdict : of these groups alone.
    reason : one sentence.
    threshold : the one that is for them, in units of the score; `None` if there is none.
    interval : what it was compared with; `None` where nothing could be, and where an end is open.
    """

    groups: tuple[str, ...]
    verdict: Outcome
    reason: str
    threshold: Amount | None = None
    interval: OpenInterval | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict and the reasons for it.

    Attributes
    ----------
    verdict : of all groups together.
    reasons : one sentence for every contrast that decided it, or could not be examined.
    judgments : every contrast by itself.
    thresholds : what was asked.
    policy : name of the file the thresholds are from; `None` if they were given directly.
    """

    verdict: Outcome
    reasons: tuple[str, ...]
    judgments: Annotated[tuple[Judgment, ...], Limits(1)]
    thresholds: Annotated[tuple[Threshold, ...], Limits(1)]
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class ClassicalLevel:
    """Figures of two groups in one level, or in all.

    Attributes
    ----------
    name : of the level.
    rows : of each group.
    mean : of each group; of decisions it is their rate.
    median : of each group.
    gap : mean of the group asked about minus that of the other.
    ratio : mean of the group asked about over that of the other; null where it cannot be had.
    ratio_interval : lower and upper end; null where the data give none.
    smd : the gap in standard deviations of both groups together; null if nothing varies.
    """

    name: str
    rows: dict[str, Count]
    mean: dict[str, float]
    median: dict[str, float]
    gap: float
    ratio: Amount | None
    ratio_interval: Interval | None
    smd: float | None


@dataclass(frozen=True, slots=True)
class ClassicalFigures:
    """Figures by convention of two groups.

    Attributes
    ----------
    groups : the group asked about and its reference: gaps are the first minus the
        second, ratios the first over the second.
    columns : the sensitive columns that the groups are values of.
    decisions : whether all scores are 0 or 1, so that means are rates.
    confidence : of each interval by itself.
    overall : figures of all rows, whatever their level.
    levels : figures of every level where both groups occur, in the order of the contrast.
    mantel_haenszel : null with weights or clusters.
    breslow_day : null for scores that are no decisions, and where fewer than two levels can differ.
    van_elteren : null with weights or clusters.
    wachter : conditional demographic disparity; null for scores that are no decisions.
    """

    groups: Pair
    columns: tuple[str, ...]
    decisions: bool
    confidence: Probability
    overall: ClassicalLevel
    levels: tuple[ClassicalLevel, ...]
    mantel_haenszel: MantelHaenszel | None
    breslow_day: BreslowDay | None
    van_elteren: VanElteren | None
    wachter: float | None


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What the table held, and what was done to it.

    Attributes
    ----------
    kind : what the scores are: all 0 or 1, numbers from 0 to 1, amounts in a currency, or others.
    rows : rows of the table.
    used : rows without a missing value in the columns named; of several sensitive columns a row
        may lack some.
    missing : how many values each of these columns lacks.
    lost : rows left out, by group; empty if no value is missing.
    loss_tests : whether groups differ in the share they lost; empty if no value is missing.
    groups : where the rows of every group are.
    nulls : words of a CSV file that were read as missing values, by column, and how often.
    values : how many different values each legitimate column of numbers has that was not cut.
    edges : inner edges of the bins of each column that was cut; a value on an edge lies below it.
    calendar : columns of dates, and how they were cut: by month, quarter or year, or as numbers, by
        day; edges of these are days since 1970.
    engine : who held the data.
    resolution : width of the bins that scores were rounded to; 0 means exact.
    snapped : how many different scores were taken for others that are nearly equal.
    snapped_within : up to which share of their range scores were taken as equal; 0 if none were.
    notes : how columns were read where that is not plain, one sentence each.
    """

    kind: ScoreKind
    rows: Count
    used: Count
    missing: dict[str, Count]
    lost: tuple[LostRows, ...]
    loss_tests: tuple[LossTest, ...]
    groups: tuple[GroupRows, ...]
    nulls: dict[str, dict[str, Count]]
    values: dict[str, Count]
    edges: dict[str, tuple[float, ...]]
    calendar: dict[str, str]
    engine: str
    resolution: Amount
    snapped: Count
    snapped_within: Amount
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding in plain language.

    Attributes
    ----------
    headline : one sentence.
    sentences : the figures in words.
    cautions : what to keep in mind when reading them.
    """

    headline: str
    sentences: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObservedDisparity:
    """An average distance between the scores of two groups, as observed.

    Attributes
    ----------
    value : the distance, in units of the score.
    gap : mean of the second group minus that of the first.
    """

    value: Amount
    gap: float


@dataclass(frozen=True, slots=True)
class OverallDisparity(ObservedDisparity):
    """The disparity of all rows, whatever their level.

    Attributes
    ----------
    rows : of the first and of the second group, comparable or not.
    """

    rows: Counts


@dataclass(frozen=True, slots=True)
class GapResult:
    """The signed gap among equals: which group scores higher, and by how much.

    Attributes
    ----------
    value : mean of the second group minus that of the first, averaged over the levels.
    interval : lower and upper end of its confidence interval; null where the data give none.
    confidence : nominal coverage of the interval; with several contrasts all hold together.
    error : standard error of the value; null where it cannot be known.
    method : where the interval comes from: "t" from means, "rates" for decisions, "none".
    reason : what a reader of the interval should know, or null.
    """

    value: float
    interval: Interval | None
    confidence: Probability
    error: Amount | None
    method: Literal["t", "rates", "none"]
    reason: str | None


@dataclass(frozen=True, slots=True)
class EstimateResult:
    """The conditional distance without its small-sample bias: the root of the mean square.

    Attributes
    ----------
    value : the estimate, in units of the score; null where most levels have single rows.
    interval : lower and upper end of its confidence interval; no upper end is null.
    confidence : nominal coverage of the interval; with several contrasts all hold together.
    squared : mean square without bias, so that it may be negative; null if it cannot be held.
    distance : what is squared and averaged.
    replicated : share of the measure in levels with two rows of each group or more.
    reason : what a reader of the interval should know, or null.
    rounding : what the interval allows for scores that were rounded to bins; 0 if they are exact.
    """

    value: Amount | None
    interval: OpenInterval
    confidence: Probability
    squared: float | None
    distance: Literal["W1"]
    replicated: Probability
    reason: str | None
    rounding: Amount


@dataclass(frozen=True, slots=True)
class ParityTest:
    """The test of equal treatment inside the levels.

    Attributes
    ----------
    p_value : of all components together, for this contrast alone.
    method : how: "permutation" of labels within levels, or "design" for weights and for clusters
        that reach over levels.
    leading_component : the component that says most against equal treatment; null if none says
        anything.
    components : the p-value of each component by itself.
    null_distance : what the average distance would be at equal treatment; null with "design".
    excess : average distance minus that; null with "design".
    detectable : a shift of every level that would be detected in 80% of samples like this one;
        null where it is not known.
    permutations : how many there were; 0 with "design".
    """

    p_value: Probability
    method: Literal["permutation", "design"]
    leading_component: str | None
    components: dict[str, Probability]
    null_distance: Amount | None
    excess: float | None
    detectable: Amount | None
    permutations: Count


@dataclass(frozen=True, slots=True)
class OmnibusResult:
    """One test over all groups: whether any of them is treated differently inside the levels.

    Attributes
    ----------
    p_value : of the whole family.
    groups : how many groups were compared.
    """

    p_value: Probability
    groups: Count


@dataclass(frozen=True, slots=True)
class NestedResult:
    """The bi-causal distance between two groups, and how it splits.

    Attributes
    ----------
    value : the distance to the power of its order; the sum of the three parts.
    root : the distance.
    diagonal : the part that arises among equals.
    off_diagonal : the part between people of different levels.
    level_transport : the part for changing level.
    excess : value minus what changing level costs at least.
    diagonal_mass : share of people who find a counterpart in their own level.
    overlap : the most that this share could be.
    order : of the distance.
    level_cost : what changing level costs.
    """

    value: Amount
    root: Amount
    diagonal: Amount
    off_diagonal: Amount
    level_transport: Amount
    excess: Amount
    diagonal_mass: Amount
    overlap: Amount
    order: float
    level_cost: Amount


@dataclass(frozen=True, slots=True)
class ContrastAudit:
    """Two groups compared.

    Attributes
    ----------
    groups : their names; a positive gap means that the second scores higher.
    columns : the sensitive columns that the groups are values of; several if they are crossed.
    reference : the group that the other is compared with, if one was chosen.
    rows : of the first and of the second group in levels where both occur.
    unconditional : all rows, whatever their level.
    conditional : among equals, as observed.
    gap : which group scores higher among equals, and by how much.
    estimate : how far apart they are among equals; null if nothing was resampled.
    p_value : of the test, adjusted if there are several contrasts; null if untested.
    p_extrapolated : whether it is smaller than permutations could have counted; page and terminal
        then tell what it lies below.
    test : null if nothing was resampled.
    certificate : what holds for any sample size; null unless the range of scores was given.
    paradox : whether a comparison of all who are compared hides or reverses the difference among
        equals.
    compared_gap : between all of them, whatever their level; null if it is not known.
    nested : null if there are more than 500 levels, and with suppress_below.
    coverage : share of each group that is compared: in levels where both occur, and without a
        missing value.
    thin_share : share of each group in thin levels.
    excluded : rows of each group in levels that hold one group only, by name of the level; in all
        of them together with suppress_below.
    levels : ranked by contribution, thin ones last.
    distributions : scores in the levels that contribute most.
    smooth : how they were compared along numbers; null without any.
    """

    groups: Pair
    columns: tuple[str, ...]
    reference: str | None
    rows: Counts
    unconditional: OverallDisparity
    conditional: ObservedDisparity
    gap: GapResult
    estimate: EstimateResult | None
    p_value: Probability | None
    p_extrapolated: bool
    test: ParityTest | None
    certificate: Certificate | None
    paradox: Paradox
    compared_gap: float | None
    nested: NestedResult | None
    coverage: dict[str, Amount]
    thin_share: dict[str, Amount]
    excluded: dict[str, dict[str, Count]]
    levels: tuple[LevelAudit, ...]
    distributions: tuple[Distribution, ...]
    smooth: Smooth | None


@dataclass(frozen=True, slots=True)
class AuditDocument:
    """Everything an audit found, as it is written to JSON.

    Attributes
    ----------
    schema : what kind of document this is.
    schema_version : rises when an entry changes meaning.
    roles : which column plays which part.
    settings : what was asked.
    data : what the table held.
    contrasts : every two groups compared: those found to differ first, the largest gap first.
    omnibus : one test over all groups; null with two groups, with several sensitive columns, or if
        untested.
    unexamined : groups that could not be compared.
    verdicts : every threshold that was asked about, and the answer, in that order.
    classical : figures by convention, one part for each contrast in the same order.
    local_law_144 : the summary of New York City's Local Law 144; empty unless it was asked for.
    provenance : which data, which versions, when.
    finding : what the figures say.
    sensitivity : what an omitted feature would have to be like, for each contrast; empty unless it
        was asked for.
    specifications : the comparison with other legitimate columns; null unless it was asked for.
    drivers : which inputs carry the disparity; null unless it was asked for.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> audit.document.contrasts[0].rows, audit.document.schema
    ((500, 500), 'likeforlike.audit')
    """

    schema: Literal["likeforlike.audit"]
    schema_version: Literal[3]
    roles: Roles
    settings: Settings
    data: DataSummary
    contrasts: Annotated[tuple[ContrastAudit, ...], Limits(1)]
    omnibus: OmnibusResult | None
    unexamined: tuple[Unexamined, ...]
    verdicts: tuple[Verdict, ...]
    classical: tuple[ClassicalFigures, ...]
    local_law_144: tuple[Category, ...]
    provenance: Provenance
    finding: Finding
    sensitivity: tuple[Sensitivity, ...] = ()
    specifications: Specifications | None = None
    drivers: Drivers | None = None


def read_document(text: str) -> AuditDocument:
    """Read a document from its JSON."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InputError(f"this is not JSON: {error}.") from error
    return as_document(values)


def as_document(values: object) -> AuditDocument:
    """Read a document from plain values, as JSON gives them; a document stays as it is."""
    if isinstance(values, AuditDocument):
        return values
    if not isinstance(values, Mapping) or values.get("schema") != "likeforlike.audit":
        raise InputError("this JSON is not the document of an audit.")
    if values.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            f"the document has schema version {values.get('schema_version')!r}, but this version "
            f"of likeforlike reads {SCHEMA_VERSION}; audit again."
        )
    document: AuditDocument = restore(AuditDocument, values)
    return document


SCHEMA_FILE = "likeforlike.audit.schema.json"
"""Its name in the package; `tools/schema.py` writes it."""


def audit_schema() -> str:
    """Return the document's JSON schema (draft 2020-12), as `likeforlike schema` prints it.

    Examples
    --------
    >>> import json
    >>> from likeforlike.document import audit_schema
    >>> json.loads(audit_schema())["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    return (resources.files("likeforlike.document") / SCHEMA_FILE).read_text("utf-8")
