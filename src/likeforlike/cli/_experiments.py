"""`likeforlike sweep` and `likeforlike reproduce`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likeforlike._text import null_words
from likeforlike.cli._options import CSV_OPTIONS, one_of, takes_options
from likeforlike.cli._shared import TableFile, one_column, sweep_notes, sweep_table, training_bar
from likeforlike.errors import InputError, MissingDependencyError
from likeforlike.experiments import METHOD_NAMES, PAPER_DATASETS, PAPER_METHOD_NAMES
from likeforlike.report import Terminal

if TYPE_CHECKING:
    from likeforlike.experiments import Method, Task
    from likeforlike.paper import Profile


@takes_options(*CSV_OPTIONS)
def sweep_command(
    file: TableFile,
    target: Annotated[str, typer.Option(help="Column to be predicted.")],
    sensitive: Annotated[list[str], typer.Option(help="Column whose values are the groups.")],
    legitimate: Annotated[
        list[str] | None, typer.Option(help="Column that makes people equal; may be repeated.")
    ] = None,
    feature: Annotated[
        list[str] | None, typer.Option(help="Input of the models; all other columns by default.")
    ] = None,
    smooth: Annotated[
        str | None,
        typer.Option(help="Legitimate number along which people are compared, without bins."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{one_of(METHOD_NAMES)}; or one of the paper's, {one_of(PAPER_METHOD_NAMES)}, or "
            "paper for all of these; may be repeated."
        ),
    ] = None,
    strength: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[METHOD=]NUMBER[,...]",
            help="Of all methods that have strengths, or of one, as dcfr=0.1,1,10; may be "
            "repeated. The paper's methods have their own.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many splits of the rows.")] = 5,
    epochs: Annotated[int, typer.Option(help="Largest number of epochs.")] = 200,
    max_disparity: Annotated[
        float | None, typer.Option(help="Name the best run within this conditional disparity.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Write the model named by --max-disparity here, as JSON.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Work on the Dask cluster whose scheduler is there."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results and the journal.")] = Path(
        "sweep"
    ),
    **csv: Any,  # noqa: ANN401
) -> None:
    """Train models at several strengths on several splits, and show what they trade.

    Finished runs are kept in OUT/journal.jsonl: a sweep that was stopped goes on where it was.
    """
    from likeforlike.datasets import dataset_of_table, read_table
    from likeforlike.experiments import Task, as_network, dask_executor, fit_model, sweep, sweep_svg
    from likeforlike.files import CsvOptions, check_decimal, check_writable, write_whole

    _check_limit(max_disparity, model)
    check_writable(model, "--model")
    group, levels = one_column(sensitive), [*(legitimate or []), *([smooth] if smooth else [])]
    frame, nulls, notes = read_table(
        file,
        CsvOptions(
            csv["separator"],
            csv["encoding"],
            tuple(csv["null_value"] or ()),
            not csv["no_usual_nulls"],
            check_decimal(csv["decimal"]),
            csv["sheet"],
        ),
        named=[target, group, *levels, *(feature or [])],
        groups=[group, *(legitimate or [])],
    )
    data, left_out = dataset_of_table(
        frame,
        target=target,
        sensitive=group,
        legitimate=levels,
        features=feature,
        smooth=smooth,
    )
    methods = _chosen_methods(method, strength, smooth=smooth is not None)
    if model is not None:
        for each in methods:
            as_network(each)
    terminal = Terminal()
    for note in notes:
        terminal.print(note)
    if left_out:
        read_as = f" Read as missing: {null_words(nulls)}." if nulls else ""
        terminal.print(
            f"{left_out:,} of {frame.height:,} rows lack a value and are left out.{read_as}"
        )
    task = Task(data, max_epochs=epochs, patience=max(1, epochs // 5), smooth=smooth is not None)
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        with dask_executor(dask) as executor, training_bar() as progress:
            finished = sweep(
                task,
                methods,
                seeds=seeds,
                journal=out / "journal.jsonl",
                executor=executor,
                progress=progress,
            )
    finished.write(out)
    try:
        write_whole(out / "frontier.svg", sweep_svg(finished, title=file.name))
    except MissingDependencyError as missing:
        terminal.print(f"No picture: {missing}")
    terminal.print(sweep_table(finished))
    terminal.print(sweep_notes(finished))
    for words in dict.fromkeys(str(complaint.message) for complaint in complaints):
        terminal.print(words[0].upper() + words[1:])
    if max_disparity is not None:
        best = finished.frontier().choose(max_disparity=max_disparity)
        terminal.print(
            f"Best within {max_disparity:g}: {best['method']} at strength "
            f"{best['strength']:g}. Audit it on rows that took no part in this."
        )
        if model is not None:
            chosen = next(each for each in methods if each.name == best["method"])
            fit_model(task, chosen, strength=best["strength"]).save(model)
            terminal.print(f"Written: {model}, trained on the first split")
    terminal.print(f"Written: {out}")


def _check_limit(max_disparity: float | None, model: Path | None) -> None:
    """Complain about a limit before anything is trained."""
    from likeforlike.training import Limit

    if max_disparity is not None:
        Limit(max_disparity)
    elif model is not None:
        raise InputError("--model needs --max-disparity, which says which model to keep.")


def _chosen_methods(
    names: list[str] | None, given: list[str] | None, *, smooth: bool
) -> list[Method]:
    """Methods by their names, ours and the paper's, with their strengths."""
    from likeforlike.experiments import named_methods

    usual = ["none", "legitimate-only", "fairleap", *([] if smooth else ["fairbit"])]
    asked = [name for name in names or usual if name not in ("paper", *PAPER_METHOD_NAMES)]
    shared, of_method = _strengths(given or [])
    methods = named_methods(
        asked, shared or [0.1, 0.3, 1.0, 3.0, 10.0, 30.0], of_method=of_method, smooth=smooth
    )
    papers = [name for name in names or [] if name in PAPER_METHOD_NAMES]
    if "paper" in (names or []):
        papers = list(PAPER_METHOD_NAMES)
    if papers:
        from likeforlike.paper import paper_methods

        methods += paper_methods(papers)
    return methods


