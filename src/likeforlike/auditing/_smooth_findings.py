"""What a finding says of groups that were compared along numbers, and what it warns of."""

from __future__ import annotations

from collections.abc import Sequence

from likeforlike._text import figure, p_text
from likeforlike.document._names import amount
from likeforlike.document._results import AuditDocument, ContrastAudit, Smooth

# Below this many rows, tests along a number are known to be less exact.
_FEW_ROWS = 1000
# A difference that both tests, or neither, call one.
_ENOUGH = 0.05
_SHOWN_JUMPS = 3


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def coarser_words(document: AuditDocument, column: str) -> str:
    """What would compare more people along a column of numbers, of what this audit may ask for."""
    settings, roles = document.settings, document.roles
    bins = f"bins={{{column!r}: 10}} (--bins {column}=10)"
    refused = (
        roles.also_sensitive
        or settings.suppress_below is not None
        or settings.score_range is not None
        or settings.measure_name == "given"
        or (document.data.resolution and settings.smooth)
    )
    if refused:
        return f"{bins} would compare those in one bin"
    along = f"smooth=[{column!r}] (--smooth {column})"
    return f"{along} would compare people who are nearly equal, and {bins} those in one bin"


def smooth_sentences(document: AuditDocument, contrast: ContrastAudit, smooth: Smooth) -> list[str]:
    """How the groups were compared along numbers, and what bins would have made of it."""
    columns, windows = listed(smooth.columns), len(smooth.windows)
    if smooth.method == "carry":
        how = (
            f"Scores were carried along {columns} to the centers of {windows:,} windows, so that "
            "the width of a window adds nothing to the difference."
        )
    else:
        how = (
            f"{columns} were replaced by the estimated share of {contrast.groups[1]} among "
            f"people like each person, in {windows:,} windows of it; scores enter without what "
            f"{listed(document.roles.legitimate)} explain."
        )
    return [
        how,
        *_fit(contrast, smooth),
        *_units(document, smooth),
        *_bins(document, contrast, smooth),
        *_companion(smooth),
    ]


def _fit(contrast: ContrastAudit, smooth: Smooth) -> list[str]:
    """How well group and score are predicted from several numbers, of rows left out."""
    if smooth.explained is None:
        return []
    group, score = smooth.explained
    sentence = (
        f"Of rows left out, these predictions explain {group:.0%} of the variation of "
        f"{contrast.groups[1]}, and {score:.0%} of that of the score"
    )
    if smooth.boosted is None:
        return [f"{sentence}."]
    rows = f"{smooth.boosted_rows:,} rows"
    trees = "boosted trees {:.0%} and {:.0%}".format(*smooth.boosted)
    return [f"{sentence}; {trees}, tried on {rows}."]


def _misfit(contrast: ContrastAudit, smooth: Smooth) -> list[str]:
    """A warning where boosted trees predict better than what the comparison rests on."""
    if not smooth.misfit:
        return []
    names = {"group": f"the share of {contrast.groups[1]}", "score": "the score"}
    sentence = (
        f"Boosted trees predict {listed([names[name] for name in smooth.misfit])} better than "
        "the predictions that were used, beyond chance: a difference may come from what these "
        "miss. Compare along one number, inside bins of the others."
    )
    return [sentence]


def _units(document: AuditDocument, smooth: Smooth) -> list[str]:
    """What was compared, where rows with nearly the same number are of one group."""
    along = listed(smooth.columns)
    if smooth.units == "rows":
        return []
    if smooth.units == "numbers":
        return [f"Rows with exactly the same {along} were compared, each {along} by itself."]
    share = smooth.shared
    alone = f"No row has exactly the {along} of a row of the other group (0% of rows)."
    some = f"Only {share:.0%} of the rows have exactly the {along} of a row of the other group."
    one = f"with the same {along}" if document.roles.cluster is None else "of one cluster"
    sentence = (
        f"{some if share > 0.0 else alone} Rows with nearly equal {along} were compared; rows "
        f"{one} count as one."
    )
    return [sentence]


