"""`likeforlike custodian`: the side of those who hold A."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likeforlike.cli._shared import TableFile
from likeforlike.errors import InputError
from likeforlike.report import Terminal

if TYPE_CHECKING:
    from likeforlike.teams import Ledger, Release

custodian_app: typer.Typer = typer.Typer(
    no_args_is_help=True,
    help="Hold A for others: a ledger with a budget, and answers with noise.",
)

LedgerFile = Annotated[Path, typer.Option(help="The ledger; keep it, and keep it to yourself.")]
MovedTable = Annotated[
    Path | None, typer.Option(help="Where the table is now, if it has been moved.")
]
# Beyond this a row that is singled out is known with 98% certainty.
_LARGE = 4.0


@custodian_app.command("init")
def init_command(
    table: TableFile,
    known_by: Annotated[
        str, typer.Option("--id", help="Column by which both teams know the rows.")
    ],
    sensitive: Annotated[str, typer.Option(help="Column whose values are the groups.")],
    ledger: LedgerFile,
    epsilon: Annotated[float, typer.Option(help="The whole budget.")],
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="A group that answers may name; repeat it for every group, in or out of the table."
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Of sums; far below one over the rows.")] = 1e-6,
    person: Annotated[
        str | None, typer.Option(help="Column that says whose a row is, if people have several.")
    ] = None,
) -> None:
    """Open a ledger for the table that holds A.

    Without --group the groups found in the table are said, and nothing is opened.
    """
    from likeforlike.teams import HeldTable, open_ledger

    held = HeldTable(table, known_by, sensitive, person)
    custodian = open_ledger(held, ledger, epsilon, delta, group or ())
    terminal = Terminal()
    terminal.print(
        f"Opened {ledger} for {len(custodian.groups)} groups ({', '.join(custodian.groups)}), "
        f"with a budget of epsilon = {epsilon:g} at delta = {delta:g}."
    )
    if epsilon > _LARGE:
        terminal.print(
            f"epsilon = {epsilon:g} lets a row that is singled out be guessed almost surely; do "
            "not call that private."
        )


@custodian_app.command("answer")
def answer_command(
    request: Annotated[Path, typer.Argument(help="What the modelers sent: .json or .parquet.")],
    ledger: LedgerFile,
    epsilon: Annotated[float, typer.Option(help="What this answer may tell about one person.")],
    out: Annotated[Path, typer.Option(help="Write the release here, for the modelers.")],
    table: MovedTable = None,
) -> None:
    """Answer a request: book its cost, add noise, write the release."""
    from likeforlike.files import check_writable
    from likeforlike.teams import Ledger, Request, reopen

    # Nothing is booked for an answer that could not be delivered.
    check_writable(out, "--out")
    asked, book = Request.read(request), Ledger(ledger)
    before = book.spent
    release = reopen(book, table).answer(asked, epsilon=epsilon)
    _write(release, out)
    _say_written(f"{out} ({release.kind} of {len(asked.ids):,} rows)", book, before)


@custodian_app.command("randomize")
def randomize_command(
    rows: Annotated[
        Path, typer.Argument(help="A table of the modelers: the rows to answer about, by id.")
    ],
    ledger: LedgerFile,
    epsilon: Annotated[float, typer.Option(help="What the file may tell about one person.")],
    out: Annotated[Path, typer.Option(help="Write the file here, for the modelers.")],
    known_by: Annotated[
        str | None, typer.Option("--id", help="Its column of ids, if it has another name there.")
    ] = None,
    table: MovedTable = None,
) -> None:
    """Write a group for every row by randomized response: a file that is published once.

    It serves those who cannot send requests. An answer to a request says more at the same epsilon.
    """
    from likeforlike.files import check_writable
    from likeforlike.teams import Ledger, read_columns, reopen

    check_writable(out, "--out")
    book = Ledger(ledger)
    before, held = book.spent, reopen(book, table)
    name = known_by or str(book.about["id"])
    release = held.randomize(read_columns(rows, [name])[name], epsilon=epsilon)
    _write(release, out)
    kept = float(release.noise["scale"] or 0.0)
    _say_written(
        f"{out} (a group for each of {release.values.size:,} rows, the true one with probability "
        f"{kept:.3g})",
        book,
        before,
    )


@custodian_app.command("status")
def status_command(
    ledger: LedgerFile,
    receipt: Annotated[
        list[Path] | None, typer.Option(help="A release to check; may be repeated.")
    ] = None,
) -> None:
    """Say what was answered and what is left; with --receipt, whether an answer is in the ledger.

    Exit code 1 if a receipt is not in the ledger: an older copy was put in its place.
    """
    from likeforlike.teams import Ledger, Release

    book, terminal = Ledger(ledger), Terminal()
    for entry in book.entries():
        if entry["kind"] == "booking":
            what = f"epsilon {entry['epsilon']}" if entry["rho"] == "0" else f"rho {entry['rho']}"
            terminal.print(f"{entry['at']}  {entry['what']}  {what}")
    terminal.print(
        f"Spent {book.spent:.4g} of epsilon = {book.epsilon:g} at delta = {book.delta:g}; "
        f"left {book.left:.4g}."
    )
    missing = [path for path in receipt or [] if not book.holds(Release.read(path).receipt)]
    for path in missing:
        terminal.print(f"{path} is not in this ledger: an older copy was put in its place.")
    if missing:
        raise typer.Exit(1)


def _write(release: Release, out: Path) -> None:
    """Write a release; if that fails, say that it is not lost."""
    try:
        release.write(out)
    except InputError as error:
        raise InputError(
            f"{error} The answer is booked and kept in the ledger: the same request at the same "
            "epsilon gets it again and costs nothing."
        ) from error


def _say_written(what: str, book: Ledger, before: float) -> None:
    """Say what was written, what it cost and what is left."""
    spent = book.spent
    cost = (
        "It was answered before and costs nothing"
        if spent == before
        else f"It costs epsilon = {spent - before:.4g}"
    )
    Terminal().print(
        f"Written: {what}. {cost}; spent {spent:.4g} of {book.epsilon:g}, left {book.left:.4g}."
    )
