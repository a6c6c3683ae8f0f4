"""From what an audit computed to its document: large tables cut down to what readers need."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from likeforlike._arrays import IntArray
from likeforlike.auditing._findings import finding
from likeforlike.auditing._missing import loss_tests
from likeforlike.classical._cell_figures import is_decision
from likeforlike.disparity._cdd_lp import Disparity
from likeforlike.disparity._cdd_wass import NestedDisparity
from likeforlike.disparity._cells import Cells
from likeforlike.document._names import named_groups, spoken_groups
from likeforlike.document._results import (
    SCHEMA_VERSION,
    AuditDocument,
    ContrastAudit,
    DataSummary,
    EstimateResult,
    Finding,
    GapResult,
    NestedResult,
    ObservedDisparity,
    OmnibusResult,
    OverallDisparity,
    ParityTest,
    ScoreKind,
)
from likeforlike.files._number_texts import is_currency
from likeforlike.inference._design_test import DesignTest
from likeforlike.inference._distance import DistanceEstimate
from likeforlike.inference._gap import Gap
from likeforlike.inference._headline import HeadlineTest

if TYPE_CHECKING:
    from likeforlike.auditing._contrast_audit import Examination
    from likeforlike.auditing._evidence import Evidence

_NOTHING_SAID = Finding("", (), ())


def audit_document(evidence: Evidence) -> AuditDocument:
    """The document of an audit with its finding, and without figures by convention."""
    omnibus, table = evidence.omnibus, evidence.table
    document = AuditDocument(
        schema="likeforlike.audit",
        schema_version=SCHEMA_VERSION,
        roles=evidence.roles,
        settings=evidence.settings,
        data=_data(evidence),
        contrasts=tuple(contrast_figures(each) for each in evidence.contrasts),
        omnibus=None
        if omnibus is None
        else OmnibusResult(omnibus.p_value, len(table.cells.groups)),
        unexamined=tuple(evidence.unexamined),
        verdicts=(),
        classical=(),
        local_law_144=(),
        provenance=evidence.provenance,
        finding=_NOTHING_SAID,
    )
    if evidence.disclosure is not None:
        document = evidence.disclosure.figures(document)
    return replace(document, finding=finding(spoken_groups(named_groups(document))))


def contrast_figures(contrast: Examination) -> ContrastAudit:
    """What readers see of a contrast."""
    overall, among_equals = contrast.unconditional, contrast.conditional
    test, distance, nested = contrast.test, contrast.estimate, contrast.nested
    return ContrastAudit(
        groups=contrast.groups,
        columns=contrast.columns,
        reference=contrast.reference,
        rows=_rows(among_equals.by_level.counts),
        unconditional=_overall(overall),
        conditional=ObservedDisparity(among_equals.value, among_equals.gap),
        gap=_gap(contrast.gap),
        estimate=None if distance is None else _estimate(distance),
        p_value=contrast.p_value,
        p_extrapolated=_is_extrapolated(contrast),
        test=None if test is None else _test(test, among_equals.value),
        certificate=contrast.certificate,
        paradox=contrast.paradox,
        compared_gap=contrast.compared_gap,
        nested=None if nested is None else _nested(nested),
        coverage=contrast.coverage,
        thin_share=contrast.thin_share,
        excluded=contrast.excluded,
        levels=contrast.levels,
        distributions=contrast.distributions,
        smooth=contrast.smooth,
    )


def _data(evidence: Evidence) -> DataSummary:
    table = evidence.table
    return DataSummary(
        kind=score_kind(table.cells, evidence.settings.unit),
        rows=table.rows,
        used=table.used,
        missing=table.missing,
        lost=table.lost,
        loss_tests=loss_tests(table.lost),
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
    )


def score_kind(cells: Cells, unit: str | None) -> ScoreKind:
    """What the scores are, read off the scores and their unit."""
    if unit is not None:
        return "money" if is_currency(unit) else "number"
    if is_decision(cells):
        return "decision"
    low, high = cells.ends
    return "probability" if low >= 0.0 and high <= 1.0 else "number"


def _rows(counts: IntArray) -> tuple[int, int]:
    """Rows of each group in all levels together."""
    first, second = counts.sum(axis=0).tolist()
    return first, second


def _overall(overall: Disparity) -> OverallDisparity:
    return OverallDisparity(overall.value, overall.gap, _rows(overall.by_level.counts))


def _is_extrapolated(contrast: Examination) -> bool:
    """Whether a p-value was continued below what its permutations could have counted."""
    test = contrast.test
    if not isinstance(test, HeadlineTest) or contrast.p_value is None:
        return False
    return contrast.p_value * (test.permutations + 1) < 1.0 - 1e-9


def _gap(gap: Gap) -> GapResult:
    known = gap.method != "none"
    return GapResult(
        value=gap.value,
        interval=gap.interval if known else None,
        confidence=gap.confidence,
        error=gap.error if known else None,
        method=gap.method,
        reason=gap.reason,
    )


def _estimate(distance: DistanceEstimate) -> EstimateResult:
    low, high = distance.interval
    return EstimateResult(
        value=distance.value,
        interval=(low, high if math.isfinite(high) else None),
        confidence=distance.confidence,
        squared=distance.squared if math.isfinite(distance.squared) else None,
        distance="W1",
        replicated=min(distance.replicated, 1.0),
        reason=distance.reason,
        rounding=distance.rounding,
    )


def _test(test: HeadlineTest | DesignTest, observed: float) -> ParityTest:
    permuted = test if isinstance(test, HeadlineTest) else None
    return ParityTest(
        p_value=test.p_value,
        method=test.method,
        leading_component=test.leading_component,
        components={str(name): p for name, p in test.components.items()},
        null_distance=None if permuted is None else permuted.null_distance,
        excess=None if permuted is None else observed - permuted.null_distance,
        detectable=None if permuted is None else permuted.detectable,
        permutations=0 if permuted is None else permuted.permutations,
    )


def _nested(nested: NestedDisparity) -> NestedResult:
    return NestedResult(
        value=nested.value,
        root=nested.root,
        diagonal=nested.diagonal,
        off_diagonal=nested.off_diagonal,
        level_transport=nested.level_transport,
        excess=nested.excess,
        diagonal_mass=nested.diagonal_mass,
        overlap=nested.overlap,
        order=nested.order,
        level_cost=nested.level_cost,
    )
