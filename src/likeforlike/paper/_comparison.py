"""Our figures beside the paper's: the eight tables, and what a cut by half costs in both.

The unit of the paper's l_p columns is not known (`published`), so disparities are set side by side
relative to a row of the same data set: no regularisation, or repair at 0 on Adult, where the
paper's row of no regularisation cannot be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from likeforlike.experiments._vocabulary import DISPARITY_LABELS, FAIRLEAPS
from likeforlike.files._writing import write_whole
from likeforlike.paper._published import PUBLISHED_DISPARITIES, published_rows
from likeforlike.paper._reproduction import Reproduction

_GRADED = ("FairBiT", *FAIRLEAPS, "DCFR", "Wasserstein")
_ROUNDING = 0.005
_AT_HALF = ("strength", "relative", "performance")


def reference_row(dataset: str) -> str:
    """The method whose row at strength 0 the others are compared with."""
    return "repair" if dataset == "adult" else "no regularisation"


def comparison_tables(reproduction: Reproduction) -> dict[tuple[str, str], pl.DataFrame]:
    """The paper's tables with our figures: two for each data set that was run."""
    printed = _beside_reference(
        published_rows().select(
            "dataset", "method", "strength", *_columns("performance", "performance_sd")
        )
    ).rename({"performance": "paper_performance", "performance_sd": "paper_performance_sd"})
    printed = printed.rename(
        {f"{name}_relative": f"paper_{name}_relative" for name in PUBLISHED_DISPARITIES}
    )
    tables = {}
    for dataset in reproduction.datasets:
        means = reproduction.of(dataset).means().with_columns(pl.lit(dataset).alias("dataset"))
        ours = _beside_reference(means.rename({"seeds": "runs"}))
        both = _matched(printed.drop(PUBLISHED_DISPARITIES), ours)
        leap = pl.col("method").is_in(list(FAIRLEAPS))
        tables[dataset, "fairleap"] = both.filter(leap)
        tables[dataset, "rest"] = both.filter(~leap)
    return tables


def _columns(*more: str) -> list[str]:
    return [*more, *PUBLISHED_DISPARITIES]


def _beside_reference(rows: pl.DataFrame) -> pl.DataFrame:
    """Disparities as shares of those of the reference row of the same data set."""
    parts = []
    for (dataset,), of_dataset in rows.group_by("dataset", maintain_order=True):
        at = (pl.col("method") == reference_row(str(dataset))) & (pl.col("strength") == 0.0)
        row = of_dataset.filter(at)
        shares = [
            (pl.col(name) / (row[name].item() if row.height else None)).alias(f"{name}_relative")
            for name in PUBLISHED_DISPARITIES
        ]
        parts.append(of_dataset.with_columns(shares))
    return pl.concat(parts)


def _matched(printed: pl.DataFrame, ours: pl.DataFrame) -> pl.DataFrame:
    """Rows of both, in the order of the first. Strengths may have been through a file."""
    key = pl.col("strength").round_sig_figs(6).alias("key")
    order = printed.with_row_index("order").with_columns(key).drop("strength")
    both = order.join(ours.with_columns(key), on=["dataset", "method", "key"]).sort("order")
    figures = [
        end
        for name in PUBLISHED_DISPARITIES
        for end in (name, f"{name}_sd", f"{name}_relative", f"paper_{name}_relative")
    ]
    performance = ("performance", "performance_sd", "paper_performance", "paper_performance_sd")
    return both.select("dataset", "method", "strength", "runs", *performance, *figures)


def table_markdown(table: pl.DataFrame) -> str:
    """A comparison table as Markdown.

    Each disparity has our mean and standard deviation, and below them, in per cent of the reference
    row, ours and the paper's.
    """
    labels = [DISPARITY_LABELS[name] for name in PUBLISHED_DISPARITIES]
    head = ("method", "strength", "performance", "paper's performance", *labels)
    return markdown_table(head, [_cells(row) for row in table.to_dicts()], words=1)


def _cells(row: dict[str, float | str | None]) -> list[str]:
    cells = [
        str(row["method"]),
        f"{row['strength']:.4g}",
        _spread(row["performance"], row["performance_sd"]),
        _spread(row["paper_performance"], row["paper_performance_sd"], digits=2),
    ]
    for name in PUBLISHED_DISPARITIES:
        ours, paper = (_percent(row[f"{end}{name}_relative"]) for end in ("", "paper_"))
        cells.append(f"{_spread(row[name], row[f'{name}_sd'])}<br>{ours} / {paper}")
    return cells


def _spread(mean: float | str | None, sd: float | str | None, digits: int = 4) -> str:
    if mean is None:
        return "-"
    return f"{mean:.{digits}f}" + ("" if sd is None else f" ± {sd:.{digits}f}")


def _percent(share: float | str | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Markdown of a table."""
    rule = "".join("---|" if place < words else "---:|" for place in range(len(head)))
    lines = [f"| {' | '.join(head)} |", f"|{rule}"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join(lines) + "\n"


def write_tables(reproduction: Reproduction, folder: Path | str) -> list[Path]:
    """Write every table as `<dataset>_<kind>.csv`, each whole or not at all."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for (dataset, kind), table in comparison_tables(reproduction).items():
        written.append(target / f"{dataset}_{kind}.csv")
        write_whole(written[-1], table.write_csv())
    return written


def performance_agreement(reproduction: Reproduction) -> pl.DataFrame:
    """How far our performance is from the paper's, one row for each data set and method."""
    both = pl.concat(comparison_tables(reproduction).values())
    theirs = pl.col("paper_performance_sd")
    noise = (
        pl.col("performance_sd").fill_null(theirs) ** 2 / pl.col("runs") + theirs**2 / 10
    ).sqrt()
    gap = pl.col("performance") - pl.col("paper_performance")
    return (
        both.with_columns(gap.alias("gap"), (gap.abs() <= _ROUNDING + 3 * noise).alias("agrees"))
        .group_by("dataset", "method", maintain_order=True)
        .agg(
            pl.len().alias("settings"),
            pl.col("agrees").sum().alias("agreeing"),
            pl.col("gap").mean().alias("difference"),
            pl.col("gap").abs().max().alias("largest"),
        )
    )


def halving_table(reproduction: Reproduction, disparity: str = "cdd_uniform") -> pl.DataFrame:
    """The weakest strength that at least halves a disparity, ours and the paper's.

    Strengths do not mean the same in both (see `published`), so powers are compared where as much
    was gained.
    """
    ours, papers = f"{disparity}_relative", f"paper_{disparity}_relative"
    rows = []
    for table in comparison_tables(reproduction).values():
        for (method,), of_method in table.group_by("method", maintain_order=True):
            if method in _GRADED:
                rows.append(
                    {
                        "dataset": of_method["dataset"][0],
                        "method": method,
                        **_first_half(of_method, ours, "performance", ""),
                        **_first_half(of_method, papers, "paper_performance", "paper_"),
                    }
                )
    figures = [f"{end}{name}" for end in ("", "paper_") for name in _AT_HALF]
    kinds = dict.fromkeys(("dataset", "method"), pl.String) | dict.fromkeys(figures, pl.Float64)
    return pl.DataFrame(rows, schema=kinds)


def _first_half(
    of_method: pl.DataFrame, relative: str, performance: str, prefix: str
) -> dict[str, float | None]:
    halved = of_method.filter(pl.col(relative) <= 0.5).sort("strength")
    columns = ("strength", relative, performance)
    return {
        f"{prefix}{name}": halved[column][0] if halved.height else None
        for name, column in zip(_AT_HALF, columns, strict=True)
    }
