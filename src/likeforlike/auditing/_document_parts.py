"""From what an audit found to its document: the same figures as plain values.

Dictionaries, lists, text, finite numbers, truth values and None, and nothing else: what comes out
is strict JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike._text import json_visible
from likeforlike.auditing._comparisons import Reference, Unexamined
from likeforlike.auditing._contrast_audit import ContrastAudit, Distribution, LevelAudit
from likeforlike.auditing._conventional import category_part, conventions_part
from likeforlike.auditing._findings import finding
from likeforlike.auditing._gate import Ruling
from likeforlike.auditing._group_rows import GroupRows
from likeforlike.auditing._lines import BINS
from likeforlike.auditing._missing import LossTest, LostRows, loss_tests
from likeforlike.auditing._provenance import Provenance
from likeforlike.auditing._settings import Settings
from likeforlike.auditing._smooth import Smooth, Window
from likeforlike.auditing._tables import Roles, TableCells
from likeforlike.auditing._verdict_parts import verdict_part
from likeforlike.classical import Category, Conventions
from likeforlike.disparity._cdd_wass import NestedDisparity
from likeforlike.document._group_types import GroupPart, LossTestPart, LostPart
from likeforlike.document._kinds import Label, Scalar
from likeforlike.document._names import named_groups
from likeforlike.document._training_types import Document
from likeforlike.document._types import (
    SCHEMA_VERSION,
    AuditDocument,
    AuditFigures,
    ContrastPart,
    DataPart,
    DistributionPart,
    EstimatePart,
    GapPart,
    LevelPart,
    NestedPart,
    ProvenancePart,
    RolesPart,
    SettingsPart,
    SmoothPart,
    TestPart,
    UnexaminedPart,
    WindowPart,
)
from likeforlike.inference import DesignTest, DistanceEstimate, Gap, HeadlineTest, OmnibusTest


def audit_document(
    contrasts: Sequence[ContrastAudit],
    omnibus: OmnibusTest | None,
    unexamined: Sequence[Unexamined],
    roles: Roles,
    settings: Settings,
    table: TableCells,
    provenance: Provenance,
    verdicts: Sequence[Ruling] = (),
    groups: Sequence[GroupRows] = (),
    conventional: Sequence[Conventions] = (),
    categories: Sequence[Category] = (),
    hide: Callable[[AuditFigures], AuditFigures] | None = None,
) -> AuditDocument:
    """The document of an audit, with its finding; `hide` leaves what may be shown."""
    names = dict(zip(table.cells.levels, table.level_names, strict=True))
    figures: AuditFigures = {
        "schema_version": SCHEMA_VERSION,
        "roles": _roles(roles),
        "settings": _settings(settings),
        "data": _data(table, groups),
        "contrasts": [contrast_part(contrast) for contrast in contrasts],
        "omnibus": None
        if omnibus is None
        else {"p_value": omnibus.p_value, "groups": len(table.cells.groups)},
        "unexamined": [_unexamined(each) for each in unexamined],
        "verdicts": [verdict_part(ruling) for ruling in verdicts],
        "conventions": [
            conventions_part(found, contrast, names)
            for found, contrast in zip(conventional, contrasts, strict=bool(conventional))
        ],
        "local_law_144": [category_part(each) for each in categories],
        "provenance": _provenance(provenance),
    }
    if hide is not None:
        figures = hide(figures)
    return {"schema": "likeforlike.audit", **figures, "finding": finding(named_groups(figures))}


def document_json(document: Document) -> str:
    """A document as it is written to files: strict JSON, a line for every entry."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return json_visible(text) + "\n"


