"""The page and the summary: the document, its charts and tables, poured into templates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from likeforlike._text import p_text
from likeforlike.document import (
    AuditDocument,
    LevelAudit,
    Verdict,
    as_document,
    name_groups,
    verdict_meaning,
    verdict_origin,
    verdict_title,
)
from likeforlike.report import _format as formats
from likeforlike.report._charts import (
    DRAWN,
    NARROW_GAPS,
    SHOWN,
    WIDE_GAPS,
    band_words,
    comparison_chart,
    coverage_chart,
    distribution_charts,
    gap_chart,
    gap_curves,
    key,
    split_chart,
)
from likeforlike.report._tables import (
    TABLED,
    category_rows,
    contrast_convention_rows,
    contrast_rows,
    convention_lines,
    group_rows,
    key_figures,
    level_convention_rows,
    level_rows,
    missing_level_rows,
    settings_rows,
)

_EVIDENCE = 0.05


def page(document: AuditDocument | Mapping[str, object]) -> str:
    """One self-contained page of HTML that says what was found and shows the evidence.

    It needs no network and no script, prints well, and follows its reader's light or dark mode.
    Names from the data are escaped.

    Parameters
    ----------
    document : `Audit.document`, or its plain values, as `Audit.to_dict` or a JSON file has them.

    Returns
    -------
    the page as text.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.report import page
    >>> loans = load_loans().frame
    >>> audit = lfl.audit(loans, score="approved", sensitive="sex", legitimate="income")
    >>> page(audit.document).startswith("<!doctype html>")
    True
    """
    document = name_groups(as_document(document))
    contrast = document.contrasts[0]
    nested = contrast.nested if document.roles.legitimate else None
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            **_finding(document),
            key_figures=key_figures(document),
            wide_gaps=gap_chart(document, WIDE_GAPS),
            narrow_gaps=gap_chart(document, NARROW_GAPS),
            further_gaps=_further_gaps(document),
            curves=gap_curves(document),
            band=band_words(document),
            comparison=comparison_chart(document),
            distributions=distribution_charts(contrast),
            coverage=coverage_chart(contrast),
            excluded=missing_level_rows(contrast),
            nested=nested,
            split=None if nested is None else split_chart(nested),
            level_rows=level_rows(contrast),
            contrast_rows=contrast_rows(document) if len(document.contrasts) > 1 else [],
            conventions=convention_lines(document),
            level_conventions=level_convention_rows(document, TABLED),
            contrast_conventions=contrast_convention_rows(document),
            categories=category_rows(document),
            group_rows=group_rows(document),
            settings=settings_rows(document),
        )
    )


def summary(document: AuditDocument | Mapping[str, object]) -> str:
    """Write a short fragment of HTML for notebooks: the finding and the gap of each level.

    Its styles hold inside it only, so it can stand on any page, next to others of its kind.

    Parameters
    ----------
    document : `Audit.document`, or its plain values, as `Audit.to_dict` or a JSON file has them.

    Returns
    -------
    the fragment as text.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.report import summary
    >>> loans = load_loans(1000).frame
    >>> audit = lfl.audit(loans, score="approved", sensitive="sex", legitimate="income")
    >>> "20 points lower for women than for men" in summary(audit.document)
    True
    """
    document = name_groups(as_document(document))
    template = templates().get_template("summary.html.j2")
    return template.render(**_finding(document), wide_gaps=gap_chart(document, WIDE_GAPS))


def _differs_beyond_its_mean(level: LevelAudit) -> bool:
    """Whether a level differs by more than chance while the interval of its gap holds 0."""
    ends, p_value = level.gap_interval, level.p_adjusted
    if ends is None or p_value is None or p_value > _EVIDENCE:
        return False
    return ends[0] <= 0.0 <= ends[1]


def _omnibus_p(document: AuditDocument) -> str:
    """Write the p-value of all groups, and no more than the permutations could have counted."""
    if document.omnibus is None:
        return ""
    test = document.contrasts[0].test
    return p_text(document.omnibus.p_value, None if test is None else test.permutations)


def _finding(document: AuditDocument) -> dict[str, object]:
    """Collect what both templates speak of."""
    contrast = document.contrasts[0]
    return {
        "document": document,
        "roles": document.roles,
        "finding": document.finding,
        "contrast": contrast,
        "first": contrast.groups[0],
        "second": contrast.groups[1],
        "equals": bool(document.roles.legitimate),
        "shown": min(SHOWN, len(contrast.levels)),
        "beyond_means": any(map(_differs_beyond_its_mean, contrast.levels)),
        "omnibus_p": _omnibus_p(document),
        "drawn": min(DRAWN, len(contrast.levels)),
        "levels": len(contrast.levels),
        "verdicts": [_verdict(part) for part in document.verdicts],
    }


def _verdict(part: Verdict) -> dict[str, object]:
    return {
        "title": verdict_title(part),
        "meaning": verdict_meaning(part),
        "sentences": [*part.reasons, *verdict_origin(part)],
    }


def _further_gaps(document: AuditDocument) -> list[Markup]:
    """Draw the charts of levels that are folded, if there are any."""
    if len(document.contrasts[0].levels) <= SHOWN:
        return []
    return [gap_chart(document, layout, more=True) for layout in (WIDE_GAPS, NARROW_GAPS)]


@cache
def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("likeforlike.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: formats.escape_hidden(value) if isinstance(value, str) else value,
    )
    environment.filters.update(formats.FILTERS)
    keys: dict[str, Markup] = {kind: key(kind) for kind in ("full", "hollow", "dashed")}
    environment.globals["keys"] = keys
    return environment
