"""`likeforlike demo` and `likeforlike datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from likeforlike.cli._shared import deliver, resampling_bar, tell_delivered
from likeforlike.errors import InputError
from likeforlike.report._terminal import Terminal, level_table, summary_text

if TYPE_CHECKING:
    from rich.table import Table

    from likeforlike.document._training_types import TrainingFigures, TrainingPart

_DATASET_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("name", "left"),
    ("rows", "right"),
    ("size", "right"),
    ("state", "left"),
    ("license", "left"),
)


def demo_command(
    report: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("loans.html"),
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
) -> None:
    """Audit the embedded loan data, then train networks with and without a penalty.

    Training needs the extra `train`; without it there is the audit alone.
    """
    from likeforlike.cli import _demonstration as demonstration
    from likeforlike.files._writing import check_writable

    for path in (report, None if json == "-" else json):
        check_writable(path)
    terminal = Terminal(stderr=json == "-")
    with resampling_bar(999) as advance:
        document = demonstration.audit_loans(advance).to_dict()
    terminal.print(summary_text(document["finding"]))
    terminal.print(level_table(document))
    whole = demonstration.demonstration_document(document, _training(terminal))
    deliver(whole, report, json)
    tell_delivered(whole, report, json, terminal)


def _training(terminal: Terminal) -> TrainingPart | None:
    """Train, compare and say what came of it; where that is not possible, say what to install."""
    from likeforlike._progress import epochs_bar
    from likeforlike.cli import _demonstration as demonstration

    try:
        demonstration.check_extras()
    except InputError as error:
        terminal.print(f"Nothing was trained: {error}", soft_wrap=True)
        return None
    with epochs_bar(demonstration.EPOCHS, wanted=True) as tick:
        scored = demonstration.train_models(tick=tick)
    # One audit for each network, and one for the repair.
    audits = len(scored.strengths) + 1
    with resampling_bar(demonstration.PERMUTATIONS, audits) as advance:
        training = demonstration.compare_models(scored, progress=advance)
    terminal.print(_network_table(training))
    terminal.print(summary_text(training["finding"]))
    return training


def _network_table(training: TrainingFigures) -> Table:
    from rich.table import Table

    from likeforlike.report._training import network_rows

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
    for dataset in available():
        size = f"{dataset.size / 1e6:.1f} MB"
        table.add_row(dataset.name, f"{dataset.rows:,}", size, dataset.state, dataset.license)
    Terminal().print(table)
