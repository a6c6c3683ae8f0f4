"""Auditing: one call from a table to a finding with its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from likeforlike.document import Threshold as Threshold
    from likeforlike.sensitivity import contributions as contributions

    from ._audit import Audit as Audit
    from ._audit_table import audit as audit
    from ._policy import Policy as Policy
    from ._summary import Summary as Summary
    from ._summary import summarize as summarize

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._audit import native_frame as native_frame
    from ._audit_table import audit_cells as audit_cells
    from ._audit_table import audit_document as audit_document
    from ._audit_table import column_names as column_names
    from ._audit_table import drop_lower_limit as drop_lower_limit
    from ._audit_table import provenance as provenance
    from ._audit_table import read_or_create_salt as read_or_create_salt
    from ._audit_table import sort_contrasts as sort_contrasts
    from ._comparisons import select_contrasts as select_contrasts
    from ._contrast_audit import Examination as Examination
    from ._disclosure import Crowd as Crowd
    from ._disclosure import RoundingGrid as RoundingGrid
    from ._disclosure import round_count as round_count
    from ._disclosure import round_p_value_up as round_p_value_up
    from ._disclosure import round_share as round_share
    from ._doubts import read_contributions as read_contributions
    from ._doubts import read_inputs as read_inputs
    from ._evidence import Evidence as Evidence
    from ._evidence import pairs_csv as pairs_csv
    from ._policy import audit_any as audit_any
    from ._reading import Calendar as Calendar
    from ._reading import Cut as Cut
    from ._reading import read_columns as read_columns
    from ._reading import read_text_columns as read_text_columns
    from ._summary import merge_tables as merge_tables
    from ._summary import refresh_metadata as refresh_metadata
    from ._tables import TableCells as TableCells
    from ._tables import read_cells as read_cells

attach(__name__)
