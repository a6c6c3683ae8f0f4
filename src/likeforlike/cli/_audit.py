"""`likeforlike audit`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from likeforlike.cli._pipelines import (
    deliver_pairs,
    deliver_verdict,
    given_options,
    judged_audit,
    policy_for,
    source_of,
    tell_pipeline,
)
from likeforlike.cli._shared import (
    NULL_OPTIONS,
    DecimalMark,
    Encoding,
    NoUsualNulls,
    NullValues,
    Separator,
    Sheet,
    TableFiles,
    deliver,
    resampling_bar,
    tell_delivered,
    unread_output,
)
from likeforlike.errors import InputError
from likeforlike.report._terminal import Terminal, show

if TYPE_CHECKING:
    from likeforlike.auditing import Summary

_EXIT = {"pass": 0, "fail": 1, "investigate": 3}


def audit_command(
    context: typer.Context,
    files: TableFiles,
    score: Annotated[str | None, typer.Option(help="Column of scores or decisions.")] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(help="Column whose values are the groups; may be repeated.")
    ] = None,
    legitimate: LegitimateOption = None,
    weight: WeightOption = None,
    cluster: ClusterOption = None,
    bins: BinsOption = None,
    smooth: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of numbers, legitimate too, to compare along without bins; repeatable."
        ),
    ] = None,
    windows: Annotated[
        int | None, typer.Option(help="Windows along --smooth, at most; by default n^(1/3).")
    ] = None,
    measure: Annotated[
        str,
        typer.Option(help="How much each level counts: marginal, average, uniform or overlap."),
    ] = "marginal",
    engine: EngineOption = "auto",
    resolution: ResolutionOption = None,
    permutations: Annotated[int, typer.Option(help="Permutations of the test.")] = 999,
    confidence: Annotated[float, typer.Option(help="Of intervals and bounds.")] = 0.95,
    adjustment: Annotated[
        str, typer.Option(help="Of p-values of many levels: step-down, holm or bh.")
    ] = "step-down",
    min_cell: Annotated[int, typer.Option(help="Mark levels with fewer rows of a group.")] = 20,
    min_coverage: Annotated[
        float, typer.Option(help="Share of each group that must be compared for a pass.")
    ] = 0.5,
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
    policy: Annotated[
        Path | None,
        typer.Option(help="TOML file with roles, settings and thresholds, and who set them."),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Of the scores, such as EUR.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="ll144: add the summary of New York City's Local Law 144."),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|PERCENT",
            help="Largest disparity allowed, in units of the score, or as 5%: points of decisions "
            "and rates, else of the mean of the larger group or the reference; sets the exit code.",
        ),
    ] = None,
    of: Annotated[
        str, typer.Option(help="What the threshold is for: distance or gap.")
    ] = "distance",
    separator: Separator = None,
    encoding: Encoding = None,
    null_value: NullValues = None,
    no_usual_nulls: NoUsualNulls = False,  # noqa: FBT002
    decimal: DecimalMark = None,
    sheet: Sheet = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page here.")] = None,
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
    known_by: Annotated[
        str | None, typer.Option("--id", help="Column by which a custodian knows the rows.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Audit without A: write a request for the custodian here, and stop."),
    ] = None,
    release: Annotated[
        Path | None, typer.Option(help="Audit without A: read the custodian's answer to the plan.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write the verdict here, as JUnit XML for build servers.")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="Write people with low scores and their comparators here, as CSV."),
    ] = None,
) -> None:
    """Audit the scores in a file, or in several that `likeforlike summarize` wrote.

    Exit code with --threshold, or with one in --policy: 0 pass, 1 fail, 3 investigate (the evidence
    does not settle it). 2 means wrong input or usage, 70 an error nobody expected.
    """
    from likeforlike.auditing._salt_file import kept_salt
    from likeforlike.cli._plan import Planned, judged_plan, refuse_others, write_plan
    from likeforlike.files._csv import CsvOptions
    from likeforlike.files._number_texts import check_decimal
    from likeforlike.files._writing import check_writable
    from likeforlike.transport._numba import spare_linear_algebra

    spare_linear_algebra()
    for path in (report, None if json == "-" else json, junit, pairs):
        check_writable(path)
    if plan is not None or release is not None:
        refuse_others(context)
    planned = Planned(
        files[0],
        score,
        sensitive,
        legitimate or (),
        known_by,
        CsvOptions(
            separator,
            encoding,
            tuple(null_value or ()),
            not no_usual_nulls,
            check_decimal(decimal),
            sheet,
        ),
    )
    if plan is not None:
        write_plan(planned, plan)
        return
    source = source_of(files)
    arguments = {
        "score": score,
        "sensitive": sensitive,
        "legitimate": legitimate or (),
        "weight": weight,
        "cluster": cluster,
        "bins": bins_of(bins or []),
        "smooth": smooth or (),
        "windows": windows,
        "measure": measure,
        "resolution": resolution,
        "permutations": permutations,
        "confidence": confidence,
        "adjustment": adjustment,
        "min_cell": min_cell,
        "min_coverage": min_coverage,
        "reference": _reference(reference or [], _sensitive(source, sensitive)),
        "score_range": _score_range(score_range),
        "suppress_below": suppress_below,
        "unit": unit,
        "preset": preset,
        "random_state": seed,
        "engine": engine_of(engine),
        "separator": separator,
        "encoding": encoding,
        "null_values": null_value or (),
        "usual_nulls": not no_usual_nulls,
        "decimal": decimal,
        "sheet": sheet,
        "threshold": _threshold(threshold),
        "of": of,
    }
    asked = given_options(context, arguments, {"seed": "random_state", **NULL_OPTIONS})
    rules = policy_for(policy, asked, needs_verdict=junit is not None)
    with ExitStack() as kept, resampling_bar(permutations) as advance:
        if salt_file is not None:
            asked["salt"] = kept.enter_context(kept_salt(salt_file))
        if release is None:
            audited, ruling = judged_audit(source, rules, asked, advance)
        else:
            audited, ruling = judged_plan(
                planned,
                release,
                asked,
                {"confidence": confidence, "permutations": permutations, "seed": seed},
            )
    document = audited.document
    deliver_pairs(audited, pairs)
    deliver(document, report, json)
    deliver_verdict(document, junit)
    # Standard output belongs to the JSON when it goes there; people read on the other stream.
    terminal = Terminal(stderr=json == "-")
    with unread_output():
        show(document, terminal)
        tell_delivered(document, report, json, terminal)
        tell_pipeline(document, (junit, pairs), terminal)
    if ruling is not None:
        raise typer.Exit(_EXIT[ruling.verdict])


def _sensitive(source: Path | Summary, given: Sequence[str] | None) -> Sequence[str]:
    """The sensitive columns that are known before anything is read: summaries say theirs."""
    if given or isinstance(source, Path):
        return given or ()
    return source.roles.all_sensitive


def _reference(given: list[str], columns: Sequence[str]) -> str | dict[str, str] | None:
    """One group, or {column: group} where groups are named with their column."""
    if not given:
        return None
    parts = [text.partition("=") for text in given]
    if all(separator and column in columns for column, separator, _ in parts):
        return {column: group for column, _, group in parts}
    if len(given) > 1 or len(columns) > 1:
        raise InputError(
            f"--reference must look like COLUMN=GROUP, once for each sensitive column, not "
            f"{given[0]!r}."
        )
    return given[0]


def _threshold(text: str | None) -> float | str | None:
    """A number, or a percentage as it is written."""
    if text is None or text.strip().endswith("%"):
        return text
    try:
        return float(text)
    except ValueError as error:
        raise InputError(
            f"--threshold must be a number such as 0.05, or a percentage such as 5%, not {text!r}."
        ) from error


def _score_range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"--score-range must look like 0,1, not {text!r}.") from error
    return low, high
