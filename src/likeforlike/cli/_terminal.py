"""What people read on a terminal: the finding as text, levels and runs as tables, errors.

Labels come from data that anybody may have written, so nothing in them is obeyed: neither the
markup and emoji that rich knows nor characters that steer a terminal.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from likeforlike._text import figure, p_text, visible

if TYPE_CHECKING:
    from likeforlike.document._types import AuditFigures, FindingPart, VerdictPart
    from likeforlike.experiments._sweep import Sweep

_SHOWN_LEVELS = 12
_SHOWN_CONTRASTS = 8
_SHOWN_REASONS = 6
# Letters in a line of the heading of a group; the names of levels need the room.
_GROUP_WIDTH = 8


class Terminal(Console):
    """A console that shows text as it is written."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Say so, where rich would leave with the exit code of a verdict."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render_str(self, text: str, **settings: Any) -> Text:  # noqa: ANN401
        """Every text that is printed passes here, be it alone or in a table."""
        return super().render_str(visible(text, keep="\n"), **settings)


def say_error(words: str) -> None:
    """Say in one line, on standard error, what is wrong."""
    line = visible(" ".join(f"likeforlike: {words}".split()))
    Terminal(stderr=True).print(line, style="red", soft_wrap=True)


def summary_text(
    finding: FindingPart,
    document: AuditFigures | None = None,
) -> Text:
    """The finding, the other contrasts, cautions, and what gates said and why."""
    lines = [Text(visible(finding["headline"]), "bold")]
    lines += [Text(visible(sentence)) for sentence in finding["sentences"]]
    lines += [] if document is None else [Text(visible(line)) for line in _others(document)]
    lines += [Text(f"! {visible(caution)}", "yellow") for caution in finding["cautions"]]
    for part in [] if document is None else document["verdicts"]:
        lines += _verdict_lines(part)
    return Text("\n").join(lines)


def _verdict_lines(part: VerdictPart) -> list[Text]:
    from likeforlike.document._verdict_words import (
        verdict_meaning,
        verdict_origin,
        verdict_title,
    )

    title = Text(visible(verdict_title(part)), "bold")
    title.append(f" ({verdict_meaning(part)}).", "not bold")
    said = [*part["reasons"][:_SHOWN_REASONS], *verdict_origin(part)]
    return [title, *(Text(visible(f"  {sentence}")) for sentence in said)]


def _others(document: AuditFigures) -> list[str]:
    """All contrasts but the first, a line each, and how many are left out."""
    from likeforlike.document._names import named_groups

    others = named_groups(document)["contrasts"][1:]
    lines = [
        f"  {' and '.join(contrast['groups'])}: gap {figure(contrast['gap']['value'])}"
        + ("" if contrast["p_value"] is None else f" (p = {p_text(contrast['p_value'])})")
        for contrast in others[:_SHOWN_CONTRASTS]
    ]
    hidden = len(others) - len(lines)
    heading = ["Other pairs of groups, second minus first:"] if lines else []
    return [*heading, *lines, *([f"  and {hidden:,} more"] if hidden > 0 else [])]


def level_table(document: AuditFigures) -> Table:
    """The levels that contribute most, with their sizes."""
    from likeforlike.document._names import named_groups

    contrast = named_groups(document)["contrasts"][0]
    first, second = (visible(group) for group in contrast["groups"])
    levels = contrast["levels"]
    hidden = len(levels) - _SHOWN_LEVELS
    table = Table(
        title=f"Levels by contribution; a positive gap means that {second} scores higher",
        caption=f"and {hidden:,} more levels" if hidden > 0 else None,
        title_justify="left",
    )
    table.add_column("level", overflow="fold")
    for group, rows in ((first, contrast["rows"][0]), (second, contrast["rows"][1])):
        wide = max(4, len(f"{rows:,}"), min(len(group), _GROUP_WIDTH))
        table.add_column(f"{group}\nrows", justify="right", overflow="fold", width=wide)
    for heading in ("distance", "by\nchance", "gap", "p,\nadj."):
        table.add_column(heading, justify="right", no_wrap=True)
    for level in levels[:_SHOWN_LEVELS]:
        table.add_row(
            visible(level["name"]) + (" (thin)" if level["thin"] else ""),
            *(f"{rows:,}" for rows in level["rows"].values()),
            figure(level["distance"]),
            _number(level["null_distance"]),
            f"{'+' if level['gap'] > 0.0 else ''}{figure(level['gap'])}",
            _number(level["p_adjusted"]),
        )
    return table


def _number(value: float | None) -> str:
    return "" if value is None else figure(value)


def sweep_table(sweep: Sweep) -> Table:
    """What a sweep found, one line for each method and strength."""
    performance = "AUC" if sweep.task == "classification" else "squared error"
    table = Table(title="Means over the splits, on test rows; * no other run beats")
    for heading in (
        "method",
        "strength",
        performance,
        "conditional W1",
        "estimate",
        "overall W1",
        "",
    ):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    best = {(run["method"], run["strength"]) for run in sweep.frontier().best}
    for run in sweep.means().to_dicts():
        table.add_row(
            run["method"],
            f"{run['strength']:g}",
            f"{run['performance']:.4f} ± {run['performance_sd'] or 0.0:.4f}",
            f"{run['cdd_marginal']:.4f} ± {run['cdd_marginal_sd'] or 0.0:.4f}",
            f"{max(0.0, run['squared']) ** 0.5:.4f}",
            f"{run['dd']:.4f}",
            "*" if (run["method"], run["strength"]) in best else "",
        )
    return table
