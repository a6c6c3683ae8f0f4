"""Options about tables that are text on the command line: who reads them, where they are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from likeforlike.errors import InputError
from likeforlike.files._engines import ENGINES, Engine


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
        help="COLUMN=N: cut a legitimate column at N-quantiles; COLUMN=20,30: cut it there."
    ),
]
EngineOption = Annotated[str, typer.Option(help=f"{one_of(ENGINES)}.")]


def engine_of(name: str) -> Engine:
    """The engine of this name."""
    for engine in ENGINES:
        if name == engine:
            return engine
    raise InputError(f"--engine must be {one_of(ENGINES)}, not {name!r}.")


def bins_of(given: list[str]) -> dict[str, int | list[float]]:
    """Where columns are cut."""
    bins: dict[str, int | list[float]] = {}
    for text in given:
        column, separator, cut = text.rpartition("=")
        try:
            bins[column] = int(cut) if cut.isdecimal() else [float(edge) for edge in cut.split(",")]
        except ValueError:
            separator = ""
        if not separator:
            raise InputError(
                f"--bins must look like COLUMN=10 or COLUMN=20000,40000, not {text!r}."
            )
    return bins
