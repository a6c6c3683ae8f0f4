"""One call from a table to an audit: every contrast examined, those that differ most first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from likeforlike._settings import Adjustment, Engine, Measure
from likeforlike._text import values_hidden
from likeforlike.auditing._audit import Audit
from likeforlike.auditing._bins import Bins
from likeforlike.auditing._column_names import column_names, sensitive_columns
from likeforlike.auditing._comparisons import Chosen, Reference, chosen_contrasts, refuse_unfit
from likeforlike.auditing._contrast_audit import Examination, examine
from likeforlike.auditing._document_parts import audit_document
from likeforlike.auditing._evidence import Evidence
from likeforlike.auditing._group_rows import group_rows
from likeforlike.auditing._provenance import check_salt, provenance, salted
from likeforlike.auditing._smooth import (
    all_carried,
    carried_along,
    refuse_apart,
    unexamined_along,
)
from likeforlike.auditing._tables import TableCells, read_cells
from likeforlike.disparity._contrasts import Contrast, contrasts
from likeforlike.disparity._measures import check_measure
from likeforlike.document._request import Preset, Roles, Settings
from likeforlike.document._results import Unexamined
from likeforlike.errors import InputError
from likeforlike.files._csv import csv_options
from likeforlike.inference import adjust
from likeforlike.inference._contrast_test import groups_test
from likeforlike.inference._design_test import DesignTest
from likeforlike.inference._headline import HeadlineTest
from likeforlike.inference._omnibus import OmnibusTest


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
    random_state: int = 0,
    progress: Callable[[int], None] | None = None,
    engine: Engine = "auto",
    csv: Mapping[str, object] | None = None,
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
    first, *others = sensitive_columns(sensitive)
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
        smooth=along,
        windows=windows,
    )
    options = csv_options(csv)
    with values_hidden(hidden=suppress_below is not None):
        # No name is kept for the cells as they were read: scores may be rounded in others.
        return audit_cells(
            roles,
            settings,
            read_cells(
                data,
                roles,
                bins=bins,
                smooth=along,
                windows=windows,
                resolution=resolution,
                engine=engine,
                options=options,
            ),
            progress,
            salt,
        )


def audit_cells(
    roles: Roles,
    settings: Settings,
    table: TableCells,
    progress: Callable[[int], None] | None = None,
    salt: str | None = None,
) -> Audit:
    """Audit cells, wherever they come from."""
    salt = check_salt(salt, needed=settings.suppress_below is not None)
    if settings.unit is None and table.unit is not None:
        settings = replace(settings, unit=table.unit)
    _refuse_together(settings)
    refuse_unfit(table.cells)
    table = table.without_float_noise()
    chosen, unexamined = chosen_contrasts(table.cells, roles, settings.reference, settings.min_cell)
    check_measure(table.cells, settings.measure)
    with ThreadPoolExecutor(1) as pool:
        # Hashing takes a while and leaves the interpreter alone.
        mark = pool.submit(lambda: table.cells.fingerprint)
        looked_at = [
            _examined(each, table, roles, settings, len(chosen), progress) for each in chosen
        ]
    examined = [each for each in looked_at if isinstance(each, Examination)]
    apart = [each for each in looked_at if isinstance(each, Unexamined)]
    if not examined:
        refuse_apart(apart[0])
    omnibus = None if roles.also_sensitive else _omnibus(table, settings, progress)
    evidence = Evidence(
        contrasts=_ranked(examined, settings.confidence, omnibus, len(table.cells.groups)),
        omnibus=omnibus,
        unexamined=(*unexamined, *apart),
        roles=roles,
        settings=settings,
        table=table,
        provenance=provenance(salted(mark.result(), salt), salt),
        groups=group_rows(table, roles, chosen, examined),
    )
    if evidence.disclosure is not None:
        evidence.disclosure.refuse_nothing()
    return Audit(audit_document(evidence), evidence)


def _refuse_together(settings: Settings) -> None:
    """Refuse figures that would give small groups away."""
    if settings.suppress_below is not None and settings.preset is not None:
        raise InputError(
            f"suppress_below and preset={settings.preset!r} do not go together: the law asks for "
            "the counts of every category. Leave one of them out."
        )


def _examined(
    chosen: Chosen,
    table: TableCells,
    roles: Roles,
    settings: Settings,
    family: int,
    progress: Callable[[int], None] | None,
) -> Examination | Unexamined:
    """Two groups as they are in the cells, or carried along a number unless they lie apart."""
    if table.lines is None:
        return examine(chosen, table, settings, family=family, progress=progress)
    groups, seed = chosen.contrast.groups, settings.random_state
    carried = carried_along(table.lines, roles, chosen.columns, groups, seed)
    if (apart := unexamined_along(carried, chosen.columns)) is not None:
        return apart
    return examine(chosen, table, settings, carried=carried, family=family, progress=progress)


def _omnibus(
    table: TableCells, settings: Settings, progress: Callable[[int], None] | None
) -> OmnibusTest | None:
    """One test over all groups, where there are more than two."""
    if len(table.cells.groups) < 3 or not settings.permutations:
        return None
    together: Contrast | None = contrasts(table.cells, "barycenter")[0]
    if table.lines is not None:
        together = all_carried(table.lines, settings.random_state)
    if together is None:
        return None
    return groups_test(
        together,
        permutations=settings.permutations,
        random_state=settings.random_state,
        progress=progress,
    )


def without_lower_end(contrast: Examination) -> Examination:
    """A distance may be 0 where the test does not reject parity.

    The test is exact, and the lower end is not: of many small groups of skewed scores it says too
    often that they differ. The interval only becomes longer.
    """
    estimate = contrast.estimate
    if estimate is None or estimate.interval[0] <= 0.0:
        return contrast
    return replace(contrast, estimate=replace(estimate, interval=(0.0, estimate.interval[1])))


def order_contrasts(examined: Sequence[Examination], found: Sequence[bool]) -> list[Examination]:
    """Put contrasts that were found to differ first, those with the largest gap before others.

    By nothing that another seed would change, as long as it finds the same.
    """

    def place(number: int) -> tuple[bool, float, float]:
        gap = examined[number].gap
        low, high = gap.interval
        return not found[number], -abs(gap.value), -max(0.0, low, -high)

    return [examined[number] for number in sorted(range(len(examined)), key=place)]


def _ranked(
    examined: list[Examination], confidence: float, omnibus: OmnibusTest | None, groups: int
) -> tuple[Examination, ...]:
    """Adjust p-values for several contrasts, and put those that differ most first."""
    tests = [contrast.test for contrast in examined if contrast.test is not None]
    found = [False] * len(examined)
    if tests and len(tests) == len(examined):
        adjusted = _adjusted(tests, omnibus, groups)
        if len(examined) > 1:
            examined = [
                replace(each, p_value=p) for each, p in zip(examined, adjusted, strict=True)
            ]
        found = [p <= 1.0 - confidence for p in adjusted]
        examined = [
            each if clear else without_lower_end(each)
            for each, clear in zip(examined, found, strict=True)
        ]
    return tuple(order_contrasts(examined, found))


def _adjusted(
    tests: Sequence[HeadlineTest | DesignTest], omnibus: OmnibusTest | None, groups: int
) -> list[float]:
    """p-values of the contrasts that hold together, after one test of all groups if there is one.

    No two groups are said to differ unless all groups together do: then nothing is said of equal
    groups in more than 5% of audits, however many ways there are to say it. Of three groups two
    that are equal leave one difference to be found, so that no further adjustment is needed
    (Shaffer 1986); of more, Holm's is.
    """
    # Permutations alone could not tell many contrasts from chance, however clear they are.
    tails = np.array(
        [test.tail_p_value if isinstance(test, HeadlineTest) else test.p_value for test in tests]
    )
    if omnibus is None or len(tests) < 2:
        return [float(p) for p in adjust(tails, "holm")]
    alone = tails if groups == 3 else adjust(tails, "holm")
    # Where no permutation reaches it, the test of all groups is as clear as it can be.
    least = omnibus.p_value if omnibus.p_value * (omnibus.permutations + 1) > 1.5 else 0.0
    return [max(float(p), least) for p in alone]
