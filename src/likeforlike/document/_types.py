"""The document of an audit, the third narrow waist: plain values, each with its type.

`Audit.to_dict` makes it; the finding, the page, the JSON and the terminal are made of it and of
nothing else. Its types are the source of the published JSON schema, and what the docstrings below
say about an entry is what the schema says about it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypedDict

from likeforlike.disparity._measures import MeasureName
from likeforlike.document._convention_types import CategoryPart, ConventionsPart
from likeforlike.document._group_types import GroupPart, LossTestPart, LostPart
from likeforlike.document._kinds import (
    Amount,
    Count,
    Counts,
    Interval,
    Label,
    Limits,
    OpenInterval,
    Pair,
    Probability,
    Scalar,
)
from likeforlike.inference import Adjustment, Paradox

SCHEMA_VERSION: Final = 2
"""Version of the document; it rises when an entry changes meaning."""


class RolesPart(TypedDict):
    """Which column plays which part.

    Attributes
    ----------
    score : column of scores or decisions.
    sensitive : column whose values are the groups.
    legitimate : columns whose combinations are the levels; none means one level.
    weight : column of sample weights, or null.
    cluster : column that says which rows belong together, or null.
    also_sensitive : further sensitive columns; each was examined alone, and all of them crossed.
    """

    score: str
    sensitive: str
    legitimate: list[str]
    weight: str | None
    cluster: str | None
    also_sensitive: list[str]


class SettingsPart(TypedDict):
    """What was asked of the audit.

    Attributes
    ----------
    measure : how much each level counts; "given" for weights of the user's own.
    min_cell : levels with fewer rows of a group are called thin.
    min_coverage : the share of each group that must be compared for a verdict of "pass".
    permutations : of the test; 0 means that nothing was resampled.
    confidence : of intervals and certificate.
    adjustment : of p-values of many levels, step-down, Holm or Benjamini-Hochberg.
    reference : the group that all others were compared with, or that of each sensitive column;
        null if nobody chose one.
    random_state : seed of everything random.
    score_range : lowest and highest score there can be; null if nobody said.
    suppress_below : nothing is shown about fewer people than this: levels with a smaller cell are
        one entry, "other levels"; counts are multiples of it; averages are rounded to half their
        standard error. Null means that everything is shown.
    unit : of the scores; null if nobody said.
    preset : figures that were asked for beside the audit.
    smooth : numbers that people were compared along instead of being equal in them.
    windows : into how many windows at most; null leaves it to the rows.
    """

    measure: MeasureName | Literal["given"]
    min_cell: int
    min_coverage: Probability
    permutations: Count
    confidence: Probability
    adjustment: Adjustment
    reference: Scalar | dict[str, Scalar] | None
    random_state: int
    score_range: Interval | None
    suppress_below: Annotated[int, Limits(2)] | None
    unit: str | None
    preset: Literal["ll144"] | None
    smooth: list[str]
    windows: Count | None


class DataPart(TypedDict):
    """What the table held, and what was done to it.

    Attributes
    ----------
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

    rows: Count
    used: Count
    missing: dict[str, Count]
    lost: list[LostPart]
    loss_tests: list[LossTestPart]
    groups: list[GroupPart]
    nulls: dict[str, dict[str, Count]]
    values: dict[str, Count]
    edges: dict[str, list[float]]
    calendar: dict[str, str]
    engine: str
    resolution: Amount
    snapped: Count
    snapped_within: Amount
    notes: list[str]


class ProvenancePart(TypedDict):
    """Where the figures come from.

    Attributes
    ----------
    fingerprint : SHA-256 of the sorted scores, levels and groups, whatever the order of the rows;
        with suppress_below, salted with what only the auditor knows.
    versions : of likeforlike, Python and the libraries that compute.
    created : when, in coordinated universal time, as ISO 8601.
    """

    fingerprint: str
    versions: dict[str, str]
    created: str


class ThresholdPart(TypedDict):
    """The largest disparity that is allowed, for whom, and who said so.

    Attributes
    ----------
    value : in units of the score, or a percentage.
    of : what may not be larger, the distance among equals or the size of the gap.
    groups : the two groups it is for; null for all that have none of their own.
    set_by : who set it, or null.
    set_on : on which day, or null.
    percent : whether the value is a percentage: points of decisions and rates, else a share of the
        mean of the reference group, or of the larger one; the judgments have it in units.
    """

    value: Amount
    of: Literal["distance", "gap"]
    groups: Pair | None
    set_by: str | None
    set_on: str | None
    percent: bool


