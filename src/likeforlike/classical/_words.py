"""What each convention says, and where it misleads: a line each."""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    """What to know before quoting a figure.

    Attributes
    ----------
    title : what it is called.
    says : what it tells.
    misleads : where it misleads.

    Examples
    --------
    >>> from likeforlike.classical import NOTES
    >>> NOTES["gap"].misleads
    'Gaps of opposite sign cancel, and means hide what happens in the tails.'
    """

    title: str
    says: str
    misleads: str


_WORDS = (
    (
        "gap",
        "Signed gap",
        "Mean (or rate) of one group minus that of the other.",
        "Gaps of opposite sign cancel, and means hide what happens in the tails.",
    ),
    (
        "ratio",
        "Impact ratio",
        "Mean (or rate) of one group divided by that of the other; 0.8 is the four-fifths rule.",
        (
            "Small rates make large ratios of small gaps, and turning refusals into approvals "
            "turns the ratio into another one."
        ),
    ),
    (
        "smd",
        "Standardized mean difference",
        "The gap in standard deviations of both groups together.",
        "It shrinks when scores spread more, for whatever reason, and says nothing but means.",
    ),
    (
        "mantel_haenszel",
        "Mantel-Haenszel",
        "One odds ratio for all levels, and a test that it is 1; for scores a test of equal means.",
        (
            "Levels that point in opposite directions cancel; odds ratios look larger than ratios"
            " of rates."
        ),
    ),
    (
        "breslow_day",
        "Breslow-Day",
        "Whether one odds ratio will do for all levels.",
        "Small levels hide differences: it needs several rows of each kind in every level.",
    ),
    (
        "van_elteren",
        "Van Elteren",
        "Whether one group ranks higher within levels, whatever the scale of the scores.",
        "Blind to differences that cancel, within a level or between levels; no size, only a sign.",
    ),
    (
        "wachter",
        "Wachter's CDD",
        "The group's share of those refused minus its share of those accepted, within levels.",
        "It depends on how large the group is, so it does not compare across groups or years.",
    ),
    (
        "transport",
        "Transport",
        "How far scores would have to move within levels for both groups to be scored alike.",
        "It has no direction; read it together with the signed gap.",
    ),
)

NOTES: dict[str, Note] = {name: Note(*words) for name, *words in _WORDS}
"""What to know about each convention, by its name in the document.

Examples
--------
>>> from likeforlike.classical import NOTES
>>> NOTES["wachter"].title
"Wachter's CDD"
"""
