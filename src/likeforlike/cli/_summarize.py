"""`likeforlike summarize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from likeforlike.cli._options import (
    CSV_OPTIONS,
    bins_of,
    csv_of,
    engine_of,
    takes_options,
    typed_options,
)
from likeforlike.cli._shared import TableFile
from likeforlike.errors import InputError
from likeforlike.report._terminal import Terminal


@takes_options(
    *("score", "sensitive", "legitimate", "weight", "cluster", "bins", "resolution", "engine"),
    *CSV_OPTIONS,
)
def summarize_command(
    context: typer.Context,
    file: TableFile,
    out: Annotated[Path, typer.Option(help="Write the summary here; by custom it ends in .cells.")],
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set; those of another do not merge.")
    ] = None,
    part: Annotated[
        str | None, typer.Option(help="What these rows are called, such as a day.")
    ] = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Summarize a file where its rows are, to be audited together with others.

    `likeforlike audit-summaries monday.cells tuesday.cells ...` audits all rows behind the
    summaries. Without --resolution every score that occurs is in the file.
    """
    from likeforlike.auditing import summarize
    from likeforlike.files._writing import check_writable

    for role in ("score", "sensitive"):
        if not options[role]:
            raise InputError(f"--{role} must name a column.")
    check_writable(out, "--out")
    typed = typed_options(context)
    summary = summarize(
        file,
        score=options["score"],
        sensitive=options["sensitive"],
        legitimate=options["legitimate"] or (),
        weight=options["weight"],
        cluster=options["cluster"],
        bins=bins_of(options["bins"] or []),
        resolution=options["resolution"],
        dataset=dataset,
        part=part,
        engine=engine_of(options["engine"]),
        csv=csv_of({name: options[name] for name in CSV_OPTIONS if name in typed}),
    )
    summary.write(out)
    terminal, table = Terminal(), summary.table
    terminal.print(
        f"{table.used:,} of {table.rows:,} rows in {len(table.cells.levels):,} levels and "
        f"{len(table.cells.groups):,} groups, {table.cells.atoms.values.size:,} lines."
    )
    for note in table.notes:
        terminal.print(note)
    terminal.print(f"Written: {out}")
