"""`likeforlike demo` and `likeforlike datasets`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from likeforlike.cli.shared import one_line_errors, resampling_bar, say_written
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["datasets_command", "demo_command"]

_DATASET_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("name", "left"),
    ("rows", "right"),
    ("size", "right"),
    ("state", "left"),
    ("licence", "left"),
)


def demo_command(
    report: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("loans.html"),
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
) -> None:
    """Audit the embedded loan data, then train networks with and without a penalty.

    Training needs the extra `train`; without it there is the audit alone.
    """
    with one_line_errors():
        from likeforlike import demonstration
        from likeforlike.files import check_writable, write_whole
        from likeforlike.report import page
        from likeforlike.terminal import level_table, summary_text

        for path in (report, None if json == "-" else json):
            check_writable(path)
        console = Console(stderr=json == "-")
        with resampling_bar(999) as advance:
            found = demonstration.audit_loans(advance)
        console.print(summary_text(found.to_dict()))
        console.print(level_table(found.to_dict()))
        document = demonstration.demonstration_document(found, _training(console))
        write_whole(report, page(document))
        text = dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if json == "-":
            sys.stdout.write(text)
        elif json is not None:
            write_whole(json, text)
        say_written(console, report, json)


def _training(console: Console) -> dict[str, Any] | None:
    """Train, compare and say what came of it; where that is not possible, say what to install."""
    from likeforlike import demonstration
    from likeforlike.progress import epochs_bar
    from likeforlike.terminal import summary_text

    try:
        demonstration.check_extras()
    except InputError as error:
        console.print(
            f"Nothing was trained: {error}", highlight=False, markup=False, soft_wrap=True
        )
        return None
    with epochs_bar(demonstration.EPOCHS, wanted=True) as tick:
        scored = demonstration.train_models(tick=tick)
    # One audit for each network, and one for the repair.
    audits = len(scored.strengths) + 1
    with resampling_bar(demonstration.PERMUTATIONS, audits) as advance:
        training = demonstration.compare_models(scored, progress=advance)
    console.print(_network_table(training))
    console.print(summary_text(training))
    return training


def _network_table(training: Mapping[str, Any]) -> Table:
    from rich.table import Table

    from likeforlike.report.training import network_rows

    data = training["data"]
    table = Table(
        title=f"What training can do about it: {data['rows']:,} loans drawn with a disparity of "
        f"{data['gap']:g},\n{data['held_out']:,} of them held out for these figures",
        title_justify="left",
    )
    table.add_column("network")
    for heading in ("AUC", "estimate", "interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for row in network_rows(training):
        table.add_row(*row[:5], row[-1])
    return table


def datasets_command() -> None:
    """List the public data sets and where their files are; nothing is fetched."""
    from rich.table import Table

    from likeforlike.datasets import available

    table = Table(
        caption="Read one with likeforlike.datasets.load_<name>().", caption_justify="left"
    )
    for heading, justify in _DATASET_COLUMNS:
        table.add_column(heading, justify=justify)
    for found in available():
        size = f"{found.size / 1e6:.1f} MB"
        table.add_row(found.name, f"{found.rows:,}", size, found.state, found.licence)
    Console().print(table)
