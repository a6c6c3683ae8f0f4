"""One call from a table to an audit: every contrast examined, those that differ most first.

`audit` collects what was asked and reads the cells; `audit_cells` selects contrasts, examines each
of them, adjusts p-values and sorts; `audit_document` declares what readers get to see. Fingerprints
of data are hashed with a salt where others must not try out which data have them;
`read_or_create_salt` keeps it in a file that only its owner can read.
"""

from __future__ import annotations

import hmac
import math
import os
import platform
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from likeforlike._settings import Adjustment, Engine, Measure
from likeforlike._text import figure, values_hidden
from likeforlike.auditing._audit import Audit
from likeforlike.auditing._comparisons import (
    Reference,
    check_scores,
    missingness_tests,
    select_contrasts,
)
from likeforlike.auditing._contrast_audit import Examination, audit_contrast
from likeforlike.auditing._evidence import Evidence, group_rows
from likeforlike.auditing._findings import finding
from likeforlike.auditing._reading import Bins
from likeforlike.auditing._smooth import find_separation, map_all_groups, map_contrast
from likeforlike.auditing._tables import TableCells, read_cells
from likeforlike.classical import is_decision
from likeforlike.disparity import Cells, Contrast, check_measure, contrasts
from likeforlike.document import (
    SCHEMA_VERSION,
    AuditDocument,
    ContrastAudit,
    DataSummary,
    EstimateResult,
    Favorable,
    Finding,
    GapResult,
    NestedResult,
    ObservedDisparity,
    OmnibusResult,
    OverallDisparity,
    ParityTest,
    Preset,
    Provenance,
    Roles,
    ScoreKind,
    Settings,
    Unexamined,
    spoken,
)
from likeforlike.errors import InputError
from likeforlike.files import csv_options, is_currency
from likeforlike.inference import HeadlineTest, OmnibusTest, adjust, joint_parity_test

_SHORTEST_SALT, _LONGEST_FILE = 16, 4096