def contrast_part(contrast: ContrastAudit) -> ContrastPart:
    """A contrast as plain values, with large tables cut down to what readers need."""
    overall, among_equals = contrast.unconditional, contrast.conditional
    test, distance, nested = contrast.test, contrast.estimate, contrast.nested
    bounds = contrast.certificate
    return {
        "groups": list(contrast.groups),
        "columns": list(contrast.columns),
        "reference": contrast.reference,
        "rows": _rows(among_equals.by_level.counts),
        "unconditional": {
            "value": overall.value,
            "gap": overall.gap,
            "rows": _rows(overall.by_level.counts),
        },
        "conditional": {"value": among_equals.value, "gap": among_equals.gap},
        "gap": _gap(contrast.gap),
        "estimate": None if distance is None else _estimate(distance),
        "p_value": contrast.p_value,
        "p_extrapolated": _extrapolated(contrast),
        "test": None if test is None else _test(test, among_equals.value),
        "certificate": None
        if bounds is None
        else {"lower": bounds.lower, "upper": bounds.upper, "confidence": bounds.confidence},
        "paradox": contrast.paradox,
        "compared_gap": contrast.compared_gap,
        "nested": None if nested is None else _nested(nested),
        "coverage": contrast.coverage.copy(),
        "thin_share": contrast.thin_share.copy(),
        "excluded": {name: rows.copy() for name, rows in contrast.excluded.items()},
        "levels": [_level(level) for level in contrast.levels],
        "distributions": [_distribution(shown) for shown in contrast.distributions],
        "smooth": None if contrast.smooth is None else _smooth(contrast.smooth),
    }


def _roles(roles: Roles) -> RolesPart:
    return {
        "score": roles.score,
        "sensitive": roles.sensitive,
        "legitimate": list(roles.legitimate),
        "weight": roles.weight,
        "cluster": roles.cluster,
        "also_sensitive": list(roles.also_sensitive),
    }


def _settings(settings: Settings) -> SettingsPart:
    return {
        "measure": settings.measure if isinstance(settings.measure, str) else "given",
        "min_cell": settings.min_cell,
        "min_coverage": settings.min_coverage,
        "permutations": settings.permutations,
        "confidence": settings.confidence,
        "adjustment": settings.adjustment,
        "reference": _reference(settings.reference),
        "random_state": settings.random_state,
        "score_range": None if settings.score_range is None else list(settings.score_range),
        "suppress_below": settings.suppress_below,
        "unit": settings.unit,
        "preset": settings.preset,
        "smooth": list(settings.smooth),
        "windows": settings.windows,
    }


def _reference(reference: Reference | None) -> Scalar | dict[str, Scalar] | None:
    if isinstance(reference, Mapping):
        return {column: _scalar(group) for column, group in reference.items()}
    return None if reference is None else _scalar(reference)


def _data(table: TableCells, groups: Sequence[GroupRows]) -> DataPart:
    return {
        "rows": table.rows,
        "used": table.used,
        "missing": table.missing.copy(),
        "lost": [_lost(each) for each in table.lost],
        "loss_tests": [_loss_test(each) for each in loss_tests(table.lost)],
        "groups": [_group(each) for each in groups],
        "nulls": {column: words.copy() for column, words in table.nulls.items()},
        "values": table.values.copy(),
        "edges": {column: list(edges) for column, edges in table.edges.items()},
        "calendar": table.calendar.copy(),
        "engine": table.engine,
        "resolution": float(table.cells.resolution),
        "snapped": table.snapped,
        "snapped_within": table.snapped_within,
        "notes": list(table.notes),
    }


def _provenance(provenance: Provenance) -> ProvenancePart:
    return {
        "fingerprint": provenance.fingerprint,
        "versions": provenance.versions.copy(),
        "created": provenance.created,
    }


def _rows(counts: IntArray) -> list[int]:
    """Of each group, in all levels together."""
    rows: list[int] = counts.sum(axis=0).tolist()
    return rows


def _lost(lost: LostRows) -> LostPart:
    return {
        "group": lost.group,
        "rows": lost.rows,
        "lost": lost.lost,
        "columns": list(lost.columns),
    }


def _loss_test(test: LossTest) -> LossTestPart:
    return {
        "columns": list(test.columns),
        "statistic": test.statistic,
        "degrees": test.degrees,
        "p_value": test.p_value,
    }


def _group(group: GroupRows) -> GroupPart:
    return {
        "columns": list(group.columns),
        "group": group.group,
        "rows": group.rows,
        "compared": group.compared,
        "not_compared": group.not_compared,
        "missing": group.missing,
    }


