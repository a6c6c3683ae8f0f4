"""The document: what an audit found, each result declared once.

The finding, the page, the terminal, frames and JSON are made of it and of nothing else, and its
JSON schema is made of the types here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._results import AuditDocument as AuditDocument
    from ._results import audit_schema as audit_schema

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._plain import Amount as Amount
    from ._plain import Count as Count
    from ._plain import Interval as Interval
    from ._plain import Limits as Limits
    from ._plain import PlainValues as PlainValues
    from ._plain import json_text as json_text
    from ._plain import plain as plain
    from ._request import ABOUT as ABOUT
    from ._request import Favorable as Favorable
    from ._request import Panel as Panel
    from ._request import Preset as Preset
    from ._request import Roles as Roles
    from ._request import ScoreKind as ScoreKind
    from ._request import Settings as Settings
    from ._request import Threshold as Threshold
    from ._request import ThresholdOf as ThresholdOf
    from ._results import SCHEMA_VERSION as SCHEMA_VERSION
    from ._results import ClassicalFigures as ClassicalFigures
    from ._results import ClassicalLevel as ClassicalLevel
    from ._results import ContrastAudit as ContrastAudit
    from ._results import DataSummary as DataSummary
    from ._results import Distribution as Distribution
    from ._results import EstimateResult as EstimateResult
    from ._results import Finding as Finding
    from ._results import GapResult as GapResult
    from ._results import GroupRows as GroupRows
    from ._results import Judgment as Judgment
    from ._results import LevelAudit as LevelAudit
    from ._results import LossTest as LossTest
    from ._results import LostRows as LostRows
    from ._results import NestedResult as NestedResult
    from ._results import ObservedDisparity as ObservedDisparity
    from ._results import OmnibusResult as OmnibusResult
    from ._results import Outcome as Outcome
    from ._results import OverallDisparity as OverallDisparity
    from ._results import ParityTest as ParityTest
    from ._results import Provenance as Provenance
    from ._results import Smooth as Smooth
    from ._results import SmoothUnit as SmoothUnit
    from ._results import Unexamined as Unexamined
    from ._results import Verdict as Verdict
    from ._results import Window as Window
    from ._results import as_document as as_document
    from ._results import read_document as read_document
    from ._words import EVIDENCE as EVIDENCE
    from ._words import OTHER_GROUPS as OTHER_GROUPS
    from ._words import OTHER_LEVELS as OTHER_LEVELS
    from ._words import amount as amount
    from ._words import answer as answer
    from ._words import equals as equals
    from ._words import family_words as family_words
    from ._words import headline as headline
    from ._words import in_units as in_units
    from ._words import is_evidence as is_evidence
    from ._words import join_names as join_names
    from ._words import list_words as list_words
    from ._words import mean_name as mean_name
    from ._words import name_groups as name_groups
    from ._words import next_steps as next_steps
    from ._words import page_title as page_title
    from ._words import question as question
    from ._words import say as say
    from ._words import score_words as score_words
    from ._words import signatures as signatures
    from ._words import spoken as spoken
    from ._words import start as start
    from ._words import unit_name as unit_name
    from ._words import verdict_meaning as verdict_meaning
    from ._words import verdict_origin as verdict_origin
    from ._words import verdict_reasons as verdict_reasons
    from ._words import verdict_title as verdict_title
    from ._words import verdict_words as verdict_words

attach(__name__)
