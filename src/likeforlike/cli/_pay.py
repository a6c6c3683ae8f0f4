"""`likeforlike pay`: what employers report about the pay of women and men."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from likeforlike.cli._options import CSV_OPTIONS, collect_options, csv_of, takes_options
from likeforlike.cli._shared import TableFile, unread_output
from likeforlike.errors import InputError
from likeforlike.report import Terminal

_EXIT = {"pass": 0, "fail": 1, "investigate": 3}


def _file(what: str) -> Any:  # noqa: ANN401
    return typer.Option(help=f"Write {what} here.", rich_help_panel="Output")


@takes_options(*CSV_OPTIONS)
def pay_command(
    context: typer.Context,
    file: TableFile,
    base: Annotated[str, typer.Option(help="Column of base pay per year.")],
    sensitive: Annotated[str, typer.Option(help="Column that says who is a woman or a man.")],
    variable: Annotated[str | None, typer.Option(help="Column of variable pay per year.")] = None,
    category: Annotated[str | None, typer.Option(help="Column of categories of workers.")] = None,
    hours: Annotated[str | None, typer.Option(help="Column of hours.")] = None,
    hours_unit: Annotated[
        str, typer.Option(help="Hours per year, month or week, or shares of a full-time job.")
    ] = "year",
    full_time: Annotated[
        float | None, typer.Option(help="Hours of a full-time year, for full-time.")
    ] = None,
    id: Annotated[  # noqa: A002
        str | None, typer.Option(help="Column of people, whose contracts are added up.")
    ] = None,
    women: Annotated[str | None, typer.Option(help="Value for women, such as 1.")] = None,
    men: Annotated[str | None, typer.Option(help="Value for men, such as 2.")] = None,
    trigger: Annotated[
        str | None,
        typer.Option(
            help="List categories from this gap on, and end with an exit code; 5% if not given."
        ),
    ] = None,
    suppress_below: Annotated[
        int, typer.Option(help="Show nothing about fewer people; 0 shows everything.")
    ] = 10,
    currency: Annotated[str, typer.Option(help="Of the pay.")] = "EUR",
    report: Annotated[Path | None, _file("the page")] = None,
    csv: Annotated[Path | None, _file("all figures as CSV")] = None,
    xlsx: Annotated[Path | None, _file("all figures as an Excel file")] = None,
    egapro: Annotated[
        Path | None, _file("the categories as egapro imports them, with --suppress-below 0,")
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write JSON here; - prints it.", rich_help_panel="Output")
    ] = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Report the pay gap of women and men, by category, with what chance alone would give.

    Exit code with --trigger: 0 if all categories are below, 1 if one reaches it by more than
    chance, 3 if that cannot be said. 2 means wrong input or usage, 70 an internal error.
    """
    from likeforlike.files import check_writable, write_whole
    from likeforlike.payroll import pay

    paths = {"report": report, "csv": csv, "xlsx": xlsx, "egapro": egapro}
    paths["json"] = None if json in (None, "-") else Path(str(json))
    for name, path in paths.items():
        check_writable(path, f"--{name}")
    if egapro is not None and suppress_below:
        raise InputError("--egapro holds exact averages of every category; add --suppress-below 0.")
    typed = collect_options(context)
    found = pay(
        file,
        base=base,
        sensitive=sensitive,
        variable=variable,
        category=category,
        hours=hours,
        hours_unit=hours_unit,  # type: ignore[arg-type]  # it is checked there
        full_time=full_time,
        id=id,
        women=women,
        men=men,
        trigger=trigger or "5%",
        suppress_below=suppress_below or None,
        currency=currency,
        csv=csv_of({name: options[name] for name in CSV_OPTIONS if name in typed}),
    )
    writes: dict[str, Callable[[Path], None]] = {
        "report": lambda path: write_whole(path, found.to_html()),
        "csv": found.to_csv,
        "xlsx": found.to_xlsx,
        "egapro": found.to_egapro,
        "json": lambda path: write_whole(path, found.to_json()),
    }
    for name, path in paths.items():
        if path is not None:
            writes[name](path)
    terminal = Terminal(stderr=json == "-")
    with unread_output():
        terminal.print(str(found), markup=False, highlight=False)
        if json == "-":
            sys.stdout.write(found.to_json())
        for path in paths.values():
            if path is not None:
                terminal.print(f"Written: {path}")
    if trigger is not None:
        raise typer.Exit(_EXIT[found.verdict])
