"""The finding in plain language, from the figures of an audit and nothing else.

It says what was measured, on how many people, with what certainty, what could not be compared, and
how groups were compared along numbers. It never says "fair".
"""

from __future__ import annotations

from likeforlike._text import figure, null_words, p_text
from likeforlike.document import (
    OTHER_LEVELS,
    AuditDocument,
    ContrastAudit,
    DataSummary,
    EstimateResult,
    Finding,
    GapResult,
    LossTest,
    ParityTest,
    Roles,
    Smooth,
    amount,
    headline,
    is_evidence,
    join_names,
    mean_name,
    score_words,
)

# Below this many rows, tests along a number are known to be less exact.
_FEW_ROWS = 1000
# A difference that both tests, or neither, call one.
_ENOUGH = 0.05
_SHOWN_JUMPS = 3
# Levels with fewer rows of a group than this may show what single people score.
_FEW_PEOPLE = 10
# A column of numbers with more different values than this is probably meant to be cut into bins.
_MANY_VALUES = 50

_COMPONENTS = {
    "gap": "the means",
    "ranks": "the ranks of the scores",
    "spread": "how widely the scores are spread",
    "distance": "the distances inside the levels",
    "level": "single levels",
}


def coarser_words(document: AuditDocument, column: str) -> str:
    """Suggest what would compare more people along a column of numbers in this audit."""
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
    """Describe how the groups were compared along numbers, and what bins would have shown."""
    columns, windows = join_names(smooth.columns), len(smooth.windows)
    second = contrast.groups[1]
    if smooth.method == "carry":
        how = (
            f"Scores were carried along {columns} to the centers of {windows:,} windows, so that "
            "the width of a window adds nothing to the difference."
        )
    else:
        how = (
            f"{columns} were replaced by the estimated share of {second} among "
            f"people like each person, in {windows:,} windows of it; scores enter without what "
            f"{join_names(document.roles.legitimate)} explain."
        )
    sentences = [how]
    if smooth.explained is not None:
        group, score = smooth.explained
        trees = "."
        if smooth.boosted is not None:
            shares = "boosted trees {:.0%} and {:.0%}".format(*smooth.boosted)
            trees = f"; {shares}, tried on {smooth.boosted_rows:,} rows."
        sentences.append(
            f"Of rows left out, these predictions explain {group:.0%} of the variation of "
            f"{second}, and {score:.0%} of that of the score{trees}"
        )
    if smooth.units == "numbers":
        sentences.append(
            f"Rows with exactly the same {columns} were compared, each {columns} by itself."
        )
    elif smooth.units != "rows":
        share, exactly = smooth.shared, f"exactly the {columns} of a row of the other group"
        some = f"Only {share:.0%} of the rows have {exactly}."
        none = f"No row has {exactly} (0% of rows)."
        one = f"with the same {columns}" if document.roles.cluster is None else "of one cluster"
        sentences.append(
            f"{some if share > 0.0 else none} Rows with nearly equal {columns} were compared; rows "
            f"{one} count as one."
        )
    # The gap of bins is that of places, not of widths, unless rows were compared.
    elif smooth.gap_confounding is not None:
        sentences.append(_bins_sentence(document, contrast, smooth, smooth.gap_confounding))
    if smooth.companion_p is not None:
        sentences.append(
            "A second test, which jumps hardly upset and which does not see differences that "
            f"change sign along {columns}, gives {p_text(smooth.companion_p)}."
        )
    return sentences


def _bins_sentence(
    document: AuditDocument, contrast: ContrastAudit, smooth: Smooth, confounding: float
) -> str:
    """Say what bins would have shown."""
    gap = contrast.gap.value
    binned = gap + confounding
    if gap < 0.0:  # as the sentences before it have the gap: by how much one group is lower
        gap, binned = -gap, -binned
    share = f" of the estimated share of {contrast.groups[1]}"
    sentence = (
        f"{smooth.bins} bins{'' if smooth.method == 'carry' else share} would have shown a "
        f"gap of {amount(document, binned)} instead of {amount(document, gap)}"
    )
    distance = contrast.estimate
    if smooth.confounding is None or distance is None or distance.value is None:
        return f"{sentence}."
    far = amount(document, distance.value + smooth.confounding)
    return f"{sentence}, and a distance of {far} instead of {amount(document, distance.value)}."