def audit(
    data: Any,  # noqa: ANN401
    *,
    score: str,
    sensitive: str | Sequence[str],
    legitimate: str | Sequence[str] | None = (),
    weight: str | None = None,
    cluster: str | None = None,
    bins: Bins | None = None,
    smooth: str | Sequence[str] | None = None,
    windows: int | None = None,
    measure: Measure = "marginal",
    min_cell: int = 20,
    min_coverage: float = 0.5,
    resolution: float | None = None,
    permutations: int = 999,
    confidence: float = 0.95,
    adjustment: Adjustment = "step-down",
    reference: Reference | None = None,
    score_range: tuple[float, float] | None = None,
    suppress_below: int | None = None,
    salt: str | None = None,
    unit: str | None = None,
    preset: Preset | None = None,
    kind: ScoreKind | None = None,
    favorable: Favorable | None = None,
    labels: Mapping[str, str] | None = None,
    title: str | None = None,
    about: Mapping[str, str] | None = None,
    random_state: int = 0,
    progress: Callable[[int], None] | None = None,
    engine: Engine = "auto",
    csv: Mapping[str, object] | None = None,
    by: str | Mapping[str, str] | None = None,
) -> Audit:
    """Audit the scores in a table for conditional demographic parity.

    Parameters
    ----------
    data : pandas, polars (eager or lazy), pyarrow, DuckDB relation, PySpark DataFrame, or a path
        to a .csv, .tsv (also with .gz behind it), .parquet or .xlsx file. A path is a name, never a
        pattern, and so are names of columns.
    score : column of scores or decisions. They must come from a model that has not seen these
        rows.
    sensitive : column whose values are the groups, or several of them. Each of several is examined
        alone and all of them crossed, in one family of contrasts with p-values and intervals that
        hold together. Rows that lack one of them count in the others.
    legitimate : columns whose combinations are the levels. With the target among them this is
        an audit of equalized odds.
    weight : column of sample weights; they may depend on the score.
    cluster : column that says which rows belong together, such as a person with several rows.
    bins : {column: how many} legitimate columns to be cut at quantiles, or {column: edges} to be
        cut there; a value equal to an edge lies below it. Dates are numbers along time, and are
        cut by the calendar with "month", "quarter" or "year".
    smooth : columns of numbers, legitimate by being named here, along which people are compared
        with those who are nearly equal: scores are carried to the centers of windows first, so
        that the width of a window adds nothing. Other legitimate columns are categories; with
        several numbers the disparity is a lower bound.
    windows : into how many windows a number is cut at most; `None` means max(4, n^(1/3)).
    measure : Q, how much each level counts.
    min_cell : levels with fewer rows of a group are called thin; they are kept and marked.
    min_coverage : the share of each group that must be compared for a verdict of "pass".
    resolution : width of the bins of scores, for data that should stay in its engine; `None`
        keeps scores exact. Gaps stay those of the rows; intervals of distances allow for it.
    permutations : of the test; 0 leaves out everything that needs resampling.
    confidence : of intervals and certificate.
    adjustment : of p-values of many levels: `"step-down"` from the same permutations, `"holm"`, or
        `"bh"` for the false discovery rate.
    reference : with more than two groups, compare all others with this one; `None` compares
        every two, of at most 20 groups. With several sensitive columns it is {column: group}, and
        the largest group takes the place of one that is not named.
    score_range : lowest and highest score there can be, such as (0, 1) for probabilities. With it
        the audit has a certificate, bounds that hold for any sample size.
    suppress_below : the document, and with it the page, the JSON, the text and the pictures, shows
        nothing about fewer people than this: small levels are put together, counts and averages are
        rounded, and the fingerprint is salted. 10 is usual; `None` shows everything.
    salt : of the fingerprint, a text that only the auditor has; with `suppress_below` a new one is
        made if there is none, and is in `provenance.salt`.
    unit : of the scores, such as `"EUR"`; sentences, page and terminal then write it.
    preset : `"ll144"` adds the summary of New York City's Local Law 144.
    kind : what scores are, for words and units: "decision" (0 and 1), "probability" (0 to 1; both
        are given in points of 100), "rating", "money" or "other"; `None` reads it off the values
        and the unit.
    favorable : which scores are the good ones, "high" or "low"; sentences then start with those
        who are worse off.
    labels : {column or value: words}, such as `{"f": "women", "approved": "loan approved"}`: how
        sentences and page call it. `"sex=0"` is the value 0 of that column alone.
    title : of the page.
    about : what a record of the audit says besides: {"model", "version", "owner", "purpose",
        "data", "date", "distributed", "measured_by", "accepted_by", "accepted_on": text}, as many
        of them as are known.
    random_state : seed; the same seed gives the same audit on any engine and machine.
    progress : called with the number of replicates done since the last call.
    engine : who opens a file, `"polars"`, `"duckdb"` or `"spark"`; `"auto"` is polars.
    csv : how a file is read where that is not found out: {"separator": ";"}, by default the one
        that splits the header into the columns; "encoding", such as "latin-1", by default UTF-8 or
        what the first bytes say; "null_values", texts that stand for a missing value in addition to
        nothing and the usual words (NA, N/A, ?, null, None, NaN and the others that pandas knows);
        "usual_nulls": False, which takes those words for values; "decimal", the decimal mark of
        numbers in text, by default the one that fits all numbers of a column; "sheet" of an Excel
        file that has several.
    by : a column of periods, or {column of dates: "month", "quarter" or "year"}. The result is then
        the audit of all rows that holds one of each period, too, and a monitor: `PeriodAudits`.

    Notes
    -----
    A CSV file has no types, and none are guessed: score, weight and what is cut into bins are read
    as numbers; groups and levels are what is written, so that 01, 1 and 001 are three. Numbers in
    text may have separators of thousands, currencies and percent signs ("12,5 %" is 12.5), and a
    score may be yes and no, or true and false; the finding says how they were read.

    References
    ----------
    Ghassemi et al. (2025); the statistics are those of `likeforlike.inference`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> audit = lfl.audit(
    ...     make_loans(5000, gap=0.1).frame, score="score", sensitive="sex", legitimate="income"
    ... )
    >>> audit.gap_interval[0] < 0.1 < audit.gap_interval[1], audit.p_value
    (True, 0.001)
    """
    if by is not None:
        asked = {name: value for name, value in locals().items() if name not in ("data", "by")}
        # Periods stand above single audits, and know them.
        by_period: Audit = import_module("likeforlike.monitoring").audit_periods(data, by, **asked)
        return by_period
    first, *others = column_names(sensitive, "sensitive")
    along = column_names(smooth, "smooth")
    levels = column_names(legitimate, "legitimate")
    levels = (*levels, *(column for column in along if column not in levels))
    roles = Roles(score, first, levels, weight, cluster, tuple(others))
    settings = Settings(
        measure=measure,
        min_cell=min_cell,
        min_coverage=min_coverage,
        permutations=permutations,
        confidence=confidence,
        adjustment=adjustment,
        reference=reference,
        random_state=random_state,
        score_range=score_range,
        suppress_below=suppress_below,
        unit=unit,
        preset=preset,
        kind=kind,
        favorable=favorable,
        labels=labels or {},  # type: ignore[arg-type]  # checked there
        title=title,
        about=about or {},  # type: ignore[arg-type]  # checked there
        smooth=along,
        windows=windows,
    )
    read = partial(
        read_cells,
        data,
        bins=bins,
        smooth=along,
        windows=windows,
        resolution=resolution,
        engine=engine,
        options=csv_options(csv),
    )
    with values_hidden(hidden=suppress_below is not None):
        # No name is kept for the cells as they were read: scores may be rounded in others.
        return audit_cells(roles, settings, read(roles), progress, salt, read=read)


