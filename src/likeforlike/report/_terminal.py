"""An audit as people read it on a terminal: the finding as text, levels as a table.

Labels come from data that anybody may have written, so nothing in them is obeyed: neither the
markup and emoji that rich knows nor characters that steer a terminal.
"""

from __future__ import annotations

import errno
import os
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
_SHOWN_REASONS = 6
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
    for part in [] if document is None else document.verdicts:
        lines += _verdict_lines(part)
    lines += [] if document is None else _doubt_lines(document)
    return Text("\n").join(lines)


def _verdict_lines(part: Verdict) -> list[Text]:
    from likeforlike.document import verdict_meaning, verdict_origin, verdict_title

    title = Text(visible(verdict_title(part)), "bold")
    title.append(f" ({verdict_meaning(part)}).", "not bold")
    said = [*part.reasons[:_SHOWN_REASONS], *verdict_origin(part)]
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
    from likeforlike.document import amount, name_groups

    others = name_groups(document).contrasts[1:]
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
    from likeforlike.document import name_groups

    contrast = name_groups(document).contrasts[0]
    first, second = (visible(group) for group in contrast.groups)
    levels = contrast.levels
    hidden = len(levels) - _SHOWN_LEVELS
    unit = document.settings.unit
    table = Table(
        title=f"Levels by contribution; a positive gap means that {second} scores higher"
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
