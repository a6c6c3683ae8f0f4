"""`likeforlike audit`, of a table and of summaries, and an audit through a custodian."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likeforlike.cli._options import (
    CSV_OPTIONS,
    SETTINGS,
    audit_arguments,
    csv_of,
    takes_options,
    typed_options,
)
from likeforlike.cli._pipelines import (
    deliver_pairs,
    deliver_verdict,
    judged_audit,
    policy_for,
    tell_pipeline,
)
from likeforlike.cli._shared import (
    TableFile,
    deliver,
    resampling_bar,
    tell_delivered,
    unread_output,
)
from likeforlike.errors import InputError
from likeforlike.report._terminal import Terminal, show

if TYPE_CHECKING:
    from likeforlike.auditing import Audit, Summary
    from likeforlike.document._results import Verdict

_EXIT = {"pass": 0, "fail": 1, "investigate": 3}
# Names of files with summaries end so.
_SUMMARY = ".cells"
_COLUMNS = ("score", "sensitive", "legitimate")
_JUDGED = ("threshold", "of", "policy")
_DELIVERED = ("report", "json", "junit")
# What summaries were made with.
_ALONG = ("smooth", "windows")


@takes_options(
    *_COLUMNS,
    *("weight", "cluster", "bins"),
    *_JUDGED,
    *_DELIVERED,
    "pairs",
    *SETTINGS,
    *("resolution", "salt_file", "engine"),
    *CSV_OPTIONS,
)
def audit_command(context: typer.Context, file: TableFile, **options: Any) -> None:  # noqa: ANN401
    """Audit the scores in a file.

    Exit code with --threshold, or with one in --policy: 0 pass, 1 fail, 3 investigate (the evidence
    does not settle it). 2 means wrong input or usage, 70 an internal error.
    """
    if file.name.lower().endswith(_SUMMARY):
        raise InputError(f"{file} is a summary; likeforlike audit-summaries {file} audits it.")
    _audit(context, file, options)


@takes_options(
    *_JUDGED, *_DELIVERED, *(name for name in SETTINGS if name not in _ALONG), "salt_file"
)
def audit_summaries_command(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="Files that likeforlike summarize wrote.")],
    **options: Any,  # noqa: ANN401
) -> None:
    """Audit all rows behind one summary or several that `likeforlike summarize` wrote.

    Columns, bins and resolution are those of the summaries. Exit codes are those of `audit`.
    """
    from likeforlike.auditing import Summary

    _audit(context, Summary.read(*files), options)


def _audit(context: typer.Context, source: Path | Summary, options: dict[str, Any]) -> None:
    """Audit, judge, and deliver what was asked for."""
    from likeforlike.auditing._salt_file import kept_salt
    from likeforlike.transport._numba import spare_linear_algebra

    spare_linear_algebra()
    _check_outputs(options)
    known = () if isinstance(source, Path) else source.roles.all_sensitive
    asked = audit_arguments(context, options, known)
    rules = policy_for(options["policy"], asked, needs_verdict=options["junit"] is not None)
    with ExitStack() as kept, resampling_bar(options["permutations"]) as advance:
        if options["salt_file"] is not None:
            asked["salt"] = kept.enter_context(kept_salt(options["salt_file"]))
        audited, verdict = judged_audit(source, rules, asked, advance)
    _deliver(audited, verdict, options)


def _check_outputs(options: dict[str, Any]) -> None:
    from likeforlike.files._writing import check_writable

    for name in ("report", "json", "junit", "pairs"):
        path = options.get(name)
        check_writable(None if (name, path) == ("json", "-") else path, f"--{name}")


def _deliver(audited: Audit, verdict: Verdict | None, options: dict[str, Any]) -> None:
    """Write files, print the finding, and end with the exit code of the verdict."""
    document, json = audited.document, options["json"]
    deliver_pairs(audited, options.get("pairs"))
    deliver(document, options["report"], json)
    deliver_verdict(document, options["junit"])
    # Standard output belongs to the JSON when it goes there; people read on the other stream.
    terminal = Terminal(stderr=json == "-")
    with unread_output():
        show(document, terminal)
        tell_delivered(document, options["report"], json, terminal)
        tell_pipeline(document, (options["junit"], options.get("pairs")), terminal)
    if verdict is not None:
        raise typer.Exit(_EXIT[verdict.verdict])


@takes_options(*_COLUMNS, "id", *CSV_OPTIONS)
def audit_plan_command(
    context: typer.Context,
    file: TableFile,
    out: Annotated[Path, typer.Option(help="Write the request for the custodian here.")],
    **options: Any,  # noqa: ANN401
) -> None:
    """Plan an audit without A: write a request for the custodian who holds it."""
    from likeforlike.cli._plan import write_plan

    write_plan(file, options, _csv(context, options), out)


@takes_options(
    *_COLUMNS,
    "id",
    *("permutations", "confidence", "seed", "threshold", "of"),
    *_DELIVERED,
    *CSV_OPTIONS,
)
def audit_release_command(
    context: typer.Context,
    file: TableFile,
    release: Annotated[Path, typer.Argument(help="What the custodian answered to the plan.")],
    **options: Any,  # noqa: ANN401
) -> None:
    """Audit without A: read the custodian's answer to a plan of the same file and columns.

    Exit codes are those of `audit`.
    """
    from likeforlike.cli._plan import judged_plan
    from likeforlike.transport._numba import spare_linear_algebra

    spare_linear_algebra()
    _check_outputs(options)
    asked = audit_arguments(context, options)
    audited, verdict = judged_plan(file, options, _csv(context, options), release, asked)
    _deliver(audited, verdict, options)


def _csv(context: typer.Context, options: dict[str, Any]) -> dict[str, object]:
    typed = typed_options(context)
    return csv_of({name: options[name] for name in CSV_OPTIONS if name in typed})
