"""`likeforlike audit`, of a table and of summaries, and `likeforlike summarize`, which makes these.

In pipelines an audit may be judged by a policy, written for build servers, and shown next to a run
on GitHub. `likeforlike audit-plan` and `audit-release` audit through a custodian: they are the side
of those who do not see A.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from likeforlike.cli._monitoring import deliver_periods
from likeforlike.cli._options import (
    CSV_OPTIONS,
    SETTINGS,
    audit_arguments,
    bins_of,
    collect_options,
    csv_of,
    engine_of,
    takes_options,
)
from likeforlike.cli._shared import (
    TableFile,
    deliver,
    report_files,
    resampling_bar,
    unread_output,
)
from likeforlike.errors import InputError
from likeforlike.report import Terminal, show

if TYPE_CHECKING:
    from likeforlike.auditing import Audit, Evidence, Policy, Summary
    from likeforlike.document import AuditDocument, ThresholdOf, Verdict
    from likeforlike.monitoring import PeriodAudits
    from likeforlike.sensitivity import Drivers, Sensitivity, Specifications
    from likeforlike.teams import AuditPlan

_STEP_SUMMARY, _ACTIONS = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"


def policy_for(
    file: Path | None, asked: Mapping[str, object], *, needs_verdict: bool
) -> Policy | None:
    """Read the policy in a file, if there is one; refuse options that contradict each other."""
    from likeforlike.auditing import Policy

    policy = None if file is None else Policy.read(file)
    if policy is not None:
        policy.refuse(asked)
    if "of" in asked and "threshold" not in asked:
        raise InputError("--of says what --threshold is for; give one.")
    judged = "threshold" in asked or (policy is not None and policy.thresholds)
    if needs_verdict and not judged:
        raise InputError("--junit needs a verdict; give --threshold, or a --policy with one.")
    return policy


def audit_and_judge(
    source: Path | Summary,
    policy: Policy | None,
    asked: Mapping[str, object],
    progress: Callable[[int], None] | None,
) -> tuple[Audit, Verdict | None]:
    """Audit by a policy or by options, and say what the thresholds of either say."""
    from likeforlike.auditing import Policy

    for role in ("score", "sensitive"):
        if policy is None and isinstance(source, Path) and role not in asked:
            raise InputError(f"--{role} must name a column; a policy can do so, too (--policy).")
    gate = {name: asked[name] for name in ("threshold", "of") if name in asked}
    arguments = {name: asked[name] for name in asked.keys() - gate.keys()}
    # Without a policy everything is said by options: that of a policy that says nothing.
    audited = (policy or Policy("none", {}, ())).audit(source, **arguments, progress=progress)
    if gate:
        audited = audited.with_threshold(
            cast("float | str", gate["threshold"]),
            of=cast("ThresholdOf", gate.get("of", "distance")),
        )
    return audited, audited.verdicts[-1] if audited.verdicts else None


def deliver_verdict(document: AuditDocument, junit: Path | None) -> None:
    """Write the JUnit file that was asked for, and add to the summary of a step on GitHub."""
    from likeforlike.files import write_whole
    from likeforlike.integrations import github_summary
    from likeforlike.integrations import junit as junit_text

    if junit is not None:
        write_whole(junit, junit_text(document))
    target = os.environ.get(_STEP_SUMMARY)
    if target:
        try:
            with open(target, "a", encoding="utf-8") as file:
                file.write(github_summary(document))
        except OSError as error:
            raise InputError(
                f"{target} ({_STEP_SUMMARY}) cannot be written: {error.strerror or error}."
            ) from error


def deliver_pairs(audit: Audit, file: Path | None) -> None:
    """Write the pairs furthest apart, of every level of every contrast."""
    from likeforlike.auditing import pairs_csv
    from likeforlike.files import write_whole

    if file is not None:
        found = (
            pair
            for place, contrast in enumerate(audit.contrasts)
            for level in contrast.levels
            for pair in audit.pairs(level.level, contrast=place)
        )
        write_whole(file, pairs_csv(found))


def tell_pipeline(
    document: AuditDocument, files: Sequence[Path | None], terminal: Terminal
) -> None:
    """Name the files, and tell GitHub what the verdict is."""
    from likeforlike.integrations import github_annotations

    for file in files:
        if file is not None:
            terminal.print(f"Written: {file}")
    if os.environ.get(_ACTIONS) == "true":
        for command in github_annotations(document):
            # Neither wrapped nor styled: a runner reads whole lines.
            terminal.file.write(f"{command}\n")


_EXIT = {"pass": 0, "fail": 1, "investigate": 3}
# Names of files with summaries end so.
_SUMMARY = ".cells"
_COLUMNS = ("score", "sensitive", "legitimate")
_JUDGED = ("threshold", "of", "policy")
_DELIVERED = ("report", "json", "junit", "public_summary")
_DOUBTED = ("sensitivity", "candidate", "model", "contributions")
# What summaries were made with.
_ALONG = ("smooth", "windows")


@takes_options(
    *_COLUMNS,
    *("weight", "cluster", "bins", "by"),
    *_JUDGED,
    *_DOUBTED,
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
    *(*_JUDGED, "sensitivity"),
    *_DELIVERED,
    *(name for name in SETTINGS if name not in _ALONG),
    "salt_file",
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
    from likeforlike.auditing import read_or_create_salt
    from likeforlike.transport import skip_blas_import

    skip_blas_import()
    _check_outputs(options)
    known = () if isinstance(source, Path) else source.roles.all_sensitive
    asked = audit_arguments(context, options, known)
    cuts = _take_candidate_bins(asked, options.get("candidate") or ())
    if "by" in asked and (named := [name for name in _DOUBTED if options.get(name)]):
        raise InputError(f"--{named[0]} and --by do not go together; audit one period for it.")
    rules = policy_for(options["policy"], asked, needs_verdict=options["junit"] is not None)
    with ExitStack() as kept, resampling_bar(options["permutations"]) as advance:
        if options["salt_file"] is not None:
            asked["salt"] = kept.enter_context(read_or_create_salt(options["salt_file"]))
        audited, verdict = audit_and_judge(source, rules, asked, advance)
        if "by" not in asked:
            audited = examine_doubts(audited, options, cuts, advance)
    if "by" in asked:
        if options["pairs"] is not None:
            raise InputError("--pairs and --by do not go together; audit one period for pairs.")
        deliver_periods(cast("PeriodAudits", audited), verdict, options)
        return
    _deliver(audited, verdict, options)


def _take_candidate_bins(asked: dict[str, object], candidates: Sequence[str]) -> dict[str, object]:
    """Take the bins of candidates out of those of the audit."""
    bins = dict(cast("Mapping[str, object]", asked.pop("bins", {})))
    own = {column: cut for column, cut in bins.items() if column not in candidates}
    asked.update({"bins": own} if own else {})
    return {column: cut for column, cut in bins.items() if column in candidates}


def examine_doubts(
    audited: Audit,
    options: Mapping[str, Any],
    cuts: Mapping[str, object],
    progress: Callable[[int], None] | None,
) -> Audit:
    """Add sensitivity, specifications and drivers to an audit, as far as they are asked for."""
    model, given = options.get("model"), options.get("contributions")
    found: list[tuple[Sensitivity, ...] | Specifications | Drivers] = []
    if model is not None and given is not None:
        raise InputError("--model and --contributions say the same; give one of them.")
    if options.get("sensitivity"):
        of_gap = options.get("of") == "gap"
        threshold = options.get("threshold") if of_gap else None
        found.append(audited.sensitivity(threshold=_as_threshold(threshold)))
    if options.get("candidate"):
        found.append(
            audited.specifications(options["candidate"], bins=cuts, progress=progress)  # type: ignore[arg-type]
        )
    if model is not None or given is not None:
        from likeforlike.auditing import contributions, read_contributions, read_inputs
        from likeforlike.sensitivity import load_trees

        if model is not None:
            trees = load_trees(model)
            inputs = read_inputs(cast("Evidence", audited.evidence), trees)
            found.append(audited.drivers(contributions(trees, inputs), inputs=inputs))
        elif given is not None:
            found.append(audited.drivers(read_contributions(given)))
    return audited.with_results(*found) if found else audited


def _as_threshold(text: str | None) -> float | str | None:
    """Read a threshold that was checked with the verdict."""
    return text if text is None or text.strip().endswith("%") else float(text)


def _check_outputs(options: dict[str, Any]) -> None:
    from likeforlike.files import check_writable

    for name in (*_DELIVERED, "pairs"):
        path = options.get(name)
        flag = f"--{name.replace('_', '-')}"
        check_writable(None if (name, path) == ("json", "-") else path, flag)


def _deliver(audited: Audit, verdict: Verdict | None, options: dict[str, Any]) -> None:
    """Write files, print the finding, and end with the exit code of the verdict."""
    document, json = audited.document, options["json"]
    deliver_pairs(audited, options.get("pairs"))
    deliver(document, options["report"], json)
    if options["public_summary"] is not None:
        audited.to_public_summary(options["public_summary"])
    deliver_verdict(document, options["junit"])
    # Standard output belongs to the JSON when it goes there; people read on the other stream.
    terminal = Terminal(stderr=json == "-")
    with unread_output():
        show(document, terminal)
        report_files(document, options["report"], json, terminal)
        others = (options["junit"], options["public_summary"], options.get("pairs"))
        tell_pipeline(document, others, terminal)
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
    from likeforlike.transport import skip_blas_import

    skip_blas_import()
    _check_outputs(options)
    asked = audit_arguments(context, options)
    audited, verdict = audit_plan_release(file, options, _csv(context, options), release, asked)
    _deliver(audited, verdict, options)


def _csv(context: typer.Context, options: dict[str, Any]) -> dict[str, object]:
    typed = collect_options(context)
    return csv_of({name: options[name] for name in CSV_OPTIONS if name in typed})


@takes_options(
    *("score", "sensitive", "legitimate", "weight", "cluster", "bins", "resolution", "engine"),
    *CSV_OPTIONS,
)
def summarize_command(
    context: typer.Context,
    file: TableFile,
    out: Annotated[Path, typer.Option(help="Write the summary here; by custom it ends in .cells.")],
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set; those of another do not merge.")
    ] = None,
    part: Annotated[
        str | None, typer.Option(help="What these rows are called, such as a day.")
    ] = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Summarize a file where its rows are, to be audited together with others.

    `likeforlike audit-summaries monday.cells tuesday.cells ...` audits all rows behind the
    summaries. Without --resolution every score that occurs is in the file.
    """
    from likeforlike.auditing import summarize
    from likeforlike.files import check_writable

    for role in ("score", "sensitive"):
        if not options[role]:
            raise InputError(f"--{role} must name a column.")
    check_writable(out, "--out")
    typed = collect_options(context)
    summary = summarize(
        file,
        score=options["score"],
        sensitive=options["sensitive"],
        legitimate=options["legitimate"] or (),
        weight=options["weight"],
        cluster=options["cluster"],
        bins=bins_of(options["bins"] or []),
        resolution=options["resolution"],
        dataset=dataset,
        part=part,
        engine=engine_of(options["engine"]),
        csv=csv_of({name: options[name] for name in CSV_OPTIONS if name in typed}),
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


def write_plan(
    file: Path, options: Mapping[str, Any], csv: Mapping[str, object], request: Path
) -> None:
    """Write the request of a plan, for the custodian."""
    from likeforlike.files import check_writable

    check_writable(request, "--out")
    plan = _plan(file, options, csv)
    plan.request.write(request)
    Terminal().print(
        f"Written: {request} ({len(plan.request.ids):,} rows in {plan.request.n_codes:,} bins). "
        "Send it to the custodian, and read the answer with likeforlike audit-release."
    )


def audit_plan_release(
    file: Path,
    options: Mapping[str, Any],
    csv: Mapping[str, object],
    release: Path,
    asked: Mapping[str, object],
) -> tuple[Audit, Verdict | None]:
    """Return the audit that a release makes of a plan, and the verdict at a threshold."""
    from likeforlike.teams import Release

    audited = _plan(file, options, csv).read(
        Release.read(release),
        confidence=options["confidence"],
        permutations=options["permutations"],
        random_state=options["seed"],
    )
    if "threshold" not in asked:
        return audited, None
    of = cast("ThresholdOf", options["of"])
    verdict = audited.verdict(cast("float | str", asked["threshold"]), of=of)
    return audited.with_verdict(verdict), verdict


def _plan(file: Path, options: Mapping[str, Any], csv: Mapping[str, object]) -> AuditPlan:
    from likeforlike.files import csv_options
    from likeforlike.teams import audit_plan, read_columns

    score, legitimate, known_by = options["score"], options["legitimate"] or [], options["id"]
    if score is None:
        raise InputError("--score must name the column of scores or decisions.")
    if known_by is None:
        raise InputError("--id must name the column by which the custodian knows the rows.")
    read = read_columns(
        file, [score, *legitimate, known_by], number=score, options=csv_options(csv)
    )
    levels = None
    if legitimate:
        import polars as pl

        levels = pl.DataFrame([read[name].alias(name) for name in legitimate])
    return audit_plan(
        read[score],
        levels,
        read[known_by],
        score=score,
        sensitive=", ".join(options["sensitive"] or ("group",)),
        legitimate=tuple(legitimate),
    )
