"""The commands, put together, and what becomes of their errors.

Each imports what it works with when it is called, so that `--help` answers at once. The commands
`demo`, `datasets` and `schema` are defined here.
"""

from __future__ import annotations

import errno
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from likeforlike import __version__
from likeforlike.cli._audit import (
    audit_command,
    audit_plan_command,
    audit_release_command,
    audit_summaries_command,
    summarize_command,
)
from likeforlike.cli._custodian import custodian_app
from likeforlike.cli._experiments import reproduce_command, sweep_command
from likeforlike.cli._monitoring import compare_command, monitor_command
from likeforlike.cli._pay import pay_command
from likeforlike.cli._shared import deliver, leave_output, report_files, resampling_bar, say_error
from likeforlike.errors import BinnedLevelWarning, InputError, MissingDependencyError
from likeforlike.report import Terminal, show

if TYPE_CHECKING:
    from rich.table import Table

    from likeforlike._arrays import FloatArray


_DATASET_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("name", "left"),
    ("rows", "right"),
    ("size", "right"),
    ("state", "left"),
    ("license", "left"),
)


def demo_command(
    report: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("loans.html"),
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
) -> None:
    """Audit the embedded loan data, then train models without and with a limit on the disparity.

    Training needs the extra `train`; without it the audit stands alone.
    """
    import likeforlike as lfl
    from likeforlike.datasets import load_loans
    from likeforlike.files import check_writable

    check_writable(report, "--report")
    check_writable(None if json == "-" else json, "--json")
    terminal = Terminal(stderr=json == "-")
    with resampling_bar(999) as advance:
        audit = lfl.audit(
            load_loans(2000).frame,
            score="approved",
            sensitive="sex",
            legitimate="income",
            progress=advance,
        )
    document = audit.document
    show(document, terminal)
    try:
        terminal.print(_training_table())
    except MissingDependencyError as error:
        terminal.print(f"No model was trained: {error}", soft_wrap=True)
    deliver(document, report, json)
    report_files(document, report, json, terminal)