def _bins(document: AuditDocument, contrast: ContrastAudit, smooth: Smooth) -> list[str]:
    """What bins would have shown, unless the gap of bins is that of places, not of widths."""
    if smooth.units != "rows" or smooth.gap_confounding is None:
        return []
    gap = contrast.gap.value
    binned = gap + smooth.gap_confounding
    if gap < 0.0:  # as the sentences before it have the gap: by how much one group is lower
        gap, binned = -gap, -binned
    share = f" of the estimated share of {contrast.groups[1]}"
    sentence = (
        f"{smooth.bins} bins{'' if smooth.method == 'carry' else share} would have shown a "
        f"gap of {amount(document, binned)} instead of {amount(document, gap)}"
    )
    distance = contrast.estimate
    if smooth.confounding is None or distance is None or distance.value is None:
        return [f"{sentence}."]
    far = amount(document, distance.value + smooth.confounding)
    carried = amount(document, distance.value)
    return [f"{sentence}, and a distance of {far} instead of {carried}."]


def _companion(smooth: Smooth) -> list[str]:
    if smooth.companion_p is None:
        return []
    sentence = (
        "A second test, which jumps hardly upset and which does not see differences that change "
        f"sign along {listed(smooth.columns)}, gives {p_text(smooth.companion_p)}."
    )
    return [sentence]


def smooth_cautions(document: AuditDocument, contrast: ContrastAudit) -> list[str]:
    """What to keep in mind about a comparison along numbers."""
    smooth = contrast.smooth
    if smooth is None:
        return []
    columns, rows = listed(smooth.columns), sum(contrast.rows)
    equal_in = listed(document.roles.legitimate)
    lacking = len(smooth.windows) - len(contrast.levels)
    places = listed([figure(jump, 4) for jump in smooth.jumps[:_SHOWN_JUMPS]] or [""])
    one = smooth.method == "carry"
    where = columns if one else f"the estimated share of {contrast.groups[1]}"
    said = {
        f"The mean score or the share of a group seems to jump along {where}, near {places}. "
        "Curves are cut where scores jump beyond doubt, and follow no other jump, so the test may "
        "reject too often; the second test is hardly upset. If the jump is a rule, compare inside "
        f"bins that end there instead: bins={{{columns!r}: [...]}}.": bool(smooth.jumps) and one,
        f"The mean score or the share of a group seems to jump along {where}, near {places}. "
        "Curves follow no jump, so the test may reject too often; the second test is hardly "
        "upset.": bool(smooth.jumps) and not one,
        f"With {rows:,} rows, curves along {columns} are rough; from 1,000 on tests along numbers "
        "are known to hold.": rows < _FEW_ROWS,
        f"{lacking:,} of {len(smooth.windows):,} windows lack a group and say nothing.": bool(
            lacking
        ),
        f"People with the same estimated share of {contrast.groups[1]} are compared. If both "
        "predictions, of that share and of the score, are right, a difference is one among people "
        f"who are equal in {equal_in}; where differences among them cancel, theirs is "
        "larger.": smooth.method == "propensity",
        f"Rounding of scores and of {columns} in the engine may have moved a distance by about "
        f"{figure(smooth.error, 2)}.": smooth.error > 0.0,
        "No test of equal treatment along numbers holds for every distribution: this one needs "
        f"scores that change gradually with {columns}. audit.placebo() tries it on these "
        "rows.": True,
    }
    cautions = [caution for caution, holds in said.items() if holds]
    return [*cautions, *_misfit(contrast, smooth), *_disagreement(contrast, smooth)]


def _disagreement(contrast: ContrastAudit, smooth: Smooth) -> list[str]:
    test, second = contrast.test, smooth.companion_p
    if test is None or second is None or not test.p_value <= _ENOUGH < second:
        return []
    sentence = (
        "The two tests disagree: the difference may change sign along "
        f"{listed(smooth.columns)}, or the curve may have missed a jump."
    )
    return [sentence]
