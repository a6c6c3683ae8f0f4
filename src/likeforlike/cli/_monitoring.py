"""`likeforlike compare` and `likeforlike monitor`, and what `likeforlike audit --by` delivers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from likeforlike.cli._options import CSV_OPTIONS, audit_arguments, takes_options
from likeforlike.cli._shared import TableFile, unread_output
from likeforlike.errors import InputError
from likeforlike.report import Terminal

if TYPE_CHECKING:
    from likeforlike.document import Outcome, Verdict
    from likeforlike.monitoring import PeriodAudits

_EXIT = {"pass": 0, "fail": 1, "investigate": 3}
_OUTCOMES: dict[str, Outcome] = {
    "better": "pass", "not worse": "pass", "worse": "fail", "undecided": "investigate",
}  # fmt: skip


class _Result(Protocol):
    def to_json(self) -> str: ...
    def to_html(self) -> str: ...


def _check_outputs(*files: tuple[str, Path | str | None]) -> None:
    from likeforlike.files import check_writable

    for option, file in files:
        check_writable(None if file in (None, "-") else file, option)


def _deliver(
    found: _Result, text: str, report: Path | None, json: str | None, junit: Path | None
) -> None:
    """Write files, and print what was found."""
    from likeforlike.files import write_whole

    if report is not None:
        write_whole(report, found.to_html())
    if json is not None and json != "-":
        write_whole(json, found.to_json())
    terminal = Terminal(stderr=json == "-")
    with unread_output():
        terminal.print(text, soft_wrap=True)
        if json == "-":
            typer.echo(found.to_json())
        for file in (report, None if json == "-" else json, junit):
            if file is not None:
                terminal.print(f"Written: {file}")


def _tell_pipeline(title: str, cases: list[tuple[str, Outcome, str]], junit: Path | None) -> None:
    """Write the JUnit file, and tell GitHub, as for verdicts."""
    from likeforlike.files import write_whole
    from likeforlike.integrations import case_annotations, case_junit, case_summary

    if junit is not None:
        write_whole(junit, case_junit(title, cases))
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if target:
        try:
            with open(target, "a", encoding="utf-8") as file:
                file.write(case_summary(title, cases))
        except OSError as error:
            raise InputError(
                f"{target} (GITHUB_STEP_SUMMARY) cannot be written: {error.strerror or error}."
            ) from error
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in case_annotations(title, cases):
            typer.echo(line)


@takes_options(
    *("sensitive", "legitimate", "weight", "cluster", "bins", "of", "report", "json", "junit"),
    *("measure", "confidence", "reference", "seed", "engine"),
    *CSV_OPTIONS,
)
def compare_command(
    context: typer.Context,
    file: TableFile,
    score: Annotated[
        list[str], typer.Option(help="Column of scores, once for each; the first is the champion.")
    ],
    target: Annotated[str | None, typer.Option(help="Column of outcomes.")] = None,
    margin: Annotated[
        float, typer.Option(help="A disparity larger by no more than this is not worse.")
    ] = 0.0,
    scale: Annotated[
        str | None, typer.Option(help="same: the scores have one unit; ranks: compare ranks.")
    ] = None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Compare scores of the same rows: which has the smaller disparity among equals.

    Exit code: 0 better or not worse, 1 worse, 3 undecided.
    """
    from likeforlike.cli._shared import one_column
    from likeforlike.monitoring import compare

    _check_outputs(*((f"--{name}", options[name]) for name in ("report", "json", "junit")))
    column = one_column(options["sensitive"])
    asked = audit_arguments(context, options | {"score": score})
    named: dict[str, Any] = {
        **{name: value for name, value in asked.items() if name not in ("score", "sensitive")},
        "scale": scale,
    }
    found = compare(file, scores=score, sensitive=column, target=target, margin=margin, **named)
    cases = [
        (f"{pair.scores[1]} against {pair.scores[0]}, {' and '.join(pair.groups)}",
         _OUTCOMES[pair.verdict], sentence)
        for pair, sentence in zip(found.pairs, found.sentences, strict=True)
    ]  # fmt: skip
    _tell_pipeline(f"comparison: {found.verdict}", cases, options["junit"])
    _deliver(found, str(found), options["report"], options["json"], options["junit"])
    raise typer.Exit(_EXIT[_OUTCOMES[found.verdict]])


def monitor_command(
    folder: Annotated[
        Path, typer.Argument(help="Folder with files that likeforlike summarize wrote, *.cells.")
    ],
    state: Annotated[
        Path | None, typer.Option(help="File of the state; by default monitor.state in the folder.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Group that the others are compared with.")
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Share of histories without a disparity with an alarm, at most.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the permutations.")] = 0,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page of all periods here.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
) -> None:
    """Count the new summaries of a folder, each of them a period, and say if there is an alarm.

    Several processes may do so at once, and one that is killed loses nothing. A period is counted
    once. Exit code: 0 no alarm, 1 an alarm in this or an earlier period, 2 a period that was
    counted with other rows.
    """
    from likeforlike.files import write_whole
    from likeforlike.monitoring import audit_folder, watch

    _check_outputs(("--report", report), ("--junit", junit))
    monitor, new = watch(folder, state, reference=reference, alpha=alpha, random_state=seed)
    if report is not None:
        asked = {} if reference is None else {"reference": reference}
        write_whole(report, audit_folder(folder, **asked).to_html())
    terminal = Terminal()
    with unread_output():
        counted = f"Counted: {', '.join(new)}." if new else "Nothing new."
        terminal.print(f"{counted} {monitor.sentence}", soft_wrap=True)
        for file in (report, junit):
            if file is not None:
                terminal.print(f"Written: {file}")
    outcome: Outcome = "pass" if monitor.alarm is None else "fail"
    name = "; ".join(" and ".join(pair) for pair in monitor.groups)
    _tell_pipeline("monitor", [(name, outcome, monitor.sentence)], junit)
    raise typer.Exit(_EXIT[outcome])


def deliver_periods(found: PeriodAudits, verdict: Verdict | None, options: dict[str, Any]) -> None:
    """Write what was asked for of audits by period; an alarm ends with 1, else the verdict."""
    monitor, cases = found.monitor, []
    if monitor is not None:
        outcome: Outcome = "pass" if monitor.alarm is None else "fail"
        cases.append(("monitor", outcome, monitor.sentence))
    if verdict is not None:
        cases.append(("all rows together", verdict.verdict, " ".join(verdict.reasons)))
    _tell_pipeline(f"{found.roles.score} by {found.by}", cases, options["junit"])
    _deliver(found, str(found), options["report"], options["json"], options["junit"])
    if monitor is not None and monitor.alarm is not None:
        raise typer.Exit(_EXIT["fail"])
    if verdict is not None:
        raise typer.Exit(_EXIT[verdict.verdict])
