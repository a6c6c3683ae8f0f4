"""`likeforlike summarize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likeforlike.cli._options import (
    BinsOption,
    ClusterOption,
    EngineOption,
    LegitimateOption,
    ResolutionOption,
    WeightOption,
    bins_of,
    engine_of,
)
from likeforlike.cli._shared import (
    DecimalMark,
    Encoding,
    NoUsualNulls,
    NullValues,
    Separator,
    Sheet,
    TableFile,
)
from likeforlike.report._terminal import Terminal


def summarize_command(
    file: TableFile,
    score: Annotated[str, typer.Option(help="Column of scores or decisions.")],
    sensitive: Annotated[
        list[str], typer.Option(help="Column whose values are the groups; may be repeated.")
    ],
    out: Annotated[Path, typer.Option(help="Write the summary here; by custom it ends in .cells.")],
    legitimate: LegitimateOption = None,
    weight: WeightOption = None,
    cluster: ClusterOption = None,
    bins: BinsOption = None,
    engine: EngineOption = "auto",
    resolution: ResolutionOption = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set; those of another do not merge.")
    ] = None,
    part: Annotated[
        str | None, typer.Option(help="What these rows are called, such as a day.")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    null_value: NullValues = None,
    no_usual_nulls: NoUsualNulls = False,  # noqa: FBT002
    decimal: DecimalMark = None,
    sheet: Sheet = None,
) -> None:
    """Summarize a file where its rows are, to be audited together with others.

    `likeforlike audit monday.cells tuesday.cells ...` audits all rows behind the summaries. Without
    --resolution every score that occurs is in the file.
    """
    from likeforlike.auditing import summarize
    from likeforlike.files._number_texts import check_decimal
    from likeforlike.files._writing import check_writable

    check_writable(out)
    summary = summarize(
        file,
        score=score,
        sensitive=sensitive,
        legitimate=legitimate or (),
        weight=weight,
        cluster=cluster,
        bins=bins_of(bins or []),
        resolution=resolution,
        dataset=dataset,
        part=part,
        engine=engine_of(engine),
        separator=separator,
        encoding=encoding,
        null_values=null_value or (),
        usual_nulls=not no_usual_nulls,
        decimal=check_decimal(decimal),
        sheet=sheet,
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