def column_names(columns: str | Sequence[str] | None, argument: str) -> tuple[str, ...]:
    """Return one column or several as a tuple; sensitive columns are one at least."""
    complaint = f"{argument} must be a column or a list of columns, not {columns!r}."
    try:
        columns = () if columns is None else columns
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        hash(names)  # what cannot be the name of a column often cannot be hashed, either
    except TypeError as error:
        raise InputError(complaint) from error
    if argument == "sensitive" and not names:
        raise InputError(complaint)
    return names


def audit_cells(
    roles: Roles,
    settings: Settings,
    table: TableCells,
    progress: Callable[[int], None] | None = None,
    salt: str | None = None,
    *,
    read: partial[TableCells] | None = None,
) -> Audit:
    """Audit cells, wherever they come from."""
    salt = check_salt(salt, needed=settings.suppress_below is not None)
    if settings.unit is None and table.unit is not None:
        settings = replace(settings, unit=table.unit)
    if settings.suppress_below is not None and settings.preset is not None:
        raise InputError(
            f"suppress_below and preset={settings.preset!r} do not go together: Local Law 144 asks "
            "for the counts of every category. Leave one of them out."
        )
    check_scores(table.cells)
    table = table.without_float_noise()
    cells, lines, seed = table.cells, table.lines, settings.random_state
    chosen, unexamined = select_contrasts(cells, roles, settings.reference, settings.min_cell)
    check_measure(cells, settings.measure)
    examined: list[Examination] = []
    apart: list[Unexamined] = []
    with ThreadPoolExecutor(1) as pool:
        # Hashing takes a while and leaves the interpreter alone.
        fingerprint = pool.submit(lambda: cells.fingerprint)
        for each in chosen:
            pair, columns, _ = each
            mapping = None
            if lines is not None:
                mapping = map_contrast(lines, roles, columns, pair.groups, seed)
                if (separation := find_separation(mapping, columns)) is not None:
                    apart.append(separation)
                    continue
            examined.append(
                audit_contrast(
                    each, table, settings, mapping=mapping, family=len(chosen), progress=progress
                )
            )
    if not examined:
        raise InputError(
            f"{' and '.join(apart[0].groups)} cannot be compared: {apart[0].reason} Name the place "
            "or person that rows belong to with cluster, cut the numbers into bins, or, if a file "
            "was counted by an engine, audit its rows."
        )
    omnibus = None if roles.also_sensitive else _test_all_groups(table, settings, progress)
    evidence = Evidence(
        contrasts=_sort_by_evidence(examined, settings.confidence, omnibus, len(cells.groups)),
        omnibus=omnibus,
        unexamined=(*unexamined, *apart),
        roles=roles,
        settings=settings,
        table=table,
        provenance=provenance(hash_with_salt(fingerprint.result(), salt), salt),
        groups=group_rows(table, roles, chosen, examined),
        read=read,
    )
    if evidence.disclosure is not None:
        evidence.disclosure.check_something_visible()
    return Audit(audit_document(evidence), evidence)


def _test_all_groups(
    table: TableCells, settings: Settings, progress: Callable[[int], None] | None
) -> OmnibusTest | None:
    """Test all groups at once, where there are more than two."""
    if len(table.cells.groups) < 3 or not settings.permutations:
        return None
    together: Contrast | None = contrasts(table.cells, "barycenter")[0]
    if table.lines is not None:
        together = map_all_groups(table.lines, settings.random_state)
    if together is None:
        return None
    return joint_parity_test(
        together,
        permutations=settings.permutations,
        random_state=settings.random_state,
        progress=progress,
    )