def _training_table() -> Table:
    """Train on loans drawn with a gap, and audit the scores of rows held out."""
    import numpy as np
    from rich.table import Table

    import likeforlike as lfl
    from likeforlike import FairClassifier
    from likeforlike._text import figure, p_text
    from likeforlike.datasets import make_loans

    loans = make_loans(10_000, gap=0.15)
    inputs, y, sex, income = loans.inputs().matrix, loans.targets, loans.groups, loans.levels
    train = np.arange(len(y)) % 3 > 0
    table = Table(
        title="What training can do about it: 10,000 loans drawn with a gap of 0.15 at every "
        f"income,\n{(~train).sum():,} of them held out for these figures",
        title_justify="left",
    )
    for heading in ("model", "AUC", "gap among equals", "interval", "p"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for name, limit in (("no penalty", {"strength": 0.0}), ("limit 0.05", {"max_disparity": 0.05})):
        model = FairClassifier(max_epochs=60, learning_rate=0.003, random_state=0, verbose=True)
        model.set_params(**limit).fit(
            inputs[train],
            y[train],
            sensitive_features=sex[train],
            legitimate_features=income[train],
        )
        scores = model.predict_proba(inputs[~train])[:, 1]
        held_out = loans.frame.filter(~train).with_columns(score=scores)
        audit = lfl.audit(held_out, score="score", sensitive="sex", legitimate="income")
        low, high = audit.gap_interval or (float("nan"), float("nan"))
        p_value = p_text(audit.p_value or 0.0, audit.settings.permutations).removeprefix("p ")
        table.add_row(
            name,
            figure(_auc(scores, y[~train])),
            figure(audit.gap),
            f"{figure(low)} to {figure(high)}",
            p_value.removeprefix("= "),
        )
    return table


def _auc(scores: FloatArray, y: FloatArray) -> float:
    """Area under the ROC curve, ties counted half: the rank-sum statistic."""
    from likeforlike.experiments import predictive_performance

    return predictive_performance(scores, y, "logistic")


def datasets_command() -> None:
    """List the public data sets and where their files are; nothing is fetched."""
    from rich.table import Table

    from likeforlike.datasets import available

    table = Table(
        caption="Read one with likeforlike.datasets.load_<name>().", caption_justify="left"
    )
    for heading, justify in _DATASET_COLUMNS:
        table.add_column(heading, justify=justify)
    for dataset in available():
        size = f"{dataset.size / 1e6:.1f} MB"
        table.add_row(dataset.name, f"{dataset.rows:,}", size, dataset.state, dataset.license)
    Terminal().print(table)


def app_command(
    file: Annotated[
        Path | None, typer.Argument(help="A file to begin with; it stays where it is.")
    ] = None,
    port: Annotated[int, typer.Option(help="To listen at; 0 takes a free one.")] = 0,
    no_browser: Annotated[  # noqa: FBT002
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
    max_size: Annotated[int, typer.Option(min=1, help="Megabytes of a file, at most.")] = 2_000,
) -> None:
    """Audit files in a browser on this machine, without a command line. Needs the extra `app`.

    Nothing leaves the machine. Files are removed when the app is closed, by Ctrl-C or its button.
    """
    from likeforlike.app import serve

    serve(file, port=port, open_browser=not no_browser, most=max_size * 1_000_000)


class Published(StrEnum):
    """Documents whose schema can be printed."""

    audit = "audit"
    pay = "pay"
    request = "request"
    release = "release"


def schema_command(
    document: Annotated[
        Published,
        typer.Argument(
            help="What `audit --json`, `demo --json` and `pay --json` write, what modelers send to "
            "a custodian, or what the custodian answers."
        ),
    ] = Published.audit,
) -> None:
    """Print the JSON schema (draft 2020-12) of a document."""
    if document is Published.audit:
        from likeforlike.document import audit_schema as text
    elif document is Published.pay:
        from likeforlike.payroll import pay_schema as text
    elif document is Published.request:
        from likeforlike.teams import request_schema as text
    else:
        from likeforlike.teams import release_schema as text

    sys.stdout.write(text())
    sys.stdout.flush()


_BAD_INPUT, _UNEXPECTED, _INTERRUPTED = 2, 70, 130
_DEBUG = "--debug"
# What typer raises to end a command, or to complain of how it was called; it says that itself.
_ENDS: tuple[type[BaseException], ...] = (typer.Exit, *typer.BadParameter.__mro__[:3])


class Commands(TyperGroup):
    """All commands. Whatever goes wrong in one is a line on standard error and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Read the options of all commands, one of which may stand behind the command too."""
        end = args.index("--") if "--" in args else len(args)
        if _DEBUG in args[:end]:
            args = [_DEBUG, *(each for each in args[:end] if each != _DEBUG), *args[end:]]
        return super().parse_args(ctx, args)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:  # noqa: ANN401
        """Read the command line; what is asked for help is answered here."""
        with exit_codes():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run a command."""
        with exit_codes(debug=ctx.params["debug"]), warnings.catch_warnings():
            # The finding says it too, in its cautions.
            warnings.simplefilter("ignore", BinnedLevelWarning)
            return super().invoke(ctx)


@contextmanager
def exit_codes(*, debug: bool = False) -> Iterator[None]:
    """One clear line and an exit code instead of a traceback.

    2 is wrong input, 130 an interrupt, 70 an internal error. 1 is a verdict, so no error
    may end with it.
    """
    try:
        yield
    except _ENDS:
        raise
    except InputError as error:
        _say(str(error), error, debug=debug)
        raise typer.Exit(_BAD_INPUT) from error
    except KeyboardInterrupt as interrupt:
        _say("interrupted; nothing more was written.", interrupt)
        raise typer.Exit(_INTERRUPTED) from interrupt
    except (BrokenPipeError, SystemExit) as error:
        # What is printed is no longer read, as by `head`; rich ends in its own way then.
        leave_output()
        raise typer.Exit from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG and error.filename is not None:
            _say(f"{error.filename} is too long for the name of a file.", error, debug=debug)
            raise typer.Exit(_BAD_INPUT) from error
        leave_output()
        _say(f"cannot go on: {error.strerror or error}.", error, debug=debug)
        raise typer.Exit(_UNEXPECTED) from error
    except BaseException as error:  # a panic inside an engine is no Exception
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _say(f"unexpected error: {what}; {_DEBUG} shows where.", error, debug=debug)
        raise typer.Exit(_UNEXPECTED) from error


def _say(words: str, error: BaseException, *, debug: bool = False) -> None:
    with suppress(OSError):  # the other end may be closed, too
        if debug:
            traceback.print_exception(error)
        say_error(words)


app: typer.Typer = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def common_options(
    version: Annotated[  # noqa: FBT002
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True)
    ] = False,
    debug: Annotated[  # noqa: ARG001, FBT002
        bool, typer.Option(_DEBUG, help="Show where in the program an error came from.")
    ] = False,
) -> None:
    """Audit conditional fairness: whether groups get the same scores among equals.

    Exit codes: 0 done or pass, 1 fail, 3 investigate, 2 bad input, 70 internal
    error, 130 interrupted.
    """
    if version:
        typer.echo(f"likeforlike {__version__}")
        raise typer.Exit


app.command("audit")(audit_command)
app.command("pay")(pay_command)
app.command("audit-summaries")(audit_summaries_command)
app.command("summarize")(summarize_command)
app.command("audit-plan")(audit_plan_command)
app.command("audit-release")(audit_release_command)
app.command("compare")(compare_command)
app.command("monitor")(monitor_command)
app.command("sweep")(sweep_command)
app.command("reproduce")(reproduce_command)
app.command("app")(app_command)
app.command("demo")(demo_command)
app.command("datasets")(datasets_command)
app.command("schema")(schema_command)
app.add_typer(custodian_app, name="custodian")
