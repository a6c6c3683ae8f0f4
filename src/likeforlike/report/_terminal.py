"""An audit as people read it on a terminal, and as Markdown: the finding, and levels as a table.

Labels come from data that anybody may have written, so nothing in them is obeyed: neither the
markup and emoji that rich knows nor characters that steer a terminal.
"""

from __future__ import annotations

import errno
import html
import os
import re
from collections.abc import Sequence
from io import StringIO
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from likeforlike._text import figure, p_text, visible

if TYPE_CHECKING:
    from likeforlike.document import AuditDocument, ContrastAudit, Finding, Verdict

_SHOWN_LEVELS = 12
_SHOWN_CONTRASTS = 8
# Letters in a line of the heading of a group; the names of levels need the room.
_GROUP_WIDTH = 8
# Letters in a line of an audit that is printed.
_PRINTED = 100


class Terminal(Console):
    """A console that shows text as it is written."""

    def __init__(
        self, *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
    ) -> None:
        super().__init__(
            stderr=stderr, file=file, width=width, markup=False, emoji=False, highlight=False
        )

    def on_broken_pipe(self) -> None:
        """Say so, where rich would leave with the exit code of a verdict."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render_str(self, text: str, **settings: Any) -> Text:  # noqa: ANN401
        """Every text that is printed passes here, be it alone or in a table."""
        return super().render_str(visible(text, keep="\n"), **settings)


def text(document: AuditDocument) -> str:
    """Write what a terminal shows of an audit, as plain text."""
    written = StringIO()
    terminal = Terminal(file=written, width=_PRINTED)
    show(document, terminal)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def show(document: AuditDocument, terminal: Terminal) -> None:
    """Print an audit: the finding, its levels, and the summary of a preset."""
    terminal.print(summary_text(document.finding, document))
    terminal.print(level_table(document))
    if document.local_law_144:
        terminal.print(category_table(document))


def summary_text(
    finding: Finding,
    document: AuditDocument | None = None,
) -> Text:
    """Write the finding, the other contrasts, cautions, and what gates said and why."""
    lines = [Text(visible(finding.headline), "bold")]
    lines += [Text(visible(sentence)) for sentence in finding.sentences]
    lines += [] if document is None else [Text(visible(line)) for line in _others(document)]
    lines += [Text(f"! {visible(caution)}", "yellow") for caution in finding.cautions]
    for part in () if document is None else document.verdicts:
        lines += [] if document is None else _verdict_lines(document, part)
    lines += [] if document is None else _doubt_lines(document)
    return Text("\n").join(lines)


def _verdict_lines(document: AuditDocument, part: Verdict) -> list[Text]:
    from likeforlike.document import (
        spoken,
        verdict_origin,
        verdict_reasons,
        verdict_title,
        verdict_words,
    )

    named = spoken(document, quoted=True)
    part = named.verdicts[document.verdicts.index(part)]
    title = Text(visible(f"{verdict_title(part)}. {verdict_words(named, part)}."), "bold")
    said = [*verdict_reasons(named, part), *verdict_origin(part)]
    return [title, *(Text(visible(f"  {sentence}")) for sentence in said)]


def _doubt_lines(document: AuditDocument) -> list[Text]:
    """Write sensitivity, specifications and drivers in words, where they were asked for."""
    lines = []
    for title, found in (
        ("What would explain it away", [*document.sensitivity, document.specifications]),
        ("What carries it", [document.drivers]),
    ):
        asked = [each for each in found if each is not None]
        lines += [Text(title, "bold")] if asked else []
        lines += [Text(visible(f"  {words}")) for each in asked for words in each.sentences]
    return lines


def _others(document: AuditDocument) -> list[str]:
    """All contrasts but the first, a line each, and how many are left out."""
    from likeforlike.document import amount, spoken

    others = spoken(document).contrasts[1:]
    lines = [
        f"  {' and '.join(contrast.groups)}: gap {amount(document, contrast.gap.value)}"
        + ("" if contrast.p_value is None else f" ({_p_of(contrast)})")
        for contrast in others[:_SHOWN_CONTRASTS]
    ]
    hidden = len(others) - len(lines)
    heading = ["Other pairs of groups, second minus first:"] if lines else []
    return [*heading, *lines, *([f"  and {hidden:,} more"] if hidden > 0 else [])]


def _p_of(contrast: ContrastAudit) -> str:
    test = contrast.test
    return p_text(contrast.p_value or 0.0, None if test is None else test.permutations)


def level_table(document: AuditDocument) -> Table:
    """Tabulate the levels that contribute most, with their sizes."""
    from likeforlike.document import in_units, spoken

    document = in_units(spoken(document))
    contrast = document.contrasts[0]
    first, second = (visible(group) for group in contrast.groups)
    levels = contrast.levels
    hidden = len(levels) - _SHOWN_LEVELS
    unit = document.settings.unit
    table = Table(
        title=f"Levels by contribution; a positive gap means that {second} score higher"
        + (f"; in {visible(unit)}" if unit else ""),
        caption=f"and {hidden:,} more levels" if hidden > 0 else None,
        title_justify="left",
    )
    table.add_column("level", overflow="fold")
    for group, rows in ((first, contrast.rows[0]), (second, contrast.rows[1])):
        wide = max(4, len(f"{rows:,}"), min(len(group), _GROUP_WIDTH))
        table.add_column(f"{group}\nrows", justify="right", overflow="fold", width=wide)
    for heading in ("distance", "by\nchance", "gap", "p,\nadj."):
        table.add_column(heading, justify="right", no_wrap=True)
    for level in levels[:_SHOWN_LEVELS]:
        table.add_row(
            visible(level.name) + (" (thin)" if level.thin else ""),
            *(f"{rows:,}" for rows in level.rows.values()),
            figure(level.distance),
            _number(level.null_distance),
            f"{'+' if level.gap > 0.0 else ''}{figure(level.gap)}",
            _number(level.p_adjusted),
        )
    return table


def _number(value: float | None) -> str:
    return "" if value is None else figure(value)


def category_table(document: AuditDocument) -> Table:
    """Tabulate the summary of New York City's Local Law 144."""
    decided = all(part.decisions for part in document.classical)
    table = Table(
        title="Local Law 144: impact ratio over the highest rate; categories below 2% have none",
        title_justify="left",
    )
    table.add_column("category", overflow="fold")
    for heading in ("rows", "share", "selected" if decided else "above median", "impact\nratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for part in document.local_law_144:
        by = " × ".join(part.columns)
        table.add_row(
            f"{visible(by)}: {visible(part.category or 'unknown')}",
            f"{part.rows:,}",
            f"{part.share:.1%}",
            "" if part.rate is None else f"{part.rate:.1%}",
            "" if part.ratio is None else f"{part.ratio:.2f}",
        )
    return table


# What Markdown would take for its own.
_MARK = re.compile(r"([\\`*_{}\[\]()#+\-.!|~@:])")


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARK.sub(r"\\\1", html.escape(visible(text), quote=False))


def markdown(document: AuditDocument) -> str:
    """Write a section for a model card: question, verdict, figures, cautions, signatures."""
    from likeforlike.document import (
        ABOUT,
        answer,
        family_words,
        in_units,
        list_words,
        next_steps,
        page_title,
        question,
        say,
        signatures,
        spoken,
        unit_name,
        verdict_origin,
        verdict_words,
    )
    from likeforlike.report._tables import contrast_rows

    named, about = spoken(document, quoted=True), document.settings.about
    shown = in_units(spoken(document))
    lines = [f"## {escape_markdown(page_title(named))}", "", escape_markdown(question(named)), ""]
    for part in named.verdicts:
        said = " ".join([f"{verdict_words(named, part)}.", *verdict_origin(part)])
        lines += [f"**{escape_markdown(said)}**", ""]
    lines += [escape_markdown(" ".join([answer(named), *family_words(named)])), ""]
    headings = list_words("table.contrast_headings")
    lines += [escape_markdown(say("table.contrasts", unit=unit_name(shown))), ""]
    lines += _grid(headings, contrast_rows(shown))
    lines += [f"- {escape_markdown(each)}" for each in document.finding.cautions]
    lines += ["", f"**{say('next.title')}**", ""]
    lines += [f"- {escape_markdown(each)}" for each in next_steps(named)]
    made = document.provenance
    rows = [[say(f"about.{name}"), about[name]] for name in ABOUT if name in about]
    rows += [["Fingerprint", made.fingerprint], ["likeforlike", made.versions["likeforlike"]]]
    lines += ["", *_grid([say("table.setting"), say("table.value")], rows)]
    lines += _grid(list_words("signoff.headings"), [list(row) for row in signatures(named)])
    return "\n".join(lines)


def _grid(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table of Markdown, with an empty line behind it."""
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(map(_cell, line))} |" for line in lines] + [""]


def _cell(text: str) -> str:
    return text if text == "---" else escape_markdown(text)