def _sort_by_evidence(
    examined: list[Examination], confidence: float, omnibus: OmnibusTest | None, groups: int
) -> tuple[Examination, ...]:
    """Adjust p-values for several contrasts, and put those that differ most first.

    No two groups are said to differ unless all groups together do, if there is one test of them:
    then nothing is said of equal groups in more than 5% of audits, however many ways there are to
    say it. Of three groups two that are equal leave one difference to be found, so that no further
    adjustment is needed (Shaffer 1986); of more, Holm's is.
    """
    tests = [contrast.test for contrast in examined if contrast.test is not None]
    if not tests or len(tests) < len(examined):
        return tuple(sort_contrasts(examined, [False] * len(examined)))
    # Permutations alone could not tell many contrasts from chance, however clear they are.
    tails = np.array(
        [test.tail_p_value if isinstance(test, HeadlineTest) else test.p_value for test in tests]
    )
    if omnibus is None or len(tests) < 2:
        p_values = adjust(tails, "holm")
    else:
        # Where no permutation reaches it, the test of all groups is as clear as it can be.
        least = omnibus.p_value if omnibus.p_value * (omnibus.permutations + 1) > 1.5 else 0.0
        p_values = np.maximum(tails if groups == 3 else adjust(tails, "holm"), least)
    found = [p <= 1.0 - confidence for p in p_values.tolist()]
    if len(examined) > 1:
        examined = [
            replace(each, p_value=p) for each, p in zip(examined, p_values.tolist(), strict=True)
        ]
    examined = [
        each if differs else drop_lower_limit(each)
        for each, differs in zip(examined, found, strict=True)
    ]
    return tuple(sort_contrasts(examined, found))


def drop_lower_limit(contrast: Examination) -> Examination:
    """Let a distance be 0 where the test does not reject parity.

    The test is exact, and the lower end is not: of many small groups of skewed scores it says too
    often that they differ. The interval only becomes longer.
    """
    estimate = contrast.estimate
    if estimate is None or estimate.interval[0] <= 0.0:
        return contrast
    return replace(contrast, estimate=replace(estimate, interval=(0.0, estimate.interval[1])))


def sort_contrasts(examined: Sequence[Examination], found: Sequence[bool]) -> list[Examination]:
    """Put contrasts that were found to differ first, those with the largest gap before others.

    By nothing that another seed would change, as long as it finds the same.
    """

    def place(number: int) -> tuple[bool, float, float]:
        gap = examined[number].gap
        low, high = gap.interval
        return not found[number], -abs(gap.value), -max(0.0, low, -high)

    return [examined[number] for number in sorted(range(len(examined)), key=place)]


def audit_document(evidence: Evidence) -> AuditDocument:
    """Make the document of an audit with its finding, and without figures by convention."""
    omnibus, table = evidence.omnibus, evidence.table
    document = AuditDocument(
        schema="likeforlike.audit",
        schema_version=SCHEMA_VERSION,
        roles=evidence.roles,
        settings=evidence.settings,
        data=DataSummary(
            kind=score_kind(table.cells, evidence.settings),
            rows=table.rows,
            used=table.used,
            missing=table.missing,
            lost=table.lost,
            loss_tests=missingness_tests(table.lost),
            groups=tuple(evidence.groups),
            nulls=table.nulls,
            values=table.values,
            edges=table.edges,
            calendar=table.calendar,
            engine=table.engine,
            resolution=float(table.cells.resolution),
            snapped=table.snapped,
            snapped_within=table.snapped_within,
            notes=tuple(table.notes),
        ),
        contrasts=tuple(contrast_figures(each) for each in evidence.contrasts),
        omnibus=None
        if omnibus is None
        else OmnibusResult(omnibus.p_value, len(table.cells.groups)),
        unexamined=tuple(evidence.unexamined),
        verdicts=(),
        classical=(),
        local_law_144=(),
        provenance=evidence.provenance,
        finding=Finding("", (), ()),
    )
    if evidence.disclosure is not None:
        document = evidence.disclosure.suppress(document)
    return replace(document, finding=finding(spoken(document, quoted=True)))


def score_kind(cells: Cells, settings: Settings) -> ScoreKind:
    """Read off the scores and their unit what kind of score they are, or take what is given."""
    kind, unit, (low, high) = settings.kind, settings.unit, cells.ends
    decided, share = is_decision(cells), low >= 0.0 and high <= 1.0
    if (kind == "decision" and not decided) or (kind == "probability" and not share):
        within = "must be 0 or 1" if kind == "decision" else "must lie between 0 and 1"
        raise InputError(
            f"kind={kind!r} says that scores {within}, but they go from {figure(low)} to "
            f"{figure(high)}; name another kind."
        )
    if kind is not None:
        return kind
    if unit is not None:
        return "money" if is_currency(unit) else "other"
    return "decision" if decided else "probability" if share else "other"


