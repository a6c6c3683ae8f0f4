"""The appendix of a reproduction: protocol, claims, printed figures, frontiers, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from likeforlike._text import counted
from likeforlike.experiments._vocabulary import DATASET_LABELS, DISPARITY_LABELS
from likeforlike.paper._comparison import (
    comparison_tables,
    halving_table,
    markdown_table,
    performance_agreement,
    reference_row,
    table_markdown,
)
from likeforlike.paper._evidence import Claim
from likeforlike.paper._hypervolumes import agreed, hypervolumes
from likeforlike.paper._reproduction import Reproduction
from likeforlike.paper._resampled import DRAWS

_DECISIONS = """\
What the paper says is followed: networks with 50 and 20 hidden units, Adam at 0.001, at most 500
epochs with a patience of 50 (fewer in a quick look), its batch sizes, the sensitive feature among
the inputs of every method, and the strengths by which its tables label their rows. What it does not
say is decided:

- rows are split 60/20/20 by cells, and run k has the same split for every method;
- a model stops by its own objective, loss and penalty, on all validation rows;
- inputs are standardised, categories one-hot, occupation too;
- penalties are exact where the paper's are entropic with an unknown regularisation;
- DCFR trains with Adadelta at rate 1, as its authors do; the adversaries of adversarial debiasing
  see (score, level) or the score alone, without weights;
- Adult is 5,000 rows with 12 levels, which is what the merge of occupations gives; the share of
  black inhabitants in Communities is cut at its median.

*Our* FairLeap and FairBiT are this library's recipe: order 2, exact, and read off a large sample
instead of a batch. They are run on the paper's inputs, to compare like with like, and with the
sensitive feature A unseen, as we recommend; FairLeap also with its penalty on each batch, which
tells what the penalty does from what the samples do. *Barycentre* is our repair of finished scores.
"""
_UNITS = """\
Rows of one printed table are not all in the same unit. The uniform column is a sum over levels in
some rows and a mean in others, DCFR on Adult is ten times too large, no regularisation on Adult
averages two scales, and CDD-wass on Communities is not normalised; `published_rows` corrects what
can be inferred and sets the rest aside. The unit of the printed CDD-lp is unknown: a hundred times
something that is neither W_1 nor W_2². So performance and CDD-wass can be compared as they stand,
and CDD-lp only relative to no regularisation (on Adult to repair at 0).
"""
_REASONS = """\
Why figures may differ:

- **Strengths are in other units.** The paper's penalties are entropic, and FairLeap's seem to be
  multiplied by a factor that depends on the data set: the same cut takes other strengths (table
  above). Power has to be compared at equal cuts, not at equal strengths.
- **The split, the encoding and the target of early stopping are not given.** Occupation as one
  integer would explain legitimate only on Adult. On Adult the paper's no regularisation is well
  below its own repair at 0, which is the same model, so its networks were not all trained alike.
- **Small cells.** W_1 between samples is positive at parity, the more so the fewer rows a cell has:
  our disparities level off where scores still vary, and reach 0 only when scores collapse. An
  entropic penalty rewards that collapse.
- **Other implementations.** DCFR and adversarial debiasing are our own here. The paper's two
  adversarial versions have the same figures to every digit on three data sets, so that one of them
  can hardly have been run as described.
- **Rounding.** Two decimals of an error of 0.02 hide a difference of a quarter.
"""
_VOLUMES = """\
The normalised hypervolume is the share of the rectangle between the best there is (least loss of
all methods, no disparity) and a reference point (loss of legitimate only, 1.1 times the disparity
of no regularisation) that a method's frontier dominates: 1 is perfect, 0 is nothing. It depends on
where the strengths lie: of ten strengths those that change nothing, or let networks collapse, are
lost. Every cell therefore has two figures: by steps, the area its settings dominate, and below it
by lines, with neighbours on the frontier joined, as strengths in between would roughly do. A
difference counts when both agree. ± is a standard error over runs.

