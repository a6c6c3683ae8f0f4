"""The finding in plain language, from the figures of an audit and nothing else.

It says what was measured, on how many people, with what certainty, what could not be compared, and
how groups were compared along numbers. It never says "fair".
"""

from __future__ import annotations

from likeforlike._text import figure, null_words, p_text, plural
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
    say,
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


def coarser_words(document: AuditDocument, column: str) -> str:
    """Suggest what would compare more people along a column of numbers in this audit."""
    settings, roles = document.settings, document.roles
    column = _column_name(document, column)
    bins = f"bins={{{column!r}: 10}} (--bins {column}=10)"
    refused = (
        roles.also_sensitive
        or settings.suppress_below is not None
        or settings.score_range is not None
        or settings.measure_name == "given"
        or (document.data.resolution and settings.smooth)
    )
    if refused:
        return say("finding.coarser_bins", bins=bins)
    along = f"smooth=[{column!r}] (--smooth {column})"
    return say("finding.coarser", along=along, bins=bins)


def _column_name(document: AuditDocument, label: str) -> str:
    """Find the name of a column that sentences call by its label; code needs the name."""
    labels = document.settings.labels
    return next((name for name, words in labels.items() if words == label), label)


def smooth_sentences(document: AuditDocument, contrast: ContrastAudit, smooth: Smooth) -> list[str]:
    """Describe how the groups were compared along numbers, and what bins would have shown."""
    columns, windows = join_names(smooth.columns), len(smooth.windows)
    second = contrast.groups[1]
    if smooth.method == "carry":
        how = say("finding.carried", columns=columns, windows=f"{windows:,}")
    else:
        how = say(
            "finding.shares",
            columns=columns,
            second=second,
            windows=f"{windows:,}",
            legitimate=join_names(document.roles.legitimate),
        )
    sentences = [how]
    if smooth.explained is not None:
        group, score = smooth.explained
        trees = "."
        if smooth.boosted is not None:
            one, other = (f"{share:.0%}" for share in smooth.boosted)
            trees = say("finding.trees", one=one, other=other, rows=f"{smooth.boosted_rows:,}")
        found = {"group": f"{group:.0%}", "score": f"{score:.0%}"}
        sentences.append(say("finding.explained", second=second, **found) + trees)
    if smooth.units == "numbers":
        sentences.append(say("finding.same_rows", columns=columns))
    elif smooth.units != "rows":
        key = "finding.shared" if smooth.shared > 0.0 else "finding.not_shared"
        shared = say(key, share=f"{smooth.shared:.0%}", columns=columns)
        key = "finding.near_rows" if document.roles.cluster is None else "finding.near_clusters"
        sentences.append(f"{shared} {say(key, columns=columns)}")
    # The gap of bins is that of places, not of widths, unless rows were compared.
    elif smooth.gap_confounding is not None:
        sentences.append(_bins_sentence(document, contrast, smooth, smooth.gap_confounding))
    if smooth.companion_p is not None:
        p = p_text(smooth.companion_p)
        sentences.append(say("finding.companion", columns=columns, p=p))
    return sentences


def _bins_sentence(
    document: AuditDocument, contrast: ContrastAudit, smooth: Smooth, confounding: float
) -> str:
    """Say what bins would have shown."""
    gap = contrast.gap.value
    binned = gap + confounding
    if gap < 0.0:  # as the sentences before it have the gap: by how much one group is lower
        gap, binned = -gap, -binned
    sentence = say(
        "finding.bins" if smooth.method == "carry" else "finding.bins_of_share",
        bins=smooth.bins,
        second=contrast.groups[1],
        binned=amount(document, binned),
        gap=amount(document, gap),
    )
    distance = contrast.estimate
    if smooth.confounding is None or distance is None or distance.value is None:
        return f"{sentence}."
    far = amount(document, distance.value + smooth.confounding)
    near = amount(document, distance.value)
    return sentence + say("finding.bins_far", far=far, near=near)


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
            bins = f"bins={{{_column_name(document, columns)!r}: [...]}}"
            cautions.append(say("finding.jumps", columns=columns, places=places, bins=bins))
        else:
            cautions.append(say("finding.jumps_of_share", second=second, places=places))
    if rows < _FEW_ROWS:
        cautions.append(say("finding.rough", rows=f"{rows:,}", columns=columns))
    if lacking:
        windows = f"{len(smooth.windows):,}"
        cautions.append(say("finding.empty_windows", lacking=f"{lacking:,}", windows=windows))
    if smooth.method == "propensity":
        legitimate = join_names(document.roles.legitimate)
        cautions.append(say("finding.predicted", second=second, legitimate=legitimate))
    if smooth.error > 0.0:
        cautions.append(say("finding.rounded", columns=columns, size=figure(smooth.error, 2)))
    cautions.append(say("finding.gradual", columns=columns))
    if smooth.misfit:
        missed = [say(f"finding.misfit_{name}", second=second) for name in smooth.misfit]
        cautions.append(say("finding.misfit", what=join_names(missed)))
    test, companion_p = contrast.test, smooth.companion_p
    if test is not None and companion_p is not None and test.p_value <= _ENOUGH < companion_p:
        cautions.append(say("finding.disagree", columns=columns))
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
        size = amount(document, test.detectable, 2)
        sentences.append(say("finding.detectable", size=size))
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
    return say("finding.lower", size=amount(document, abs(gap), digits), low=low, high=high)