def contrast_figures(contrast: Examination) -> ContrastAudit:
    """Declare what readers see of a contrast."""
    overall, among_equals, nested = contrast.unconditional, contrast.conditional, contrast.nested
    first, second = among_equals.by_level.counts.sum(axis=0).tolist()
    all_first, all_second = overall.by_level.counts.sum(axis=0).tolist()
    test, gap, distance = contrast.test, contrast.gap, contrast.estimate
    known = gap.method != "none"
    permuted = test if isinstance(test, HeadlineTest) else None
    p_value, null = contrast.p_value, None if permuted is None else permuted.null_distance
    return ContrastAudit(
        groups=contrast.groups,
        columns=contrast.columns,
        reference=contrast.reference,
        rows=(first, second),
        unconditional=OverallDisparity(overall.value, overall.gap, (all_first, all_second)),
        conditional=ObservedDisparity(among_equals.value, among_equals.gap),
        gap=GapResult(
            value=gap.value,
            interval=gap.interval if known else None,
            confidence=gap.confidence,
            error=gap.error if known else None,
            method=gap.method,
            reason=gap.reason,
        ),
        estimate=None
        if distance is None
        else EstimateResult(
            value=distance.value,
            interval=(distance.interval[0], _finite(distance.interval[1])),
            confidence=distance.confidence,
            squared=_finite(distance.squared),
            distance="W1",
            replicated=min(distance.replicated, 1.0),
            reason=distance.reason,
            rounding=distance.rounding,
        ),
        p_value=p_value,
        # Whether it was continued below what its permutations could have counted.
        p_extrapolated=permuted is not None
        and p_value is not None
        and p_value * (permuted.permutations + 1) < 1.0 - 1e-9,
        test=None
        if test is None
        else ParityTest(
            p_value=test.p_value,
            method=test.method,
            leading_component=test.leading_component,
            components={str(name): p for name, p in test.components.items()},
            null_distance=null,
            excess=None if null is None else among_equals.value - null,
            detectable=None if permuted is None else permuted.detectable,
            permutations=0 if permuted is None else permuted.permutations,
        ),
        certificate=contrast.certificate,
        paradox=contrast.paradox,
        compared_gap=contrast.compared_gap,
        nested=None
        if nested is None
        else NestedResult(**{f.name: getattr(nested, f.name) for f in fields(NestedResult)}),
        coverage=contrast.coverage,
        thin_share=contrast.thin_share,
        excluded=contrast.excluded,
        levels=contrast.levels,
        distributions=contrast.distributions,
        smooth=contrast.smooth,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def provenance(data: str, salt: str | None = None) -> Provenance:
    """Describe where figures come from that are computed now from data with this fingerprint."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Provenance(data, dict(_versions()), created, salt)


@cache
def _versions() -> dict[str, str]:
    """Look up versions of what computes, which takes as long as a quarter of a small audit."""
    versions = {name: version(name) for name in ("likeforlike", "numpy", "numba")}
    return {**versions, "python": platform.python_version()}


def hash_with_salt(fingerprint: str, salt: str | None) -> str:
    """Hash a fingerprint with a salt as key (HMAC): others cannot try out which data have it."""
    if salt is None:
        return fingerprint
    return hmac.new(salt.encode(), fingerprint.encode(), "sha256").hexdigest()


def new_salt() -> str:
    """Make a salt that cannot be guessed: 256 bits, as 64 hexadecimal digits."""
    return secrets.token_hex(32)


def check_salt(salt: object, *, needed: bool) -> str | None:
    """Return the salt that was given, or a new one where one is needed and none was given."""
    if salt is None:
        return new_salt() if needed else None
    if not isinstance(salt, str) or len(salt.strip()) < _SHORTEST_SALT:
        raise InputError(
            f"salt must be a text of {_SHORTEST_SALT} letters or more, or it could be guessed; "
            "leave it out to have one made."
        )
    return salt.strip()


@contextmanager
def read_or_create_salt(path: Path) -> Iterator[str]:
    """Read the salt in a file; without one, make a file that only its owner can read.

    A file that was made is removed if what the salt is for is refused.
    """
    if path.exists():
        yield _read_salt(path)
        return
    salt = new_salt()
    try:
        # Only its owner may read it, and a file that has come meanwhile is not overwritten.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"the salt cannot be kept in {path}: {error}.") from error
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{salt}\n")
    try:
        yield salt
    except InputError:
        path.unlink(missing_ok=True)
        raise


def _read_salt(path: Path) -> str:
    """Read a salt from a file."""
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST_FILE + 1)
        if len(content) > _LONGEST_FILE:
            raise InputError(f"{path} is too large for a salt; was another file meant?")
        salt = content.decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a salt (--salt-file): {error}.") from error
    if not salt:
        raise InputError(f"{path} is empty; name a file that is not there to have a salt made.")
    return salt
