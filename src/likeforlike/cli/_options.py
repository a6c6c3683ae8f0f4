"""Options about tables that are text on the command line: who reads them, where they are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from likeforlike.errors import InputError
from likeforlike.files._engines import ENGINES, Engine

if TYPE_CHECKING:
    from likeforlike.auditing._bins import Calendar, Cut

_CALENDAR: tuple[Calendar, ...] = ("month", "quarter", "year")


def one_of(names: Sequence[str]) -> str:
    """Names to choose from, as a sentence lists them."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


LegitimateOption = Annotated[
    list[str] | None, typer.Option(help="Column that makes people equal; may be repeated.")
]
WeightOption = Annotated[str | None, typer.Option(help="Column of sample weights.")]
ClusterOption = Annotated[
    str | None, typer.Option(help="Column that says which rows belong together.")
]
ResolutionOption = Annotated[
    float | None, typer.Option(help="Round scores to bins of this width, in the engine.")
]
BinsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="COLUMN=N: cut a legitimate column at N-quantiles; COLUMN=20,30: cut it there; "
        "COLUMN=month, quarter or year: cut dates by the calendar."
    ),
]
EngineOption = Annotated[str, typer.Option(help=f"{one_of(ENGINES)}.")]


def engine_of(name: str) -> Engine:
    """The engine of this name."""
    for engine in ENGINES:
        if name == engine:
            return engine
    raise InputError(f"--engine must be {one_of(ENGINES)}, not {name!r}.")


def bins_of(given: list[str]) -> dict[str, Cut]:
    """Where columns are cut."""
    bins: dict[str, Cut] = {}
    for text in given:
        column, separator, cut = text.rpartition("=")
        words: list[Calendar] = [part for part in _CALENDAR if part == cut]
        try:
            if words:
                bins[column] = words[0]
            elif cut.isdecimal():
                bins[column] = int(cut)
            else:
                bins[column] = [float(edge) for edge in cut.split(",")]
        except ValueError:
            separator = ""
        if not separator:
            raise InputError(
                f"--bins must look like COLUMN=10, COLUMN=20000,40000 or, for dates, COLUMN=month, "
                f"not {text!r}."
            )
    return bins