Distances between the samples of a cell are positive at parity, and the more so the more scores vary
inside it. In the small cells of test rows the paper's disparities therefore also reward models
whose scores vary less, which is what penalties on small batches make of them. The estimate without
small-sample bias, the root of Σ P(l) W_2²(l), does not.
"""
_TABLES = """\
As in the paper, with our means and standard deviations over runs in natural units. Below each
disparity, in per cent of the reference row: ours / the paper's.
"""


def appendix_pages(
    reproduction: Reproduction, claims: Sequence[Claim], differences: pl.DataFrame, to_page: str
) -> dict[str, str]:
    """Each page of the appendix as Markdown, by the name of its file.

    Parameters
    ----------
    reproduction : a reproduction, all of it or a part.
    claims : of the paper, with their verdicts.
    differences : of hypervolumes, ours less theirs.
    to_page : how a page leads to the first one.
    """
    parts = {
        "protocol.md": ("What was run", _DECISIONS, _times(reproduction)),
        "claims.md": ("The claims, one by one", _claims(claims)),
        "printed.md": (
            "Beside the printed figures",
            _UNITS,
            _agreement(reproduction),
            _halving(reproduction),
            _REASONS,
        ),
        "frontiers.md": ("Sizes of frontiers", _volumes(hypervolumes(reproduction), differences)),
        "tables.md": ("All tables", _tables(reproduction)),
    }
    back = f"An appendix to [the paper's experiments, run again]({to_page}).\n"
    return {
        name: "\n".join([f"# {title}\n", back, *rest]) for name, (title, *rest) in parts.items()
    }


def _times(reproduction: Reproduction) -> str:
    """Minutes of each method, and seconds of one of its models."""
    cells: dict[str, dict[str, str]] = {}
    for row in reproduction.times.to_dicts():
        each = row["seconds"] / row["runs"]
        cells.setdefault(row["method"], {})[row["dataset"]] = (
            f"{row['seconds'] / 60:.1f} min ({each:.1f} s)"
        )
    head = ("method", *(DATASET_LABELS[name] for name in reproduction.datasets))
    rows = [
        [name, *(by_dataset.get(key, "-") for key in reproduction.datasets)]
        for name, by_dataset in cells.items()
    ]
    return "How long each method took, and in brackets one of its models:\n\n" + markdown_table(
        head, rows
    )


def _claims(claims: Sequence[Claim]) -> str:
    meaning = (
        "A claim is *reproduced* or *not reproduced* when what was measured says so beyond noise, "
        "and *not decidable* otherwise. *Cut* is the share of the disparity of no regularisation "
        "that is gone, *loss* the way from the performance of no regularisation (0) to that of "
        f"legitimate only (1). *Draws* are {DRAWS} draws of the runs with replacement, the same "
        "for all methods; ± is a standard error over runs.\n\n"
    )
    rows = [
        [f"{claim.said} ({claim.where})", f"**{claim.verdict}**", claim.evidence]
        for claim in claims
    ]
    plain = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return meaning + markdown_table(("claim", "verdict", "evidence"), plain, words=3)


def _agreement(reproduction: Reproduction) -> str:
    rows = [
        [
            DATASET_LABELS[row["dataset"]],
            row["method"],
            f"{row['agreeing']} of {row['settings']}",
            f"{row['difference']:+.3f}",
            f"{row['largest']:.3f}",
        ]
        for row in performance_agreement(reproduction).to_dicts()
    ]
    head = ("data set", "method", "settings that agree", "mean difference", "largest")
    return (
        "Power, ours less the paper's. A setting agrees when the difference is within the rounding "
        "of what is printed and three standard errors.\n\n" + markdown_table(head, rows, words=2)
    )


def _halving(reproduction: Reproduction) -> str:
    rows = [
        [
            DATASET_LABELS[row["dataset"]],
            row["method"],
            *(_halved(row, prefix) for prefix in ("", "paper_")),
        ]
        for row in halving_table(reproduction).to_dicts()
    ]
    head = ("data set", "method", "ours", "the paper's")
    return (
        "The weakest strength that at least halves CDD-lp uniform: strength, what is left of the "
        "disparity, performance.\n\n" + markdown_table(head, rows, words=2)
    )


def _halved(row: Mapping[str, float | None], prefix: str) -> str:
    if row[f"{prefix}strength"] is None:
        return "none"
    return (
        f"{row[f'{prefix}strength']:.4g}: {row[f'{prefix}relative']:.0%}, "
        f"{row[f'{prefix}performance']:.{2 if prefix else 4}f}"
    )


def _volumes(volumes: pl.DataFrame, differences: pl.DataFrame) -> str:
    parts = [_VOLUMES]
    for (disparity,), of_disparity in volumes.group_by("disparity", maintain_order=True):
        label = DISPARITY_LABELS[str(disparity)]
        parts += [f"## {label}\n", _by_dataset(of_disparity, ["method"], "volume")]
        mine = differences.filter(pl.col("disparity") == disparity)
        if mine.height:
            parts.append("Ours less theirs; bold where it counts:\n")
            parts.append(_by_dataset(mine, ["ours", "theirs"], "difference"))
    return "\n".join(parts)


def _by_dataset(rows: pl.DataFrame, keys: list[str], figure: str) -> str:
    """One column for each data set."""
    datasets = list(dict.fromkeys(rows["dataset"]))
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows.to_dicts():
        form = "+.3f" if figure == "difference" else ".3f"
        text = "<br>".join(
            _figure(row[name], row[error], form)
            for name, error in ((figure, "error"), ("lines", "lines_error"))
        )
        counts = agreed(row.get("larger"), row.get("lines_larger")) is not None
        names = tuple(row[key] for key in keys)
        cells.setdefault(names, {})[row["dataset"]] = f"**{text}**" if counts else text
    head = (*keys, *(DATASET_LABELS[name] for name in datasets))
    lines = [
        [*names, *(by_name.get(name, "-") for name in datasets)] for names, by_name in cells.items()
    ]
    return markdown_table(head, lines, words=len(keys))


def _figure(value: float | None, error: float | None, form: str) -> str:
    if value is None:
        return "-"
    return format(value, form) + ("" if error is None else f" ± {error:.3f}")


def _tables(reproduction: Reproduction) -> str:
    parts = [_TABLES]
    for (dataset, kind), table in comparison_tables(reproduction).items():
        which = "FairLeap" if kind == "fairleap" else "all other methods"
        measured = (
            "AUC" if reproduction.of(dataset).task == "classification" else "mean squared error"
        )
        about = f"Power is {measured}; {counted(reproduction.n_runs, 'run')}; the reference row is"
        parts.append(f"## {DATASET_LABELS[dataset]}: {which}\n")
        parts.append(f"{about} {reference_row(dataset)} at strength 0.\n")
        parts.append(table_markdown(table))
    return "\n".join(parts)