def _gap_sentence(document: AuditDocument, contrast: ContrastAudit, gap: GapResult) -> str:
    """Write by how much groups differ on average, how sure that is, and how many were compared."""
    (first, second), rows = contrast.groups, contrast.rows
    alone = sum(level.name != OTHER_LEVELS for level in contrast.levels)
    levels = plural(alone, say("chart.level"))
    if alone < len(contrast.levels):
        levels = say("finding.and_others", levels=levels) if alone else say("finding.hidden_levels")
    both = {"first": first, "second": second, "levels": levels}
    sample = say("finding.sample", one=f"{rows[0]:,}", other=f"{rows[1]:,}", **both)
    mean = mean_name(document)
    if figure(abs(gap.value)) == "0":
        said = say("finding.same_mean", mean=mean, first=first, second=second)
    else:
        said = say("finding.mean", mean=mean, lower=_lower(document, contrast, gap.value))
    if gap.interval is None:
        return say("finding.no_interval", said=said, sample=sample)
    low, high = gap.interval
    if gap.value < 0.0:
        low, high = -high, -low
    within = say("finding.interval", share=f"{100 * gap.confidence:.4g}%")
    ends = say("finding.ends", low=amount(document, low, bare=True), high=amount(document, high))
    return f"{said} ({within} {ends}), {sample}."


def _distance_sentence(document: AuditDocument, distance: EstimateResult) -> str:
    low, high = distance.interval
    ends = say("finding.open_end", low=amount(document, low or 0.0))
    if high is not None:
        least = amount(document, low or 0.0, bare=True)
        ends = say("finding.ends", low=least, high=amount(document, high))
    within = say("finding.interval", share=f"{100 * distance.confidence:.4g}%")
    known = {"scores": score_words(document), "within": within, "ends": ends}
    if distance.value is None:
        return say("finding.no_distance", **known)
    return say("finding.distance", size=amount(document, distance.value), **known)


def _evidence_sentence(document: AuditDocument, contrast: ContrastAudit, test: ParityTest) -> str:
    chance, p_value = test.null_distance, contrast.p_value
    observed = ""
    if chance is not None:
        size, by_chance = amount(document, contrast.conditional.value), amount(document, chance, 2)
        observed = say("finding.observed", size=size, chance=by_chance) + " "
    # Not every pair need be shown, but all were tested.
    several = contrast.gap.confidence > document.settings.confidence
    adjusted = say("finding.adjusted") if several else ""
    leading = test.leading_component
    evidence = is_evidence(contrast)
    because = ""
    if evidence and leading is not None:
        because = say("finding.because", where=say(f"finding.in_{leading}"))
    known = f"{p_text(p_value or 0.0, test.permutations)}{adjusted}{because}"
    return observed + say("finding.beyond" if evidence else "finding.within", known=known)


def _overall(document: AuditDocument, contrast: ContrastAudit) -> str:
    plain = _ignoring(document, contrast, contrast.unconditional.gap, say("finding.levels"))
    if contrast.paradox == "none":
        return plain
    # A paradox is about those who are compared, who may be fewer.
    compared = contrast.compared_gap
    if compared is not None and figure(compared) != figure(contrast.unconditional.gap):
        inside = _ignoring(document, contrast, compared, say("finding.compared_levels"))
        plain = f"{plain} {inside}"
    return f"{plain} {say(f'finding.{contrast.paradox}')}"


def _ignoring(document: AuditDocument, contrast: ContrastAudit, gap: float, what: str) -> str:
    if figure(abs(gap)) == "0":
        key = "finding.same_rates" if document.data.kind == "decision" else "finding.same_means"
        return say(key, what=what)
    lower = _lower(document, contrast, gap)
    return say("finding.ignoring", what=what, mean=mean_name(document), lower=lower)


