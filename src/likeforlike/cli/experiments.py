"""`likeforlike sweep` and `likeforlike reproduce`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from likeforlike.cli.shared import one_line_errors, training_bar
from likeforlike.errors import InputError

__all__ = ["reproduce_command", "sweep_command"]


def sweep_command(
    file: Annotated[Path, typer.Argument(help="A .csv or .parquet file, one row a person.")],
    target: Annotated[str, typer.Option(help="Column to be predicted.")],
    sensitive: Annotated[str, typer.Option(help="Column whose values are the groups.")],
    legitimate: Annotated[
        list[str] | None, typer.Option(help="Column that makes people equal; may be repeated.")
    ] = None,
    feature: Annotated[
        list[str] | None, typer.Option(help="Input of the models; all other columns by default.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="none, legitimate-only, fairleap, fairbit, wasserstein, repair, adversarial or "
            "dcfr; may be repeated."
        ),
    ] = None,
    strength: Annotated[list[float] | None, typer.Option(help="May be repeated.")] = None,
    seeds: Annotated[int, typer.Option(help="How many splits of the rows.")] = 5,
    epochs: Annotated[int, typer.Option(help="At most so many epochs.")] = 200,
    max_disparity: Annotated[
        float | None, typer.Option(help="Name the best run within this conditional disparity.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Write the model named by --max-disparity here, as JSON.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results and the journal.")] = Path(
        "sweep"
    ),
) -> None:
    """Train models at several strengths on several splits, and show what they trade.

    Finished runs are kept in OUT/journal.jsonl: a sweep that was stopped goes on where it was.
    """
    with one_line_errors():
        from likeforlike.datasets import dataset_of_table
        from likeforlike.experiments import Task, fit_model, named_methods, sweep
        from likeforlike.experiments.figures import sweep_figure
        from likeforlike.files import check_writable, open_file, write_whole
        from likeforlike.terminal import sweep_table

        if model is not None and max_disparity is None:
            raise InputError("--model needs --max-disparity, which says which model to keep.")
        check_writable(model)
        frame = open_file(file, "polars").collect()
        data, left_out = dataset_of_table(
            frame, target=target, sensitive=sensitive, legitimate=legitimate or (), features=feature
        )
        methods = named_methods(
            method or ["none", "legitimate-only", "fairleap", "fairbit"],
            strength or [0.1, 0.3, 1.0, 3.0, 10.0, 30.0],
        )
        console = Console()
        if left_out:
            console.print(f"{left_out:,} of {frame.height:,} rows lack a value and are left out.")
        task = Task(data, max_epochs=epochs, patience=max(1, epochs // 5))
        with training_bar() as progress:
            found = sweep(
                task, methods, seeds=seeds, journal=out / "journal.jsonl", progress=progress
            )
        found.write(out)
        write_whole(out / "frontier.svg", sweep_figure(found, title=file.name))
        console.print(sweep_table(found.means().to_dicts(), found.frontier().best, data.task))
        if max_disparity is not None:
            best = found.frontier().choose(max_disparity=max_disparity)
            console.print(
                f"Best within {max_disparity:g}: {best['method']} at strength "
                f"{best['strength']:g}. Audit it on rows that took no part in this."
            )
            if model is not None:
                chosen = next(each for each in methods if each.name == best["method"])
                fit_model(task, chosen, strength=best["strength"]).write(model)
                console.print(f"Written: {model}, trained on the first split", highlight=False)
        console.print(f"Written: {out}", highlight=False)


def reproduce_command(
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="adult, drug, law_school or communities; may be repeated. All of them."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Splits of every data set. 10.")] = None,
    quick: Annotated[  # noqa: FBT002
        bool, typer.Option("--quick", help="Two splits, five epochs, few strengths: a trial.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of results, figures and journals.")] = Path(
        "reproduction"
    ),
    page: Annotated[
        Path | None, typer.Option(help="Where the page goes; OUT/reproduction.md by default.")
    ] = None,
    read: Annotated[
        Path | None, typer.Option(help="Train nothing; write figures and page from this folder.")
    ] = None,
) -> None:
    """Run the paper's experiments, and set what comes out beside what the paper says.

    Finished runs are kept in OUT/journals: a reproduction that was stopped goes on where it was.
    """
    with one_line_errors():
        from likeforlike.claims.publishing import publish
        from likeforlike.experiments.paper import PAPER_DATASETS, Profile
        from likeforlike.experiments.reproduction import read_reproduction, reproduce
        from likeforlike.files import check_writable

        check_writable(page)
        target = page or out / "reproduction.md"
        if read is not None:
            found = read_reproduction(read)
        else:
            profile = Profile.quick() if quick else Profile()
            if runs is not None:
                profile = replace(profile, runs=runs)
            with training_bar() as progress:
                found = reproduce(
                    out, datasets=dataset or PAPER_DATASETS, profile=profile, progress=progress
                )
        for path in publish(found, out, target):
            Console().print(f"Written: {path}", highlight=False, markup=False)