def smooth_cautions(document: AuditDocument, contrast: ContrastAudit) -> list[str]:
    """List what to keep in mind about a comparison along numbers."""
    smooth = contrast.smooth
    if smooth is None:
        return []
    columns, rows, second = join_names(smooth.columns), sum(contrast.rows), contrast.groups[1]
    lacking = len(smooth.windows) - len(contrast.levels)
    cautions = []
    if smooth.jumps:
        places = join_names([figure(jump, 4) for jump in smooth.jumps[:_SHOWN_JUMPS]])
        if smooth.method == "carry":
            cautions.append(
                f"The mean score or the share of a group seems to jump along {columns}, near "
                f"{places}. Curves are cut where scores jump beyond doubt, and follow no other "
                "jump, so the test may reject too often; the second test is hardly upset. If the "
                "jump is a rule, compare inside bins that end there instead: "
                f"bins={{{columns!r}: [...]}}."
            )
        else:
            cautions.append(
                "The mean score or the share of a group seems to jump along the estimated share of "
                f"{second}, near {places}. Curves follow no jump, so the test may reject too "
                "often; the second test is hardly upset."
            )
    if rows < _FEW_ROWS:
        cautions.append(
            f"With {rows:,} rows, curves along {columns} are rough; from 1,000 on tests along "
            "numbers are known to hold."
        )
    if lacking:
        cautions.append(
            f"{lacking:,} of {len(smooth.windows):,} windows lack a group and say nothing."
        )
    if smooth.method == "propensity":
        cautions.append(
            f"People with the same estimated share of {second} are compared. If both predictions, "
            "of that share and of the score, are right, a difference is one among people who are "
            f"equal in {join_names(document.roles.legitimate)}; where differences among them "
            "cancel, theirs is larger."
        )
    if smooth.error > 0.0:
        cautions.append(
            f"Rounding of scores and of {columns} in the engine may have moved a distance by about "
            f"{figure(smooth.error, 2)}."
        )
    cautions.append(
        "No test of equal treatment along numbers holds for every distribution: this one needs "
        f"scores that change gradually with {columns}. audit.placebo() tries it on these rows."
    )
    if smooth.misfit:
        names = {"group": f"the share of {second}", "score": "the score"}
        cautions.append(
            f"Boosted trees predict {join_names([names[name] for name in smooth.misfit])} better "
            "than the predictions that were used, beyond chance: a difference may come from what "
            "these miss. Compare along one number, inside bins of the others."
        )
    test, companion_p = contrast.test, smooth.companion_p
    if test is not None and companion_p is not None and test.p_value <= _ENOUGH < companion_p:
        cautions.append(
            f"The two tests disagree: the difference may change sign along {columns}, or the curve "
            "may have missed a jump."
        )
    return cautions


def finding(document: AuditDocument) -> Finding:
    """Write headline, sentences and cautions about an audit: one finding over all its contrasts."""
    contrast = document.contrasts[0]
    test, distance = contrast.test, contrast.estimate
    sentences = [_gap_sentence(document, contrast, contrast.gap)]
    if distance is not None:
        sentences.append(_distance_sentence(document, distance))
    if test is not None:
        sentences.append(_evidence_sentence(document, contrast, test))
    if test is not None and test.detectable is not None:
        sentences.append(
            f"A shift of {amount(document, test.detectable, 2)} in every level would have been "
            "detected in 80% of samples like this one."
        )
    if contrast.smooth is not None:
        sentences += smooth_sentences(document, contrast, contrast.smooth)
    if document.roles.legitimate:
        sentences.append(_overall(document, contrast))
    reasons = (contrast.gap.reason, None if distance is None else distance.reason)
    return Finding(
        headline=f"{headline(document)}.",
        sentences=tuple(sentences),
        cautions=(
            *_coverage_cautions(document, contrast),
            *dict.fromkeys(reason for reason in reasons if reason is not None),
            *_method_cautions(document),
            *_disclosure_cautions(document),
            *smooth_cautions(document, contrast),
        ),
    )


def _lower(document: AuditDocument, contrast: ContrastAudit, gap: float, digits: int = 3) -> str:
    """Write the size of a gap, and who is lower."""
    low, high = contrast.groups if gap > 0.0 else contrast.groups[::-1]
    return f"{amount(document, abs(gap), digits)} lower for {low} than for {high}"