def _coverage_cautions(document: AuditDocument, contrast: ContrastAudit) -> list[str]:
    cautions = [
        say(
            "finding.unexamined",
            groups=join_names(each.groups),
            reason=each.reason,
            rows=", ".join(
                say("finding.rows", name=name, rows=f"{rows:,}") for name, rows in each.rows.items()
            ),
        )
        for each in document.unexamined
    ]
    cautions += [
        say("finding.uncovered", share=f"{1 - share:.1%}", group=group)
        for group, share in contrast.coverage.items()
        if share < 0.9995
    ]
    hidden = any(level.name == OTHER_LEVELS for level in contrast.levels)
    merged = say("finding.merged") if hidden else ""
    least = document.settings.min_cell
    cautions += [
        say("finding.thin", share=f"{share:.1%}", group=group, least=least, merged=merged)
        for group, share in contrast.thin_share.items()
        if share > 0.0005
    ]
    return cautions + _lost_sentences(document.data, document.roles)


def _lost_sentences(data: DataSummary, roles: Roles) -> list[str]:
    """Describe rows that lack a value. Several sensitive columns need not all be known."""
    several = roles.also_sensitive
    optional = [roles.sensitive, *several] if several else []
    unknown = [
        say(
            "finding.unknown",
            lost=f"{part.lost:,}",
            rows=f"{data.rows:,}",
            column=part.columns[0],
        )
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
        say("finding.lost_unknown", lost=f"{part.lost:,}")
        if part.group is None
        else say("finding.lost", lost=f"{part.lost:,}", rows=f"{part.rows:,}", group=part.group)
        for part in data.lost
        if part.lost and len(part.columns) == 1 and not (several and part.group is None)
    )
    sizes = {"dropped": f"{dropped:,}", "rows": f"{data.rows:,}"}
    counted = say("finding.dropped", lacking=lacking, **sizes)
    words = [say("finding.nulls", words=null_words(data.nulls))] if data.nulls else []
    uneven = [
        say("finding.uneven", shares=_lost_shares(data, test), p=p_text(test.p_value))
        for test in data.loss_tests
        if test.p_value <= _ENOUGH and len(test.columns) == 1
    ]
    whole = f"{counted} {say('finding.by_group', groups=by_group)}" if by_group else counted
    return [whole, *uneven, *unknown, *words]


def _lost_shares(data: DataSummary, test: LossTest) -> str:
    """Say who lost the largest and who the smallest share of rows."""
    shares = {
        part.group: part.lost / part.rows
        for part in data.lost
        if part.columns == test.columns and part.group is not None
    }
    most, least = max(shares, key=lambda g: shares[g]), min(shares, key=lambda g: shares[g])
    ends = {"large": f"{shares[most]:.1%}", "small": f"{shares[least]:.1%}"}
    return say("finding.lost_shares", most=most, least=least, **ends)


def _method_cautions(document: AuditDocument) -> list[str]:
    data = document.data
    cautions = [*data.notes] + [
        say(
            "finding.many_values",
            column=column,
            values=f"{values:,}",
            coarser=coarser_words(document, column),
        )
        for column, values in data.values.items()
        if values > _MANY_VALUES
    ]
    cut = [*data.edges, *(c for c, part in data.calendar.items() if part != "day")]
    if cut:
        cautions.append(say("finding.cut", columns=join_names(cut)))
    if data.resolution:
        cautions.append(say("finding.resolution", width=figure(data.resolution, 6)))
    if data.snapped:
        within, values = f"{data.snapped_within:.0e}", plural(data.snapped, say("finding.value"))
        cautions.append(say("finding.snapped", within=within, values=values))
    return cautions


def _disclosure_cautions(document: AuditDocument) -> list[str]:
    """Say what was done for single people, or what should be before others read this."""
    limit = document.settings.suppress_below
    if limit is not None:
        return [say("finding.suppressed", limit=limit)]
    levels = [level.rows for contrast in document.contrasts for level in contrast.levels]
    alone = [rows for contrast in document.contrasts for rows in contrast.excluded.values()]
    # In levels that hold one group only, no rows are not few.
    counts = [n for rows in levels for n in rows.values()]
    counts += [n for rows in alone for n in rows.values() if n]
    advice = say("finding.few", limit=_FEW_PEOPLE)
    return [advice] if any(n < _FEW_PEOPLE for n in counts) else []