class JudgmentPart(TypedDict):
    """Two groups held against their threshold.

    Attributes
    ----------
    groups : their names; a single one if nobody could be compared with it.
    verdict : of these groups alone.
    threshold : the one that is for them, or null.
    interval : what it was compared with; no upper end is null, and so is what was not compared.
    reason : one sentence.
    """

    groups: list[str]
    verdict: Literal["pass", "fail", "investigate"]
    threshold: Amount | None
    interval: OpenInterval | None
    reason: str


class VerdictPart(TypedDict):
    """What somebody asked about a threshold, and the answer.

    Attributes
    ----------
    verdict : pass, every interval lies at or below; fail, one lies above; investigate, the evidence
        does not settle it.
    reasons : a sentence for every contrast that decided it, or could not be examined.
    thresholds : what was asked.
    judgments : every contrast by itself.
    policy : name of the file the thresholds are from; null if they were given directly.
    """

    verdict: Literal["pass", "fail", "investigate"]
    reasons: list[str]
    thresholds: Annotated[list[ThresholdPart], Limits(1)]
    judgments: Annotated[list[JudgmentPart], Limits(1)]
    policy: str | None


class FindingPart(TypedDict):
    """The finding in plain language.

    Attributes
    ----------
    headline : one sentence.
    sentences : the figures in words.
    cautions : what to keep in mind when reading them.
    """

    headline: str
    sentences: list[str]
    cautions: list[str]


class DisparityPart(TypedDict):
    """An average distance between the scores of two groups, as observed.

    Attributes
    ----------
    value : the distance, in units of the score.
    gap : mean of the second group minus that of the first.
    """

    value: Amount
    gap: float


class OverallPart(DisparityPart):
    """The disparity of everybody, whatever their level.

    Attributes
    ----------
    rows : of the first and of the second group, comparable or not.
    """

    rows: Counts


class GapPart(TypedDict):
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


class EstimatePart(TypedDict):
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


class TestPart(TypedDict):
    """The test of equal treatment inside the levels.

    Attributes
    ----------
    p_value : of all components together, for this contrast alone.
    method : how: "permutation" of labels within levels, or "design" for weights and for clusters
        that reach over levels.
    spoke : the component that says most against equal treatment; null if none says anything.
    components : the p-value of each component by itself.
    null_distance : what the average distance would be at equal treatment; null with "design".
    excess : average distance minus that; null with "design".
    detectable : a shift of every level that would be detected in 80% of samples like this one;
        null where it is not known.
    permutations : how many there were; 0 with "design".
    """

    p_value: Probability
    method: Literal["permutation", "design"]
    spoke: str | None
    components: dict[str, Probability]
    null_distance: Amount | None
    excess: float | None
    detectable: Amount | None
    permutations: Count


class OmnibusPart(TypedDict):
    """One test over all groups: whether any of them is treated differently inside the levels.

    Attributes
    ----------
    p_value : of the whole family.
    groups : how many groups were compared.
    """

    p_value: Probability
    groups: Count


class UnexaminedPart(TypedDict):
    """Groups that could not be compared with each other.

    Attributes
    ----------
    groups : their names; a single one if nobody could be compared with it.
    rows : of each.
    reason : why.
    columns : the sensitive columns that the groups are values of.
    """

    groups: list[str]
    rows: dict[str, Count]
    reason: str
    columns: list[str]


class CertificatePart(TypedDict):
    """Bounds on the average distance that hold for any sample size and any law.

    Attributes
    ----------
    lower : at least this much.
    upper : at most this much.
    confidence : of each of the two by itself.
    """

    lower: Amount
    upper: Amount
    confidence: Probability


class NestedPart(TypedDict):
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


class LevelPart(TypedDict):
    """What was found in one level.

    Attributes
    ----------
    level : its label, or the labels of its columns.
    name : how to call it in front of people.
    rows : of each group.
    weight : how much it counts; the weights of all levels sum to 1.
    distance : between the groups, as observed.
    null_distance : what the distance averages to at equal treatment; null if untested.
    gap : mean of the second group minus that of the first.
    gap_interval : lower and upper end; null where the data give none.
    contribution : share of the squared disparity that comes from this level.
    p_value : of this level alone; null if untested.
    p_adjusted : the same, adjusted for the number of levels.
    thin : whether a group has fewer rows than the setting min_cell.
    """

    level: Label
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


class DistributionPart(TypedDict):
    """Scores of both groups in one level, as histograms over the same bins.

    Attributes
    ----------
    level : name of the level.
    edges : of the bins, one more than there are bins.
    shares : of each group in every bin.
    """

    level: str
    edges: list[float]
    shares: dict[str, list[Amount]]


