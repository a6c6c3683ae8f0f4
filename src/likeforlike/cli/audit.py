"""`likeforlike audit`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from likeforlike.cli.shared import one_line_errors, resampling_bar, say_written
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike.auditing import Audit
    from likeforlike.files import Engine

__all__ = ["audit_command"]

_EXIT = {"pass": 0, "fail": 1, "investigate": 3}


def audit_command(
    file: Annotated[Path, typer.Argument(help="A .csv or .parquet file, one row a person.")],
    score: Annotated[str, typer.Option(help="Column of scores or decisions.")],
    sensitive: Annotated[str, typer.Option(help="Column whose values are the groups.")],
    legitimate: Annotated[
        list[str] | None, typer.Option(help="Column that makes people equal; may be repeated.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sample weights.")] = None,
    bins: Annotated[
        list[str] | None, typer.Option(help="COLUMN=N: cut a legitimate column at N-quantiles.")
    ] = None,
    engine: Annotated[str, typer.Option(help="auto, polars, duckdb or spark.")] = "auto",
    resolution: Annotated[
        float | None, typer.Option(help="Round scores to bins of this width, in the engine.")
    ] = None,
    permutations: Annotated[int, typer.Option(help="Permutations of the test.")] = 999,
    min_cell: Annotated[int, typer.Option(help="Mark levels with fewer rows of a group.")] = 20,
    reference: Annotated[
        str | None, typer.Option(help="Compare all groups with this one only.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the permutations.")] = 0,
    threshold: Annotated[
        float | None, typer.Option(help="Largest disparity allowed; sets the exit code.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page here.")] = None,
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
) -> None:
    """Audit the scores in a file.

    Exit code with --threshold: 0 pass, 1 fail, 3 investigate (the evidence does not settle it).
    2 means wrong input or usage.
    """
    with one_line_errors():
        from likeforlike.auditing import audit
        from likeforlike.files import check_writable, open_file
        from likeforlike.transport.compiled import spare_linear_algebra

        spare_linear_algebra()
        for path in (report, None if json == "-" else json):
            check_writable(path)
        data = open_file(file, _engine(engine))
        with resampling_bar(permutations) as advance:
            found = audit(
                data,
                score=score,
                sensitive=sensitive,
                legitimate=legitimate or (),
                weight=weight,
                bins=_bins(bins or []),
                resolution=resolution,
                permutations=permutations,
                min_cell=min_cell,
                reference=reference,
                random_state=seed,
                progress=advance,
            )
        verdict = None if threshold is None else found.gate(threshold)
        _deliver(found, report, json, verdict, threshold)
    if verdict is not None:
        raise typer.Exit(_EXIT[verdict])


def _deliver(
    found: Audit,
    report: Path | None,
    json: str | None,
    verdict: str | None,
    threshold: float | None,
) -> None:
    """Write the page and the JSON, then say what was found."""
    from likeforlike.terminal import level_table, summary_text

    if report is not None:
        found.to_html(report)
    # Standard output belongs to the JSON when it goes there; people read on the other stream.
    console = Console(stderr=json == "-")
    console.print(summary_text(found.to_dict(), verdict, threshold))
    console.print(level_table(found.to_dict()))
    if json == "-":
        sys.stdout.write(found.to_json())
    elif json is not None:
        found.to_json(json)
    say_written(console, report, json)


def _engine(name: str) -> Engine:
    for engine in ("auto", "polars", "duckdb", "spark"):
        if name == engine:
            found: Engine = engine
            return found
    raise InputError(f"--engine must be auto, polars, duckdb or spark, not {name!r}.")


def _bins(given: list[str]) -> dict[str, int]:
    bins = {}
    for text in given:
        column, separator, how_many = text.rpartition("=")
        if not separator or not how_many.isdecimal():
            raise InputError(f"--bins must look like COLUMN=10, not {text!r}.")
        bins[column] = int(how_many)
    return bins