def _strengths(given: list[str]) -> tuple[list[float], dict[str, list[float]]]:
    """Strengths of all methods, and those of single ones."""
    shared: list[float] = []
    of_method: dict[str, list[float]] = {}
    for text in given:
        name, _, numbers = text.rpartition("=")
        try:
            values = [float(number) for number in numbers.split(",")]
        except ValueError as error:
            raise InputError(
                f"--strength takes a number, or METHOD=NUMBER as in dcfr=0.1,1,10, not {text!r}."
            ) from error
        (of_method.setdefault(name, []) if name else shared).extend(values)
    return shared, of_method


def reproduce_command(
    dataset: Annotated[
        list[str] | None,
        typer.Option(help=f"{one_of(PAPER_DATASETS)}; may be repeated. All of them."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Splits of every data set. 10.")] = None,
    quick: Annotated[  # noqa: FBT002
        bool, typer.Option("--quick", help="Two splits, one epoch, few strengths: a trial.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of results, figures and journals.")] = Path(
        "reproduction"
    ),
    page: Annotated[
        Path | None, typer.Option(help="Where the page goes; OUT/reproduction.md by default.")
    ] = None,
    read: Annotated[
        Path | None,
        typer.Option(help="Train nothing but --method; the rest is what this folder holds."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Name in the tables; may be repeated. All of them.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Run the protocol on this table in place of the paper's data sets."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Of --file: column to be predicted.")] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(help="Of --file: column whose values are the groups.")
    ] = None,
    legitimate: Annotated[
        list[str] | None, typer.Option(help="Of --file: column that makes people equal.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Of --file: rows of a batch.")] = 256,
) -> None:
    """Run the paper's experiments, and compare what comes out with what the paper says.

    Finished runs are kept in OUT/journals: a reproduction that was stopped goes on where it was.
    With --file the same methods are run on a table of your own, without the paper's claims.
    """
    from likeforlike.files import check_writable
    from likeforlike.paper import Profile, protocol_methods, publish, read_reproduction, reproduce

    check_writable(page, "--page")
    first = page or out / "reproduction.md"
    kept = None if read is None else read_reproduction(read)
    if kept is not None and not method:
        reproduction = kept
    else:
        profile = Profile.quick() if quick else Profile()
        if runs is not None:
            profile = replace(profile, runs=runs)
        own = _own_task(file, target, sensitive, legitimate, batch_size, profile)
        with training_bar() as progress:
            trained = reproduce(
                out,
                datasets=own or dataset or PAPER_DATASETS,
                methods=protocol_methods(method),
                profile=profile,
                progress=progress,
            )
        reproduction = trained if kept is None else kept.renewed(trained)
    for path in publish(reproduction, out, first):
        Terminal().print(f"Written: {path}")


def _own_task(
    file: Path | None,
    target: str | None,
    sensitive: list[str] | None,
    legitimate: list[str] | None,
    batch_size: int,
    profile: Profile,
) -> dict[str, Task] | None:
    """Make a task of the user's own table, by the name of its file; `None` without a file."""
    from likeforlike.datasets import dataset_of_table, read_table
    from likeforlike.files import CsvOptions
    from likeforlike.paper import protocol_task

    if file is None:
        if target or sensitive or legitimate:
            raise InputError("--target, --sensitive and --legitimate need --file.")
        return None
    if target is None:
        raise InputError("--file needs --target, the column to be predicted.")
    group, levels = one_column(sensitive), legitimate or []
    frame, _, _ = read_table(
        file, CsvOptions(), named=[target, group, *levels], groups=[group, *levels]
    )
    data, left_out = dataset_of_table(frame, target=target, sensitive=group, legitimate=levels)
    if left_out:
        Terminal().print(f"{left_out:,} rows lack a value and are left out.")
    return {file.stem: protocol_task(data, batch_size, profile)}