class WindowPart(TypedDict):
    """A window along a number: a level with a place.

    Attributes
    ----------
    level : its name among the levels, or among those excluded.
    category : the other legitimate features there; empty without any.
    low : the lowest number in it; null with suppress_below.
    high : the highest number in it; null with suppress_below.
    center : the number that scores were carried to.
    """

    level: str
    category: str
    low: float | None
    high: float | None
    center: float


class SmoothPart(TypedDict):
    """How the groups were compared along numbers.

    Attributes
    ----------
    columns : the numbers.
    method : carry along one number, or propensity along the estimated chance of belonging to the
        second group.
    units : what was compared: rows; numbers, each a level of its own; or units, rows with the same
        number as one, compared with those of nearly equal numbers.
    mixing : how often neighbors along the number are of different groups, compared with random
        order.
    shared : share of the rows that have exactly the number of a row of the other group.
    bandwidth : how far the mean score was smoothed, as a part of the whole scale.
    coordinate : along what it was smoothed.
    bins : into how many bins the number would usually have been cut; along several numbers the
        chance.
    confounding : distance with these bins minus distance carried; null if either is unknown.
    gap_confounding : the same for the gap.
    companion_p : p-value of the generalized covariance measure; null if nothing was resampled.
    jumps : numbers at which the mean score or the share of a group seems to jump.
    error : what bins of the engine may add to a distance, about; 0 for rows.
    windows : in the order of the number.
    explained : share of the variation of the group, and of the score, that several numbers and
        categories explain of rows left out; null along one number.
    boosted : the same of boosted trees; null if they were not tried.
    boosted_rows : rows that they were tried on.
    misfit : what they predict better beyond chance.
    """

    columns: Annotated[list[str], Limits(1)]
    method: Literal["carry", "propensity"]
    units: Literal["rows", "numbers", "units"]
    mixing: Amount
    shared: Amount
    bandwidth: Amount
    coordinate: Literal["none", "rank", "number"]
    bins: Count
    confounding: float | None
    gap_confounding: float | None
    companion_p: Probability | None
    jumps: list[float]
    error: Amount
    windows: list[WindowPart]
    explained: Annotated[list[float], Limits(2, 2)] | None
    boosted: Annotated[list[float], Limits(2, 2)] | None
    boosted_rows: Count
    misfit: list[Literal["group", "score"]]


class ContrastPart(TypedDict):
    """Two groups compared.

    Attributes
    ----------
    groups : their names; a positive gap means that the second scores higher.
    columns : the sensitive columns that the groups are values of; several if they are crossed.
    reference : the group that the other is compared with, if one was chosen.
    rows : of the first and of the second group in levels where both occur.
    unconditional : everybody, whatever their level.
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
    columns: list[str]
    reference: str | None
    rows: Counts
    unconditional: OverallPart
    conditional: DisparityPart
    gap: GapPart
    estimate: EstimatePart | None
    p_value: Probability | None
    p_extrapolated: bool
    test: TestPart | None
    certificate: CertificatePart | None
    paradox: Paradox
    compared_gap: float | None
    nested: NestedPart | None
    coverage: dict[str, Amount]
    thin_share: dict[str, Amount]
    excluded: dict[str, dict[str, Count]]
    levels: list[LevelPart]
    distributions: list[DistributionPart]
    smooth: SmoothPart | None


class AuditFigures(TypedDict):
    """All figures of an audit, before anything is said about them."""

    schema_version: Literal[2]
    roles: RolesPart
    settings: SettingsPart
    data: DataPart
    contrasts: Annotated[list[ContrastPart], Limits(1)]
    omnibus: OmnibusPart | None
    unexamined: list[UnexaminedPart]
    verdicts: list[VerdictPart]
    conventions: list[ConventionsPart]
    local_law_144: list[CategoryPart]
    provenance: ProvenancePart


class AuditDocument(AuditFigures):
    """The document of an audit, as `Audit.to_dict` makes it and `Audit.to_json` writes it.

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
    verdicts : every threshold that somebody asked about, and the answer, in that order.
    conventions : figures by convention, one part for each contrast in the same order.
    local_law_144 : the summary of New York City's Local Law 144; empty unless it was asked for.
    provenance : which data, which versions, when.
    finding : what the figures say.

    Examples
    --------
    >>> import json
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.document import AuditDocument
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> document: AuditDocument = json.loads(audit.to_json())
    >>> document["contrasts"][0]["rows"]
    [500, 500]
    """

    schema: Literal["likeforlike.audit"]
    finding: FindingPart
