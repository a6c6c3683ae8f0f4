"""Our figures beside the paper's: the eight tables, and what a cut by half costs in both.

The unit of the paper's l_p columns is not known (`published`), so disparities are set side by side
relative to a row of the same data set: no regularisation, or repair at 0 on Adult, where the
paper's row of no regularisation cannot be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from likeforlike.claims.published import PUBLISHED_DISPARITIES, published_rows
from likeforlike.experiments.reproduction import Reproduction
from likeforlike.files import write_whole

__all__ = [
    "comparison_tables",
    "halving_table",
    "markdown_table",
    "power_agreement",
    "reference_row",
    "table_markdown",
    "write_tables",
]

_FAIRLEAP = ("FairLeap, uniform", "FairLeap, P(L)", "FairLeap, average")
_GRADED = ("FairBiT", *_FAIRLEAP, "DCFR", "Wasserstein")
_HEADS = {
    "cdd_wass": "CDD-wass",
    "cdd_uniform": "CDD-lp, uniform",
    "cdd_average": "CDD-lp, average",
    "cdd_marginal": "CDD-lp, P(L)",
}
_ROUNDING = 0.005
_AT_HALF = ("strength", "relative", "power")


def reference_row(dataset: str) -> str:
    """The method whose row at strength 0 the others are compared with.

    Examples
    --------
    >>> from likeforlike.claims.comparison import reference_row
    >>> reference_row("adult"), reference_row("drug")
    ('repair', 'no regularisation')
    """
    return "repair" if dataset == "adult" else "no regularisation"


def comparison_tables(found: Reproduction) -> dict[tuple[str, str], pl.DataFrame]:
    """The paper's tables with our figures: two for each data set that was run.

    Parameters
    ----------
    found : a reproduction, all of it or a part; settings that were not run are left out.

    Returns
    -------
    Tables by (dataset, `"fairleap"` or `"rest"`), rows in the paper's order. Of ours: `runs`, and
    `power` and the four disparities in natural units with their `_sd` (empty for one run) and
    `_relative`; of the paper: `paper_power`, its `_sd`, and the disparities `_relative`.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> from likeforlike.experiments.reproduction import Reproduction
    >>> from likeforlike.claims.comparison import comparison_tables
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> found = Reproduction(runs, pl.DataFrame(), {})
    >>> table = comparison_tables(found)["drug", "rest"]
    >>> table.select("method", "cdd_wass_relative", "paper_cdd_wass_relative").row(0)
    ('legitimate only', 0.5, 0.012195121951219513)
    """
    printed = _beside_reference(
        published_rows().select("dataset", "method", "strength", *_columns("power", "power_sd"))
    ).rename({"power": "paper_power", "power_sd": "paper_power_sd"})
    printed = printed.rename({f"{name}_relative": f"paper_{name}_relative" for name in _HEADS})
    tables = {}
    for dataset in found.datasets:
        means = found.of(dataset).means().with_columns(pl.lit(dataset).alias("dataset"))
        ours = _beside_reference(means.rename({"seeds": "runs"}))
        both = _matched(printed.drop(_HEADS), ours)
        leap = pl.col("method").is_in(_FAIRLEAP)
        tables[dataset, "fairleap"] = both.filter(leap)
        tables[dataset, "rest"] = both.filter(~leap)
    return tables


def _columns(*more: str) -> list[str]:
    return [*more, *PUBLISHED_DISPARITIES]


def _beside_reference(rows: pl.DataFrame) -> pl.DataFrame:
    """Disparities as shares of those of the reference row of the same data set."""
    parts = []
    for (dataset,), own in rows.group_by("dataset", maintain_order=True):
        at = (pl.col("method") == reference_row(str(dataset))) & (pl.col("strength") == 0.0)
        row = own.filter(at)
        shares = [
            (pl.col(name) / (row[name].item() if row.height else None)).alias(f"{name}_relative")
            for name in PUBLISHED_DISPARITIES
        ]
        parts.append(own.with_columns(shares))
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
    power = ("power", "power_sd", "paper_power", "paper_power_sd")
    return both.select("dataset", "method", "strength", "runs", *power, *figures)


def table_markdown(table: pl.DataFrame) -> str:
    """A comparison table as Markdown.

    Each disparity has our mean and standard deviation, and below them, in per cent of the reference
    row, ours and the paper's.

    Parameters
    ----------
    table : one of `comparison_tables`.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> from likeforlike.experiments.reproduction import Reproduction
    >>> from likeforlike.claims.comparison import comparison_tables, table_markdown
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> found = Reproduction(runs, pl.DataFrame(), {})
    >>> table = table_markdown(comparison_tables(found)["drug", "rest"])
    >>> table.splitlines()[2][:67]
    '| legitimate only | 0 | 0.5000 | 0.60 ± 0.02 | 0.5000<br>50% / 1% |'
    """
    head = ("method", "strength", "power", "paper's power", *_HEADS.values())
    return markdown_table(head, [_cells(row) for row in table.to_dicts()], words=1)


def _cells(row: dict[str, float | str | None]) -> list[str]:
    cells = [
        str(row["method"]),
        f"{row['strength']:.4g}",
        _spread(row["power"], row["power_sd"]),
        _spread(row["paper_power"], row["paper_power_sd"], digits=2),
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
    """Markdown of a table.

    Parameters
    ----------
    head : names of the columns.
    rows : cells as text.
    words : how many columns, from the left, hold words; figures are aligned to the right.

    Examples
    --------
    >>> from likeforlike.claims.comparison import markdown_table
    >>> print(markdown_table(["method", "power"], [["repair", "0.8"]]))
    | method | power |
    |---|---:|
    | repair | 0.8 |
    <BLANKLINE>
    """
    rule = "".join("---|" if place < words else "---:|" for place in range(len(head)))
    lines = [f"| {' | '.join(head)} |", f"|{rule}"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join(lines) + "\n"


def write_tables(found: Reproduction, folder: Path | str) -> list[Path]:
    """Write every table as `<dataset>_<kind>.csv`, each whole or not at all.

    Parameters
    ----------
    found : a reproduction.
    folder : is made if it does not exist.

    Returns
    -------
    The files written.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> from likeforlike.experiments.reproduction import Reproduction
    >>> from likeforlike.claims.comparison import write_tables
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> found = Reproduction(runs, pl.DataFrame(), {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in write_tables(found, folder))
    ['drug_fairleap.csv', 'drug_rest.csv']
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for (dataset, kind), table in comparison_tables(found).items():
        written.append(target / f"{dataset}_{kind}.csv")
        write_whole(written[-1], table.write_csv())
    return written


def power_agreement(found: Reproduction) -> pl.DataFrame:
    """How far our power is from the paper's, one row for each data set and method.

    Parameters
    ----------
    found : a reproduction.

    A setting agrees when |ours - paper's| <= 0.005 + 3 sqrt(s² / n + s'² / 10): the rounding of
    what is printed, and three standard errors of the difference of two means over separate runs.
    A single run is taken to vary as the paper's do.

    Returns
    -------
    `dataset`, `method`, `settings`, `agreeing`, `difference` (ours minus paper's, mean over the
    settings) and `largest` (of all settings, in absolute value).

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> from likeforlike.experiments.reproduction import Reproduction
    >>> from likeforlike.claims.comparison import power_agreement
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> found = Reproduction(runs, pl.DataFrame(), {})
    >>> power_agreement(found).select("method", "settings", "difference").row(1)
    ('no regularisation', 1, 0.15000000000000002)
    """
    both = pl.concat(comparison_tables(found).values())
    theirs = pl.col("paper_power_sd")
    noise = (pl.col("power_sd").fill_null(theirs) ** 2 / pl.col("runs") + theirs**2 / 10).sqrt()
    gap = pl.col("power") - pl.col("paper_power")
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


def halving_table(found: Reproduction, disparity: str = "cdd_uniform") -> pl.DataFrame:
    """The weakest strength that at least halves a disparity, ours and the paper's.

    Strengths do not mean the same in both (see `published`), so powers are compared where as much
    was gained.

    Parameters
    ----------
    found : a reproduction.
    disparity : one of `PUBLISHED_DISPARITIES`.

    Returns
    -------
    `dataset`, `method`, then `strength`, `relative` and `power` of ours and, with the prefix
    `paper_`, of the paper; empty where no strength of the grid halves the disparity.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> from likeforlike.experiments.reproduction import Reproduction
    >>> from likeforlike.claims.comparison import halving_table
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> found = Reproduction(runs, pl.DataFrame(), {})
    >>> halving_table(found).height  # neither of them has strengths
    0
    """
    ours, papers = f"{disparity}_relative", f"paper_{disparity}_relative"
    rows = []
    for table in comparison_tables(found).values():
        for (method,), own in table.group_by("method", maintain_order=True):
            if method in _GRADED:
                rows.append(
                    {
                        "dataset": own["dataset"][0],
                        "method": method,
                        **_first_half(own, ours, "power", ""),
                        **_first_half(own, papers, "paper_power", "paper_"),
                    }
                )
    figures = [f"{end}{name}" for end in ("", "paper_") for name in _AT_HALF]
    kinds = dict.fromkeys(("dataset", "method"), pl.String) | dict.fromkeys(figures, pl.Float64)
    return pl.DataFrame(rows, schema=kinds)


def _first_half(
    own: pl.DataFrame, relative: str, power: str, prefix: str
) -> dict[str, float | None]:
    halved = own.filter(pl.col(relative) <= 0.5).sort("strength")
    columns = ("strength", relative, power)
    return {
        f"{prefix}{name}": halved[column][0] if halved.height else None
        for name, column in zip(_AT_HALF, columns, strict=True)
    }
