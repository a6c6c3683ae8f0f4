"""The document of the demonstration: an audit, and what training did about what it found."""

from __future__ import annotations

from typing import Literal, TypedDict

from likeforlike.document._kinds import Amount, Count, Probability
from likeforlike.document._types import AuditDocument, AuditFigures, FindingPart


class TrainingDataPart(TypedDict):
    """The rows that networks were trained and compared on.

    Attributes
    ----------
    source : the function that made them.
    gap : the planted disparity.
    seed : of everything else that is random.
    rows : all of them.
    learning : rows that networks learnt from.
    deciding : rows that told when to stop and which strength to take.
    held_out : rows for every other figure.
    features : columns that networks see.
    target : column that they predict.
    sensitive : column whose values are the groups.
    legitimate : columns whose combinations are the levels.
    """

    source: str
    gap: float
    seed: int
    rows: Count
    learning: Count
    deciding: Count
    held_out: Count
    features: list[str]
    target: str
    sensitive: str
    legitimate: list[str]


class ModelPart(TypedDict):
    """Scores on the rows held out.

    Attributes
    ----------
    auc : area under the ROC curve.
    audit : of the scores.
    """

    auc: Probability
    audit: AuditDocument


class DecidingPart(TypedDict):
    """Figures of a network on the rows to decide on.

    Attributes
    ----------
    auc : area under the ROC curve.
    estimate : of the conditional disparity.
    """

    auc: Probability
    estimate: Amount


class NetworkPart(ModelPart):
    """A network that was trained with a penalty of some strength.

    Attributes
    ----------
    strength : of the penalty; 0 is none.
    deciding : figures that it was chosen or passed over by.
    """

    strength: Amount
    deciding: DecidingPart


class TrainingFindingPart(FindingPart):
    """What training did about a disparity, in plain language.

    Attributes
    ----------
    setup : what was trained, on which rows.
    """

    setup: str


class TrainingFigures(TypedDict):
    """Networks trained under a penalty, before anything is said about them.

    Attributes
    ----------
    data : rows to learn from, to decide on, and held out.
    penalty : name of the penalty.
    limit : on the estimated disparity.
    models : one network a strength, the first without penalty.
    repair : scores of the first network, moved to the barycenter of their level.
    chosen : position of the network that was chosen.
    met : whether it keeps the limit where it was chosen.
    frontier : positions of the networks that no other beats, the least disparity first.
    """

    data: TrainingDataPart
    penalty: str
    limit: float
    models: list[NetworkPart]
    repair: ModelPart
    chosen: Count
    met: bool
    frontier: list[Count]


class TrainingPart(TrainingFigures):
    """Networks trained under a penalty, and what came of it.

    Attributes
    ----------
    finding : what the figures say.
    """

    finding: TrainingFindingPart


class DemonstrationDocument(AuditFigures):
    """The document of `likeforlike demo`: an audit, and what training does about it.

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
    finding : what the figures of the audit say.
    training : null where nothing could be trained.

    Examples
    --------
    >>> from likeforlike.document import AuditDocument, DemonstrationDocument
    >>> DemonstrationDocument.__required_keys__ - AuditDocument.__required_keys__
    frozenset({'training'})
    """

    schema: Literal["likeforlike.demonstration"]
    finding: FindingPart
    training: TrainingPart | None


Document = AuditDocument | DemonstrationDocument
"""What a page can be made of."""
