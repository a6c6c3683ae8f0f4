"""`likeforlike audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from likeforlike.cli._shared import (
    Encoding,
    NoUsualNulls,
    NullValues,
    Separator,
    TableFile,
    deliver,
    one_of,
    resampling_bar,
    tell_delivered,
)
from likeforlike.errors import InputError
from likeforlike.files._engines import ENGINES, Engine
from likeforlike.report._terminal import Terminal, show

if TYPE_CHECKING:
    from likeforlike.auditing._gate import GateOf
    from likeforlike.auditing._settings import Preset
    from likeforlike.disparity._measures import MeasureName
    from likeforlike.inference import Adjustment

_EXIT = {"pass": 0, "fail": 1, "investigate": 3}


def audit_command(
    file: TableFile,
    score: Annotated[str, typer.Option(help="Column of scores or decisions.")],
    sensitive: Annotated[
        list[str], typer.Option(help="Column whose values are the groups; may be repeated.")
    ],
    legitimate: Annotated[
        list[str] | None, typer.Option(help="Column that makes people equal; may be repeated.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sample weights.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column that says which rows belong together.")
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            help="COLUMN=N: cut a legitimate column at N-quantiles; COLUMN=20,30: cut it there."
        ),
    ] = None,
    smooth: Annotated[
        list[str] | None,
        typer.Option(
            help="Legitimate column of numbers to compare along, without bins; may be repeated."
        ),
    ] = None,
    windows: Annotated[
        int | None, typer.Option(help="Windows along --smooth, at most; by default n^(1/3).")
    ] = None,
    measure: Annotated[
        str,
        typer.Option(help="How much each level counts: marginal, average, uniform or overlap."),
    ] = "marginal",
    engine: Annotated[str, typer.Option(help=f"{one_of(ENGINES)}.")] = "auto",
    resolution: Annotated[
        float | None, typer.Option(help="Round scores to bins of this width, in the engine.")
    ] = None,
    permutations: Annotated[int, typer.Option(help="Permutations of the test.")] = 999,
    confidence: Annotated[float, typer.Option(help="Of intervals and bounds.")] = 0.95,
    adjustment: Annotated[
        str, typer.Option(help="Of p-values of many levels: step-down, holm or bh.")
    ] = "step-down",
    min_cell: Annotated[int, typer.Option(help="Mark levels with fewer rows of a group.")] = 20,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare all groups with this one only; of several columns, COLUMN=GROUP."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the permutations.")] = 0,
    score_range: Annotated[
        str | None, typer.Option(help="LOW,HIGH: the scores there can be; gives a certificate.")
    ] = None,
    suppress_below: Annotated[
        int | None,
        typer.Option(help="Show nothing about fewer people than this; 10 is usual."),
    ] = None,
    salt_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the salt of the fingerprint; made, for your eyes only, if it is not "
            "there. Keep it to yourself."
        ),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Of the scores, such as EUR.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="ll144: add the summary of New York City's Local Law 144."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Largest disparity allowed; sets the exit code.")
    ] = None,
    of: Annotated[
        str, typer.Option(help="What the threshold is for: distance or gap.")
    ] = "distance",
    separator: Separator = None,
    encoding: Encoding = None,
    null_value: NullValues = None,
    no_usual_nulls: NoUsualNulls = False,  # noqa: FBT002
    report: Annotated[Path | None, typer.Option(help="Write an HTML page here.")] = None,
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
) -> None:
    """Audit the scores in a file.

    Exit code with --threshold: 0 pass, 1 fail, 3 investigate (the evidence does not settle it).
    2 means wrong input or usage, 70 an error nobody expected.
    """
    from likeforlike.auditing._audit import audit
    from likeforlike.auditing._salt_file import kept_salt
    from likeforlike.files._writing import check_writable
    from likeforlike.transport._numba import spare_linear_algebra

    spare_linear_algebra()
    for path in (report, None if json == "-" else json):
        check_writable(path)
    with resampling_bar(permutations) as advance:
        audited = audit(
            file,
            score=score,
            sensitive=sensitive,
            legitimate=legitimate or (),
            weight=weight,
            cluster=cluster,
            bins=_bins(bins or []),
            smooth=smooth or (),
            windows=windows,
            measure=cast("MeasureName", measure),
            resolution=resolution,
            permutations=permutations,
            confidence=confidence,
            adjustment=cast("Adjustment", adjustment),
            min_cell=min_cell,
            reference=_reference(reference or [], sensitive),
            score_range=_score_range(score_range),
            suppress_below=suppress_below,
            salt=None if salt_file is None else kept_salt(salt_file),
            unit=unit,
            preset=cast("Preset | None", preset),
            random_state=seed,
            progress=advance,
            engine=_engine(engine),
            separator=separator,
            encoding=encoding,
            null_values=null_value or (),
            usual_nulls=not no_usual_nulls,
        )
    ruling = None if threshold is None else audited.verdict(threshold, of=cast("GateOf", of))
    document = audited.to_dict()
    deliver(document, report, json)
    # Standard output belongs to the JSON when it goes there; people read on the other stream.
    terminal = Terminal(stderr=json == "-")
    show(document, terminal)
    tell_delivered(document, report, json, terminal)
    if ruling is not None:
        raise typer.Exit(_EXIT[ruling.verdict])


def _reference(given: list[str], sensitive: list[str]) -> str | dict[str, str] | None:
    """One group, or {column: group} where groups are named with their column."""
    if not given:
        return None
    parts = [text.partition("=") for text in given]
    if all(separator and column in sensitive for column, separator, _ in parts):
        return {column: group for column, _, group in parts}
    if len(given) > 1 or len(sensitive) > 1:
        raise InputError(
            f"--reference must look like COLUMN=GROUP, once for each sensitive column, not "
            f"{given[0]!r}."
        )
    return given[0]


def _engine(name: str) -> Engine:
    for engine in ENGINES:
        if name == engine:
            return engine
    raise InputError(f"--engine must be {one_of(ENGINES)}, not {name!r}.")


def _score_range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"--score-range must look like 0,1, not {text!r}.") from error
    return low, high


def _bins(given: list[str]) -> dict[str, int | list[float]]:
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