def _count_noun(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _gap_sentence(document: AuditDocument, contrast: ContrastAudit, gap: GapResult) -> str:
    """Write by how much groups differ on average, how sure that is, and how many were compared."""
    (first, second), rows = contrast.groups, contrast.rows
    alone = sum(level.name != OTHER_LEVELS for level in contrast.levels)
    others = " and others" if alone < len(contrast.levels) else ""
    levels = f"{_count_noun(alone, 'level')}{others}"
    levels = levels if alone else "levels that are not shown one by one"
    sample = f"from {rows[0]:,} rows of {first} and {rows[1]:,} of {second} in {levels}"
    if figure(abs(gap.value)) == "0":
        said = f"The {mean_name(document)} of {first} and {second} is the same"
    else:
        said = f"The {mean_name(document)} is {_lower(document, contrast, gap.value)}"
    if gap.interval is None:
        return f"{said}, {sample}; the data give no interval for it."
    low, high = gap.interval
    if gap.value < 0.0:
        low, high = -high, -low
    ends = f"{amount(document, low, bare=True)} to {amount(document, high)}"
    return f"{said} ({100 * gap.confidence:.4g}% interval {ends}), {sample}."


def _distance_sentence(document: AuditDocument, distance: EstimateResult) -> str:
    low, high = distance.interval
    ends = f"{amount(document, low or 0.0)} or more, with no upper end"
    if high is not None:
        ends = f"{amount(document, low or 0.0, bare=True)} to {amount(document, high)}"
    within = f"{100 * distance.confidence:.4g}% interval"
    scores = score_words(document)
    if distance.value is None:
        return (
            f"How far apart the {scores} are, whatever the direction, cannot be estimated; the "
            f"{within} is {ends}."
        )
    return (
        f"Whatever the direction, the {scores} are {amount(document, distance.value)} apart "
        f"({within} {ends}); differences of opposite sign do not cancel here."
    )


def _evidence_sentence(document: AuditDocument, contrast: ContrastAudit, test: ParityTest) -> str:
    chance, p_value = test.null_distance, contrast.p_value
    observed = (
        ""
        if chance is None
        else f"The observed average distance is {amount(document, contrast.conditional.value)}; "
        f"chance alone would give about {amount(document, chance, 2)}. "
    )
    # Not every pair need be shown, but all were tested.
    several = contrast.gap.confidence > document.settings.confidence
    adjusted = ", adjusted for all pairs" if several else ""
    leading = _COMPONENTS.get(test.leading_component or "")
    evidence = is_evidence(contrast)
    because = f"; clearest in {leading}" if evidence and leading is not None else ""
    verb = "is" if evidence else "is not"
    known = f"{p_text(p_value or 0.0, test.permutations)}{adjusted}{because}"
    return f"{observed}The difference {verb} more than chance explains ({known})."


def _overall(document: AuditDocument, contrast: ContrastAudit) -> str:
    plain = _ignoring(document, contrast, contrast.unconditional.gap, "levels")
    if contrast.paradox == "none":
        return plain
    # A paradox is about those who are compared, who may be fewer.
    compared = contrast.compared_gap
    if compared is not None and figure(compared) != figure(contrast.unconditional.gap):
        inside = _ignoring(document, contrast, compared, "levels among those who are compared")
        plain = f"{plain} {inside}"
    does = "hides the difference" if contrast.paradox == "masked" else "points the wrong way"
    return f"{plain} A comparison that ignores levels {does} (Simpson's paradox)."


def _ignoring(document: AuditDocument, contrast: ContrastAudit, gap: float, what: str) -> str:
    if figure(abs(gap)) == "0":
        means = "rates" if document.data.kind == "decision" else "means"
        return f"Ignoring {what}, the {means} do not differ."
    return f"Ignoring {what}, the {mean_name(document)} is {_lower(document, contrast, gap)}."


def _coverage_cautions(document: AuditDocument, contrast: ContrastAudit) -> list[str]:
    cautions = [
        f"{join_names(each.groups)} could not be compared: {each.reason} "
        f"({', '.join(f'{name}: {rows:,} rows' for name, rows in each.rows.items())})"
        for each in document.unexamined
    ]
    cautions += [
        f"{1 - share:.1%} of {group} could not be compared: they lack a value, or their levels "
        "lack the other group."
        for group, share in contrast.coverage.items()
        if share < 0.9995
    ]
    hidden = any(level.name == OTHER_LEVELS for level in contrast.levels)
    merged = ", or in levels that are shown together" if hidden else ""
    cautions += [
        f"{share:.1%} of {group} are in levels with fewer than "
        f"{document.settings.min_cell} rows of a group{merged}; such levels "
        "say little on their own."
        for group, share in contrast.thin_share.items()
        if share > 0.0005
    ]
    return cautions + _lost_sentences(document.data, document.roles)


def _lost_sentences(data: DataSummary, roles: Roles) -> list[str]:
    """Describe rows that lack a value. Several sensitive columns need not all be known."""
    several = roles.also_sensitive
    optional = [roles.sensitive, *several] if several else []
    unknown = [
        f"{part.lost:,} of {data.rows:,} rows have no known {part.columns[0]}, and are in "
        "no group of it."
        for part in data.lost
        if part.group is None and part.columns[0] in optional and len(part.columns) == 1
    ]
    dropped = data.rows - data.used
    if not dropped:
        return unknown
    lacking = ", ".join(
        f"{name}: {count:,}"
        for name, count in data.missing.items()
        if count and name not in optional
    )
    by_group = ", ".join(
        f"{part.lost:,} of unknown group"
        if part.group is None
        else f"{part.lost:,} of {part.rows:,} {part.group}"
        for part in data.lost
        if part.lost and len(part.columns) == 1 and not (several and part.group is None)
    )
    counted = f"{dropped:,} of {data.rows:,} rows were left out for missing values ({lacking})."
    words = [f"Read as missing values: {null_words(data.nulls)}."] if data.nulls else []
    uneven = [
        f"{_lost_shares(data, test)} ({p_text(test.p_value)}): those who are compared may "
        "not stand for the others."
        for test in data.loss_tests
        if test.p_value <= _ENOUGH and len(test.columns) == 1
    ]
    whole = f"{counted} By group: {by_group}." if by_group else counted
    return [whole, *uneven, *unknown, *words]


def _lost_shares(data: DataSummary, test: LossTest) -> str:
    """Say who lost the largest and who the smallest share of rows."""
    shares = {
        part.group: part.lost / part.rows
        for part in data.lost
        if part.columns == test.columns and part.group is not None
    }
    most, least = max(shares, key=lambda g: shares[g]), min(shares, key=lambda g: shares[g])
    return (
        f"Missing values are not spread evenly: {most} lost {shares[most]:.1%} of their rows, "
        f"{least} {shares[least]:.1%}"
    )


def _method_cautions(document: AuditDocument) -> list[str]:
    data = document.data
    cautions = [*data.notes] + [
        f"{column} has {values:,} different values, and only people with exactly the same "
        f"{column} are compared; {coarser_words(document, column)}."
        for column, values in data.values.items()
        if values > _MANY_VALUES
    ]
    cut = [*data.edges, *(c for c, part in data.calendar.items() if part != "day")]
    if cut:
        cautions.append(
            f"{join_names(cut)} was cut into bins; people in one bin are not quite "
            "equal, and a test inside bins can mistake that for unequal treatment."
        )
    if data.resolution:
        cautions.append(
            f"Scores were rounded to bins of width {figure(data.resolution, 6)}; both ends of "
            "every interval of a distance allow for it."
        )
    if data.snapped:
        cautions.append(
            f"Scores that differ by less than {data.snapped_within:.0e} of their range were "
            f"taken as equal ({_count_noun(data.snapped, 'value')})."
        )
    return cautions


def _disclosure_cautions(document: AuditDocument) -> list[str]:
    """Say what was done for single people, or what should be before others read this."""
    limit = document.settings.suppress_below
    if limit is not None:
        done = (
            f"Nothing is shown about fewer than {limit} people: smaller levels are put together, "
            f"counts are rounded to multiples of {limit}, and averages to half their standard "
            "error."
        )
        return [done]
    levels = [level.rows for contrast in document.contrasts for level in contrast.levels]
    alone = [rows for contrast in document.contrasts for rows in contrast.excluded.values()]
    # In levels that hold one group only, no rows are not few.
    counts = [n for rows in levels for n in rows.values()]
    counts += [n for rows in alone for n in rows.values() if n]
    advice = (
        f"Some figures are about fewer than {_FEW_PEOPLE} people, and may tell what one of them "
        f"scores. Before others read this, hide them: suppress_below={_FEW_PEOPLE} "
        f"(--suppress-below {_FEW_PEOPLE})."
    )
    return [advice] if any(n < _FEW_PEOPLE for n in counts) else []