def _extrapolated(contrast: ContrastAudit) -> bool:
    """Whether a p-value was continued below what its permutations could have counted."""
    test = contrast.test
    if not isinstance(test, HeadlineTest) or contrast.p_value is None:
        return False
    return contrast.p_value * (test.permutations + 1) < 1.0 - 1e-9


def _gap(gap: Gap) -> GapPart:
    known = gap.method != "none"
    return {
        "value": gap.value,
        "interval": list(gap.interval) if known else None,
        "confidence": gap.confidence,
        "error": gap.error if known else None,
        "method": gap.method,
        "reason": gap.reason,
    }


def _estimate(distance: DistanceEstimate) -> EstimatePart:
    low, high = distance.interval
    return {
        "value": distance.value,
        "interval": [low, high if math.isfinite(high) else None],
        "confidence": distance.confidence,
        "squared": distance.squared if math.isfinite(distance.squared) else None,
        "distance": "W1",
        "replicated": min(distance.replicated, 1.0),
        "reason": distance.reason,
        "rounding": distance.rounding,
    }


def _test(test: HeadlineTest | DesignTest, observed: float) -> TestPart:
    permuted = test if isinstance(test, HeadlineTest) else None
    return {
        "p_value": test.p_value,
        "method": test.method,
        "spoke": test.spoke,
        "components": {str(name): p for name, p in test.components.items()},
        "null_distance": None if permuted is None else permuted.null_distance,
        "excess": None if permuted is None else observed - permuted.null_distance,
        "detectable": None if permuted is None else permuted.detectable,
        "permutations": 0 if permuted is None else permuted.permutations,
    }


def _unexamined(unexamined: Unexamined) -> UnexaminedPart:
    return {
        "groups": list(unexamined.groups),
        "rows": unexamined.rows.copy(),
        "reason": unexamined.reason,
        "columns": list(unexamined.columns),
    }


def _nested(nested: NestedDisparity) -> NestedPart:
    return {
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
    }


def _level(level: LevelAudit) -> LevelPart:
    return {
        "level": _label(level.level),
        "name": level.name,
        "rows": level.rows.copy(),
        "weight": level.weight,
        "distance": level.distance,
        "null_distance": level.null_distance,
        "gap": level.gap,
        "gap_interval": None if level.gap_interval is None else list(level.gap_interval),
        "contribution": level.contribution,
        "p_value": level.p_value,
        "p_adjusted": level.p_adjusted,
        "thin": level.thin,
    }


def _distribution(shown: Distribution) -> DistributionPart:
    return {
        "level": shown.level,
        "edges": list(shown.edges),
        "shares": {group: list(shares) for group, shares in shown.shares.items()},
    }


def _smooth(smooth: Smooth) -> SmoothPart:
    return {
        "columns": list(smooth.columns),
        "method": smooth.method,
        "units": smooth.units,
        "mixing": smooth.mixing,
        "shared": smooth.shared,
        "bandwidth": smooth.bandwidth,
        "coordinate": smooth.coordinate,
        "bins": BINS,
        "confounding": smooth.confounding,
        "gap_confounding": smooth.gap_confounding,
        "companion_p": smooth.companion_p,
        "jumps": list(smooth.jumps),
        "error": smooth.error,
        "windows": [_window(window) for window in smooth.curve],
        "explained": None if smooth.explained is None else list(smooth.explained),
        "boosted": None if smooth.boosted is None else list(smooth.boosted),
        "boosted_rows": smooth.boosted_rows,
        "misfit": list(smooth.misfit),
    }


def _window(window: Window) -> WindowPart:
    return {
        "level": window.level,
        "category": window.category,
        "low": window.low,
        "high": window.high,
        "center": window.center,
    }


def _label(label: Hashable) -> Label:
    """A level's label; that of several columns is a list."""
    return [_scalar(part) for part in label] if isinstance(label, tuple) else _scalar(label)


def _scalar(value: Hashable) -> Scalar:
    """A label as JSON can hold it; dates, decimals and infinities become text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | bool | int | float) else str(value)
