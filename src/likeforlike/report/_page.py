"""The page and the summary: the document, its charts and tables, poured into templates.

A page has three layers. The first screen answers: the question, the verdict, who, how much, how
sure, one picture, and what to do next. Then comes the evidence, and what is folded is for those who
want to know how. Parts of the second and third layer are `Section`s, made by the functions in
`EVIDENCE` and `APPENDIX`; all have one template, so that a further part is a function here, a chart
if it has one, and its words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from likeforlike._text import p_text, plural
from likeforlike.document import (
    ABOUT,
    AuditDocument,
    LevelAudit,
    answer,
    as_document,
    equals,
    family_words,
    in_units,
    join_names,
    list_words,
    next_steps,
    page_title,
    question,
    say,
    signatures,
    spoken,
    start,
    unit_name,
    verdict_origin,
    verdict_reasons,
    verdict_words,
)
from likeforlike.document import (
    EVIDENCE as EVIDENCE_P,
)
from likeforlike.report import _format as formats
from likeforlike.report import _tables as tables
from likeforlike.report._charts import (
    DRAWN,
    MOST_LINES,
    NARROW_GAPS,
    SHOWN,
    WIDE_GAPS,
    comparison_chart,
    contrast_chart,
    coverage_chart,
    distribution_charts,
    gap_chart,
    gap_curves,
    key,
    split_chart,
)
from likeforlike.report._doubts import doubt_sections
from likeforlike.report._format import confidence, count, number, percent
from likeforlike.report._tables import Table

_FIRST_LEVELS = 6


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page; everything in it may be left out.

    Attributes
    ----------
    name : its id, and the key of its heading in the catalog, unless there is a `title`.
    notes : paragraphs.
    figures : charts, each with a heading or none and drawings for desks and phones.
    tables : with caption, headings and rows; folded where they say so.
    points : of a list.
    terms : words, each with what it means.
    legend : marks of a chart, each with its meaning.
    look : "pair" sets figure and notes side by side, "many" sets figures in columns, and "cautions"
        marks what to read with care.
    """

    name: str
    notes: tuple[str, ...] = ()
    figures: tuple[tuple[str, tuple[Markup, ...]], ...] = ()
    tables: tuple[Table, ...] = ()
    points: tuple[str, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    legend: tuple[tuple[Markup, str], ...] = ()
    folded: tuple[str, tuple[Markup, ...]] | None = None
    look: str = ""
    title: str | None = None

    @property
    def heading(self) -> str:
        """Its heading."""
        return self.title or say(f"section.{self.name}")


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
    document = as_document(document)
    shown = in_units(spoken(document))
    layers = {
        layer: [section for make in makes if (section := make(shown)) is not None]
        for layer, makes in (("evidence", EVIDENCE), ("appendix", APPENDIX))
    }
    layers["evidence"] += [
        Section(name, tuple(notes), (("", (chart,)),) if chart else (), title=title)
        for name, title, notes, chart in doubt_sections(shown)
    ]
    return (
        templates()
        .get_template("page.html.j2")
        .render(**_first_screen(document), **layers, version=_version(document))
    )


def summary(document: AuditDocument | Mapping[str, object]) -> str:
    """Write a short fragment of HTML for notebooks: the first screen of the page.

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
    >>> "Women are approved less often than men" in summary(audit.document)
    True
    """
    document = as_document(document)
    return templates().get_template("summary.html.j2").render(**_first_screen(document))


def public_summary(document: AuditDocument | Mapping[str, object]) -> str:
    """Write the public summary of LL144 with its required fields."""
    shown = spoken(as_document(document))
    return templates().get_template("public.html.j2").render(**tables.public_fields(shown))


def _first_screen(document: AuditDocument) -> dict[str, object]:
    """Collect what is seen at once."""
    shown = in_units(spoken(document))
    quoted = spoken(document, quoted=True)
    about = document.settings.about
    many = len(document.contrasts) > 1
    curves = [] if many else gap_curves(shown)
    if many:
        picture, caption = contrast_chart(shown), _contrast_caption(shown)
    elif curves:
        picture, caption = curves[0].narrow, _curve_caption(shown)
    else:
        picture = gap_chart(shown, NARROW_GAPS, first=0, last=_FIRST_LEVELS)
        caption = _gap_caption(shown)
    return {
        "title": page_title(quoted),
        "facts": [about[name] for name in ("model", "version", "owner", "date") if name in about],
        "purpose": about.get("purpose"),
        "question": question(quoted),
        "verdicts": [(part.verdict, verdict_words(quoted, part)) for part in quoted.verdicts],
        "answer": answer(quoted),
        "family": family_words(quoted),
        "picture": picture,
        "caption": caption,
        "steps": next_steps(quoted),
        "finding": document.finding,
    }


def _version(document: AuditDocument) -> str:
    return document.provenance.versions["likeforlike"]


def _contrast_caption(document: AuditDocument) -> str:
    key = "note.matrix" if is_matrix(document) else "note.forest"
    return say(key, unit=unit_name(document))


def is_matrix(document: AuditDocument) -> bool:
    """Whether contrasts are too many for a line each."""
    return len(document.contrasts) > MOST_LINES and not document.roles.also_sensitive


def _curve_caption(document: AuditDocument) -> str:
    return say("note.band", confidence=confidence(document.settings.confidence))


def _gap_caption(document: AuditDocument) -> str:
    contrast = document.contrasts[0]
    first, second = contrast.groups
    ends = "note.gaps_order" if len(contrast.levels) > 1 else "note.gaps_end"
    text = say("note.gaps", first=first, second=second, unit=unit_name(document))
    return start(text) + say(ends)


def _why(document: AuditDocument) -> Section | None:
    """Say why a verdict is what it is, and who set the threshold."""
    if not document.verdicts:
        return None
    points = [
        sentence
        for part in document.verdicts
        for sentence in (*verdict_reasons(document, part), *verdict_origin(part))
    ]
    return Section("verdicts", points=tuple(points))


def _contrasts(document: AuditDocument) -> Section | None:
    contrasts = document.contrasts
    if len(contrasts) < 2:
        return None
    notes = []
    if document.omnibus is not None:
        test = contrasts[0].test
        p = p_text(document.omnibus.p_value, None if test is None else test.permutations)
        notes.append(say("note.omnibus", groups=document.omnibus.groups, p=p))
    widest = max(contrasts, key=lambda each: each.conditional.value)
    if widest is not contrasts[0]:
        first, second = widest.groups
        size = f"{number(widest.conditional.value)} {unit_name(document)}"
        notes.append(start(say("note.widest", first=first, second=second, size=size)))
    fold = say("fold.contrasts", count=count(len(contrasts))) if len(contrasts) > MOST_LINES else ""
    table = (
        say("table.contrasts", unit=unit_name(document)),
        list_words("table.contrast_headings"),
        tables.contrast_rows(document),
        fold,
        "contrasts",
    )
    return Section("contrasts", tuple(notes), tables=(table,))


def _along(document: AuditDocument) -> Section | None:
    contrast, curves = document.contrasts[0], gap_curves(document)
    smooth = contrast.smooth
    if smooth is None or not curves:
        return None
    how = {
        "windows": len(smooth.windows),
        "second": contrast.groups[1],
        "columns": join_names(document.roles.legitimate),
    }
    notes = [say(f"note.{smooth.method}", **how), _curve_caption(document)]
    if smooth.units == "rows" and smooth.gap_confounding is not None:
        gap = contrast.gap.value
        sizes = {"value": number(gap), "binned": number(gap + smooth.gap_confounding)}
        notes.append(say("note.bins", count=smooth.bins, **sizes))
    figures = tuple((curve.category, (curve.wide, curve.narrow)) for curve in curves)
    title = say("section.along", columns=join_names(smooth.columns))
    return Section("along", tuple(notes), figures, title=title)


def _gaps(document: AuditDocument) -> Section | None:
    """Draw the gap of every level; along numbers the curve says it, and windows are folded."""
    return None if document.contrasts[0].smooth is not None else _draw_levels(document)


def _windows(document: AuditDocument) -> Section | None:
    return None if document.contrasts[0].smooth is None else _draw_levels(document)


def _draw_levels(document: AuditDocument) -> Section:
    contrast = document.contrasts[0]
    levels = len(contrast.levels)
    drawn, notes = min(DRAWN, levels), [_gap_caption(document)]
    if drawn < levels:
        others = plural(levels - drawn, "other level")
        others += " is" if levels - drawn == 1 else " are"
        notes.append(say("note.drawn", drawn=drawn, others=others))
    charts = tuple(gap_chart(document, layout) for layout in (WIDE_GAPS, NARROW_GAPS))
    folded = None
    if levels > SHOWN:
        further = (
            gap_chart(document, layout, first=SHOWN, last=DRAWN)
            for layout in (WIDE_GAPS, NARROW_GAPS)
        )
        words = say("fold.further", count=plural(drawn - SHOWN, "further level"))
        folded = words, tuple(further)
    return Section("gaps", tuple(notes), (("", charts),), legend=_legend(document), folded=folded)


def _legend(document: AuditDocument) -> tuple[tuple[Markup, str], ...]:
    contrast = document.contrasts[0]
    thin = say("legend.thin", count=count(document.settings.min_cell))
    marks = [(key("hollow"), say("legend.untested"))]
    if contrast.p_value is not None:
        beyond = any(map(_differs_beyond_its_mean, contrast.levels))
        full = say("legend.full_beyond" if beyond else "legend.full")
        marks = [(key("full"), full), (key("hollow"), say("legend.hollow"))]
    if any(level.thin for level in contrast.levels):
        marks.append((key("dashed"), thin))
    return tuple(marks)


def _differs_beyond_its_mean(level: LevelAudit) -> bool:
    """Whether a level differs by more than chance while the interval of its gap holds 0."""
    ends, p_value = level.gap_interval, level.p_adjusted
    if ends is None or p_value is None or p_value > EVIDENCE_P:
        return False
    return ends[0] <= 0.0 <= ends[1]


def _against(document: AuditDocument) -> Section:
    contrast = document.contrasts[0]
    alone = "" if document.roles.legitimate else "_alone"
    notes = [say(f"note.against{alone}")]
    if contrast.paradox != "none":
        notes.insert(0, say(f"note.{contrast.paradox}", equals=equals(document)))
    if contrast.estimate is not None:
        notes.append(say("note.estimate"))
    figure = ("", (comparison_chart(document),))
    title = say(f"section.against{alone}")
    return Section("against", tuple(notes), (figure,), look="pair", title=title)


def _coverage(document: AuditDocument) -> Section:
    contrast = document.contrasts[0]
    notes = [say("note.coverage", count=count(document.settings.min_cell))]
    if not contrast.excluded:
        notes.append(say("note.full"))
    points = tuple(
        f"{join_names(part.groups)}: {part.reason} "
        + ", ".join(f"{name}: {plural(rows, 'row')}" for name, rows in part.rows.items())
        for part in document.unexamined
    )
    figure = ("", (coverage_chart(contrast),))
    return Section("coverage", tuple(notes), (figure,), points=points, look="pair")


def _cautions(document: AuditDocument) -> Section | None:
    cautions = document.finding.cautions
    return Section("cautions", points=cautions, look="cautions") if cautions else None


def _signoff(document: AuditDocument) -> Section:
    rows = [list(row) for row in signatures(document)]
    table = (say("signoff.caption"), list_words("signoff.headings"), rows, "", "plain")
    return Section("signoff", tables=(table,))


def _figures(document: AuditDocument) -> Section:
    said = document.finding.headline, *document.finding.sentences
    return Section("figures", notes=said, terms=tuple(tables.key_figures(document)))


def _scores(document: AuditDocument) -> Section | None:
    contrast = document.contrasts[0]
    charts = distribution_charts(contrast)
    if not charts:
        return None
    first, second = contrast.groups
    title = say("section.scores" if document.roles.legitimate else "section.scores_alone")
    figures = tuple((level, (chart,)) for level, chart in charts)
    note = say("note.scores", first=first, second=second)
    return Section("scores", (note,), figures, look="many", title=title)


def _levels(document: AuditDocument) -> Section:
    contrast = document.contrasts[0]
    first, second = (formats.shorten(group, 30) for group in contrast.groups)
    rows = tables.level_rows(contrast)
    names = {"first": first, "second": second}
    caption = say("table.levels", unit=unit_name(document), **names)
    table = (caption, list_words("table.level_headings", **names), rows, "", "levels")
    notes = []
    if len(contrast.levels) > len(rows):
        more = plural(len(contrast.levels) - len(rows), "more level")
        more += " is" if len(contrast.levels) - len(rows) == 1 else " are"
        notes = [say("note.levels_left", levels=more)]
    return Section("levels", tuple(notes), tables=(table,))


def _whereabouts(document: AuditDocument) -> Section:
    contrast, found = document.contrasts[0], []
    roles, data = document.roles, document.data
    if roles.also_sensitive or data.lost or document.unexamined:
        caption, headings = say("table.groups"), list_words("table.group_headings")
        found.append((caption, headings, tables.group_rows(document), "", ""))
    excluded, notes = tables.missing_level_rows(contrast), [say("note.whereabouts")]
    if excluded:
        headings = [say("table.level"), say("table.rows")]
        rows = [list(row) for row in excluded]
        found.append((say("table.excluded"), headings, rows, "", "plain"))
        left = len(contrast.excluded) - len(excluded)
        notes += [say("note.excluded_left", count=count(left))] if left else []
    elif not found:
        notes = [say("note.full")]
    return Section("whereabouts", tuple(notes), tables=tuple(found))


def _split(document: AuditDocument) -> Section | None:
    contrast = document.contrasts[0]
    nested = contrast.nested if document.roles.legitimate else None
    if nested is None:
        return None
    first, second = contrast.groups
    whole = {"value": number(nested.value), "root": number(nested.root)}
    notes = [say("note.split", first=first, second=second, **whole)]
    if nested.diagonal_mass < 0.9995:
        share, cost = percent(nested.diagonal_mass), number(nested.level_cost)
        notes.append(say("note.split_across", share=share, cost=cost))
    else:
        notes.append(say("note.split_alike"))
    return Section("split", tuple(notes), (("", (split_chart(nested),)),), look="pair")


def _conventions(document: AuditDocument) -> Section | None:
    if not document.classical:
        return None
    part = document.classical[0]
    one, other = part.groups
    found: list[Table] = [
        (
            say("table.convention_levels", one=one, other=other),
            list_words("table.convention_level_headings"),
            tables.level_convention_rows(document, tables.TABLED),
            say("fold.convention_levels") if len(part.levels) > SHOWN else "",
            "",
        )
    ]
    if len(document.classical) > 1:
        several = (
            say("table.convention_contrasts"),
            list_words("table.convention_contrast_headings"),
            tables.contrast_convention_rows(document),
            say("fold.convention_contrasts") if len(document.classical) > MOST_LINES else "",
            "",
        )
        found.append(several)
    note = say("note.conventions", one=one, other=other, confidence=confidence(part.confidence))
    terms = tuple(tables.convention_lines(document))
    return Section("conventions", (note,), tables=tuple(found), terms=terms)


def _ll144(document: AuditDocument) -> Section | None:
    rows = tables.category_rows(document)
    if not rows:
        return None
    decided = all(part.decisions for part in document.classical)
    note = say("note.ll144", selected=say("note.selected" if decided else "note.above"))
    table = (say("table.ll144"), list_words("table.ll144_headings"), rows, "", "")
    return Section("ll144", (note,), tables=(table,))


def _reading(document: AuditDocument) -> Section:
    contrast = document.contrasts[0]
    second, first = contrast.groups[1], contrast.groups[0]
    words = ["disparity", "conditional", "gap", "estimate", "interval", "p", "adjusted", "coverage"]
    if not document.roles.legitimate:
        words.remove("conditional")
    parts = {
        "first": first,
        "second": second,
        "confidence": confidence(contrast.gap.confidence),
    }
    if contrast.certificate is not None:
        words.append("certificate")
        bounds = contrast.certificate
        parts |= {"lower": number(bounds.lower), "upper": number(bounds.upper)}
        parts["confidence"] = confidence(bounds.confidence)
    terms = tuple((say(f"reading.{word}"), say(f"reading.{word}_text", **parts)) for word in words)
    return Section("reading", terms=terms)


def _settings(document: AuditDocument) -> Section:
    about = document.settings.about
    said = [[say(f"about.{name}"), about[name]] for name in ABOUT if name in about]
    rows = [*said, *(list(row) for row in tables.settings_rows(document))]
    headings = [say("table.setting"), say("table.value")]
    return Section("settings", tables=((say("table.settings"), headings, rows, "", "plain"),))


Make = Callable[[AuditDocument], Section | None]
EVIDENCE: tuple[Make, ...] = (
    _why,
    _signoff,
    _contrasts,
    _along,
    _gaps,
    _against,
    _coverage,
    _cautions,
)
"""The second layer, in the order of the page: what the first screen rests on."""
APPENDIX: tuple[Make, ...] = (
    _figures,
    _windows,
    _scores,
    _levels,
    _whereabouts,
    _split,
    _conventions,
    _ll144,
    _reading,
    _settings,
)
"""The third layer, folded: method, conventions, settings, data, fingerprint."""


@cache
def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("likeforlike.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: formats.escape_hidden(value) if isinstance(value, str) else value,
        bytecode_cache=_CompiledTemplates(),
    )
    environment.filters.update(formats.FILTERS)
    environment.globals["say"] = say
    return environment


class _CompiledTemplates(FileSystemBytecodeCache):
    """Templates compiled to bytecode, kept where Python keeps that of modules.

    They are compiled again if a template, jinja2, Python or the settings in this file have changed,
    or if what is kept cannot be read.
    """

    def __init__(self) -> None:
        sources = (Path(__file__), Path(str(formats.__file__)))
        settings = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
        folder = Path(__file__).parent / "templates" / "__pycache__"
        super().__init__(str(folder), f"%s-{settings}.jinja")

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001 whatever a damaged file raises
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):  # an installation may be read-only, a disk full
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)
