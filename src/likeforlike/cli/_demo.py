"""`likeforlike demo`, `likeforlike datasets` and `likeforlike app`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from likeforlike.cli._shared import deliver, report_files, resampling_bar
from likeforlike.errors import MissingDependencyError
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
