"""Our figures and the paper's in one unit: how many agree, which unit fits, what strengths mean.

Runs of ours stand for a method of the paper in two ways: *exact*, the same regularizer by exact
transport, and *to the letter*, entropic as the paper has it, FairBiT with the root that Algorithm 1
returns and adversarial debiasing by fairlearn (`stands_for`).

`published.csv` holds the 304 rows of the eight tables of results at the end of the appendix of
Ghassemi et al. (2025), *Auditing and Enforcing Conditional Fairness via Optimal Transport*, as
printed: mean and standard deviation over ten runs, under the names of the paper. Rows of one table
are not all in the same unit. What is corrected here was inferred from the tables:

- the uniform column is a mean over levels for no regularization, repair and legitimate only, and a
  sum for all else, 9 or 10 times the average column. Sums are divided by the number of levels the
  paper counts, 9 for Drug and 10 elsewhere;
- the three l_p columns of DCFR on Adult are ten times too large and are divided by 10;
- no regularization on Adult averages runs of two scales (41.8 ± 37.4 and 7.85 ± 0.64 for repair at
  0); its l_p columns are set aside;
- CDD-wass on Communities is not normalized: constant models have 2.815, which is taken off. DCFR
  was run on other splits there (its standard deviations differ), so its offset is unknown.

The l_p columns are 100 Σ_l Q(l) W_2²(l), 1,000 Σ_l Q(l) W_2²(l) on Law School: so POT measures in
one dimension by default, whatever p says. `w2sq_*` are divided by that factor: all three columns of
models without a penalty are then within 25% of ours, except on Drug, where the unit is open
(`docs/reproduction/printed.md`). Performance and CDD-wass are in natural units.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl

from likeforlike.experiments import CLASSIFICATION, DATASET_LABELS, FAIRLEAPS
from likeforlike.files import write_whole
from likeforlike.paper._protocol import ENTROPIC_MEASURES, PAPER_METHODS
from likeforlike.paper._reproduction import Reproduction

PUBLISHED_DISPARITIES = ("cdd_wass", "w2sq_uniform", "w2sq_average", "w2sq_marginal")
"""Disparities that the tables have; the paper draws the demographic disparity but prints none."""

PRINTED_UNIT = {"adult": 100.0, "drug": 100.0, "law_school": 1000.0, "communities": 100.0}
"""What W_2² is multiplied by in the l_p columns."""

_DATASETS = {
    "adult": "adult",
    "drug": "drug",
    "lawschool": "law_school",
    "crime": "communities",
}
_METHODS = {
    "DCFR": "DCFR",
    "FairBiT": "FairBiT",
    "FairLearn (CDP)": "adversarial, CDP",
    "FairLearn (DP)": "adversarial, DP",
    "Wass. Regularization": "Wasserstein",
    "Legit Only": "legitimate only",
    "No Regularization": "no regularization",
    "Fair PreProc.": "repair",
    "FairLeap (uniform)": "FairLeap, uniform",
    "FairLeap (P(L))": "FairLeap, P(L)",
    "Fairleap (Ave. P(L|A))": "FairLeap, average",
}
_LP = PUBLISHED_DISPARITIES[1:]
_MEANS = ("no regularization", "repair", "legitimate only")
_LEVELS = {"adult": 10.0, "drug": 9.0, "law_school": 10.0, "communities": 10.0}
_LEFT_IN = 2.815


def load_published() -> pl.DataFrame:
    """Load the 304 rows of the paper's tables, as printed and corrected.

    Returns
    -------
    One row a setting, in the order of the paper. `dataset`, `method` and `strength` are those of
    the protocol; `printed_strength` is what the table says (two decimals, or
    nothing). `printed_*` are the figures as printed; `performance`, `cdd_wass`, `w2sq_uniform`,
    `w2sq_average`, `w2sq_marginal` and their `_sd` are corrected and in natural units, and empty
    where no correction is known. `comparable` says whether the row's l_p disparities can be set
    against other rows of its data set, and `note` what was done to it.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.paper._comparison import load_published
    >>> rows = load_published()
    >>> rows.height, rows.filter(~pl.col("comparable"))["method"].to_list()
    (304, ['no regularization'])
    >>> shown = rows.filter(pl.col("dataset") == "law_school", pl.col("method") == "FairBiT")
    >>> shown.select("strength", "printed_w2sq_uniform", "w2sq_uniform").row(-1)
    (10.0, 50.967, 0.0050967)
    """
    columns = ("performance", *PUBLISHED_DISPARITIES)
    figures = [name for column in columns for name in (column, f"{column}_sd")]
    printed = _read_tables().rename({name: f"printed_{name}" for name in ("strength", *figures)})
    rows = printed.with_columns(pl.col(f"printed_{name}").alias(name) for name in figures)
    rows = _add_names(rows).with_columns(_uniform_scale().alias("scale"), _notes().alias("note"))
    rows = _correct_units(rows)
    first = ("dataset", "method", "strength", "printed_strength")
    return rows.select(
        *first, *(f"printed_{name}" for name in figures), *figures, "comparable", "note"
    )


def _read_tables() -> pl.DataFrame:
    """Read the file, with strengths as text, since "0.00" stands for four of them."""
    text = files("likeforlike.paper").joinpath("published.csv").read_bytes()
    rows = pl.read_csv(text, schema_overrides={"strength": pl.String})
    return rows.rename(lambda name: name.replace("cdd_", "w2sq_") if "wass" not in name else name)


def _add_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Our names, and the strengths that the printed two decimals stand for, by their order."""
    strengths = {method.name: method.strengths for method in PAPER_METHODS}
    named = rows.with_columns(
        pl.col("dataset").replace_strict(_DATASETS), pl.col("method").replace_strict(_METHODS)
    )
    place = pl.int_range(pl.len()).over("dataset", "method").alias("place")
    places = named.select("method", place).rows()
    return named.with_columns(
        pl.Series("strength", [strengths[method][place] for method, place in places])
    )


def _uniform_scale() -> pl.Expr:
    """Find what the uniform column is divided by: the number of levels, where it is a sum."""
    levels = pl.col("dataset").replace_strict(_LEVELS)
    return pl.when(pl.col("method").is_in(_MEANS)).then(1.0).otherwise(levels)


def _dcfr_on(dataset: str) -> pl.Expr:
    return (pl.col("dataset") == dataset) & (pl.col("method") == "DCFR")


def _two_scales() -> pl.Expr:
    return (pl.col("dataset") == "adult") & (pl.col("method") == "no regularization")


def _correct_units(rows: pl.DataFrame) -> pl.DataFrame:
    """Apply the corrections of the module's docstring."""
    tenfold = pl.when(_dcfr_on("adult")).then(10.0).otherwise(1.0)
    unit = pl.col("dataset").replace_strict(PRINTED_UNIT)
    divisors = {name: pl.col("scale") if name == "w2sq_uniform" else pl.lit(1.0) for name in _LP}
    lp = [
        pl.when(~_two_scales())
        .then(pl.col(f"{name}{end}") / (divisor * tenfold * unit))
        .alias(f"{name}{end}")
        for name, divisor in divisors.items()
        for end in ("", "_sd")
    ]
    here = pl.col("dataset") == "communities"
    wass = (
        pl.when(_dcfr_on("communities"))
        .then(None)
        .when(here)
        .then((pl.col("cdd_wass") - _LEFT_IN).round(3))
        .otherwise(pl.col("cdd_wass"))
    )
    # The standard deviation there is that of what the levels alone cost, not of the models.
    wass_sd = pl.when(~here).then(pl.col("cdd_wass_sd"))
    return rows.with_columns(
        *lp,
        wass.alias("cdd_wass"),
        wass_sd.alias("cdd_wass_sd"),
        (~_two_scales()).alias("comparable"),
    )


def _notes() -> pl.Expr:
    """Say in words what was done to a row."""
    said = [
        (~pl.col("method").is_in(_MEANS), "uniform column divided by the number of levels"),
        (_dcfr_on("adult"), "l_p columns divided by 10 once more"),
        (_two_scales(), "averages runs of two scales: l_p columns set aside"),
        (_dcfr_on("communities"), "CDD-wass has an unknown offset: set aside"),
        (
            (pl.col("dataset") == "communities") & (pl.col("method") != "DCFR"),
            f"{_LEFT_IN} taken off CDD-wass",
        ),
        (pl.col("dataset") == "drug", "read as 100 W_2², which does not fit this data set"),
        (pl.col("dataset") == "law_school", "read as 1,000 W_2²"),
        (pl.col("dataset").is_in(["adult", "communities"]), "read as 100 W_2²"),
    ]
    parts = [pl.when(where).then(pl.lit(text)) for where, text in said]
    return pl.concat_str(parts, separator="; ", ignore_nulls=True)


def inconsistencies() -> list[tuple[str, str]]:
    """List what is inconsistent in the printed tables, each with the figures that show it.

    Returns
    -------
    Pairs of what was found, and where it can be seen.

    Examples
    --------
    >>> from likeforlike.paper._comparison import inconsistencies
    >>> inconsistencies()[2]
    ('No regularization on Adult averages runs of two scales.', 'P(L) 41.8 ± 37.4; repair at 0, the
    same model, has 7.8 ± 0.6')
    """
    text = files("likeforlike.paper").joinpath("inconsistencies.toml").read_text("utf-8")
    figures = _figures_of_print()
    return [
        (entry["what"], entry["seen"].format(**figures)) for entry in tomllib.loads(text)["found"]
    ]


def _figures_of_print() -> dict[str, str]:
    """Figures of the tables that inconsistencies are shown by."""
    rows = load_published()
    adversaries = pl.col("method").str.starts_with("adversarial")

    def cell(dataset: str, method: str, column: str) -> float:
        of_method = rows.filter(pl.col("dataset") == dataset, pl.col("method") == method)
        return float(of_method[f"printed_{column}"][0])

    def with_sd(dataset: str, method: str) -> str:
        mean, sd = (cell(dataset, method, f"w2sq_marginal{end}") for end in ("", "_sd"))
        return f"{mean:.1f} ± {sd:.1f}"

    def ratios(method: str, form: str) -> str:
        found = [cell(d, method, "w2sq_uniform") / cell(d, method, "w2sq_average") for d in _LEVELS]
        return ", ".join(format(ratio, form) for ratio in found)

    def lowest(dataset: str) -> str:
        own = rows.filter(pl.col("dataset") == dataset)["printed_cdd_wass"].to_list()
        return f"{min(own):.3f}"

    printed = pl.selectors.starts_with("printed_")
    alike = [
        dataset
        for dataset in _LEVELS
        if rows.filter(adversaries, pl.col("dataset") == dataset).select(printed).unique().height
        == 1
    ]
    return {
        "sums": ratios("FairBiT", ".1f"),
        "means": ratios("repair", ".2f"),
        "dcfr": f"{cell('adult', 'DCFR', 'w2sq_marginal'):.1f}",
        "fairbit": f"{cell('adult', 'FairBiT', 'w2sq_marginal'):.1f}",
        "free": with_sd("adult", "no regularization"),
        "repair": with_sd("adult", "repair"),
        "left_in": f"{_LEFT_IN:g}",
        "on_drug": lowest("drug"),
        "on_adult": lowest("adult"),
        "alike": ", ".join(alike),
        "free_auc": f"{cell('adult', 'no regularization', 'performance'):.2f}",
        "repair_auc": f"{cell('adult', 'repair', 'performance'):.2f}",
    }


WAYS = ("exact", "to the letter")
"""How a method of the paper is stood for by runs of ours."""

# Half of the last digit of what is printed, disparities in the unit of the print.
_HALF_A_HUNDREDTH, _HALF_A_THOUSANDTH = 0.005, 0.0005
_PAPERS_RUNS = 10
_GRADED = ("FairBiT", *FAIRLEAPS, "DCFR", "Wasserstein")
_OURS = ("performance", *PUBLISHED_DISPARITIES, *ENTROPIC_MEASURES, "cdd_marginal")


def stands_for(method: str, dataset: str, way: str) -> str:
    """Name the method of ours whose runs stand for a method of the paper."""
    if way == "exact":
        return method
    if method == "FairBiT":
        return "FairBiT, Algorithm 1"
    if method in (*FAIRLEAPS, "Wasserstein"):
        return f"{method}, entropic"
    if method.startswith("adversarial"):
        return "fairlearn, hard" if dataset in CLASSIFICATION else "fairlearn"
    return method


def reference_row(dataset: str) -> str:
    """Name the method whose row at strength 0 has no penalty; on Adult its own cannot be used."""
    return "repair" if dataset == "adult" else "no regularization"


def compare_rows(reproduction: Reproduction, way: str = "exact") -> pl.DataFrame:
    """Every printed setting that was run: the paper's figures and ours, in natural units.

    Columns are `dataset`, `method`, `strength`, `runs`, `performance`, the four disparities of the
    tables, CDD-wass by Algorithm 1 and W_1 with P(L), each with `_sd`; the paper's begin with
    `paper_`.
    """
    printed = load_published()
    theirs = ["performance", *PUBLISHED_DISPARITIES]
    figures = [name for column in theirs for name in (column, f"{column}_sd")]
    printed = printed.select(
        "dataset",
        "method",
        pl.col("strength").round_sig_figs(6).alias("key"),
        *(pl.col(name).alias(f"paper_{name}") for name in figures),
    ).with_row_index("order")
    stood = [
        stands_for(method, dataset, way)
        for dataset, method in printed[["dataset", "method"]].rows()
    ]
    printed = printed.with_columns(pl.Series("ours", stood))
    parts = []
    for dataset in reproduction.datasets:
        means = reproduction.of(dataset).means()
        own = [name for name in _OURS if name in means.columns]
        parts.append(
            means.select(
                pl.lit(dataset).alias("dataset"),
                pl.col("method").alias("ours"),
                "strength",
                pl.col("strength").round_sig_figs(6).alias("key"),
                pl.col("seeds").alias("runs"),
                *own,
                *(f"{name}_sd" for name in own),
            )
        )
    if not parts:
        return printed.clear()
    both = printed.join(pl.concat(parts), on=["dataset", "ours", "key"]).sort("order")
    return both.drop("order", "key")


def _agrees(rows: pl.DataFrame, ours: str, paper: str) -> pl.Series:
    """Whether ours is within rounding and three standard errors of what is printed."""
    rounding = pl.lit(_HALF_A_HUNDREDTH if paper == "performance" else _HALF_A_THOUSANDTH)
    if paper.startswith("w2sq"):
        rounding = rounding / pl.col("dataset").replace_strict(PRINTED_UNIT)
    own, theirs = pl.col(f"{ours}_sd"), pl.col(f"paper_{paper}_sd").fill_null(0.0)
    noise = (own.fill_null(theirs) ** 2 / pl.col("runs") + theirs**2 / _PAPERS_RUNS).sqrt()
    gap = (pl.col(ours) - pl.col(f"paper_{paper}")).abs()
    return rows.select((gap <= rounding + 3 * noise).alias("agrees")).to_series()


def agreement(
    reproduction: Reproduction,
    figure: str = "performance",
    *,
    way: str = "exact",
    against: str | None = None,
) -> pl.DataFrame:
    """How many settings agree with what is printed, one row for each data set and method.

    Parameters
    ----------
    reproduction : what was run.
    figure : of ours.
    way : how methods of the paper are stood for.
    against : the printed figure, if it has another name.
    """
    rows = compare_rows(reproduction, way)
    paper = against or figure
    gap = pl.col(figure) - pl.col(f"paper_{paper}")
    return (
        rows.with_columns(_agrees(rows, figure, paper), gap.alias("gap"))
        .filter(pl.col(f"paper_{paper}").is_not_null())
        .group_by("dataset", "method", maintain_order=True)
        .agg(
            pl.len().alias("settings"),
            pl.col("agrees").sum().alias("agreeing"),
            pl.col("gap").mean().alias("difference"),
            pl.col("gap").abs().max().alias("largest"),
        )
    )


def agreement_summary(reproduction: Reproduction) -> list[tuple[str, dict[str, str]]]:
    """Of the printed settings, how many agree: by figure and reading, for both ways."""
    asked = {
        "performance": ("performance", None),
        "CDD-lp P(L), read as W_2²": ("w2sq_marginal", None),
        "CDD-lp average, read as W_2²": ("w2sq_average", None),
        "CDD-lp uniform, read as W_2²": ("w2sq_uniform", None),
        "CDD-lp P(L), read as W_1": ("cdd_marginal", "w2sq_marginal"),
        "CDD-wass, exact": ("cdd_wass", None),
        **{
            f"CDD-wass, Algorithm 1 at {name.rpartition('_')[2]}": (name, "cdd_wass")
            for name in ENTROPIC_MEASURES
        },
    }
    found = []
    for label, (figure, against) in asked.items():
        if figure not in reproduction.runs.columns:
            continue
        counts = {}
        for way in WAYS:
            table = agreement(reproduction, figure, way=way, against=against)
            counts[way] = f"{table['agreeing'].sum()} of {table['settings'].sum()}"
        found.append((label, counts))
    return found


def unit_evidence(reproduction: Reproduction) -> pl.DataFrame:
    """Compare printed CDD-lp of models without a penalty with our W_2² and W_1 in its unit.

    One row for each data set and measure: `printed`, its `printed_sd`, `w2sq` and `w1`.
    """
    printed, rows = load_published(), []
    for dataset in reproduction.datasets:
        means = reproduction.of(dataset).means()
        free = means.filter(pl.col("method") == "no regularization")
        own = printed.filter(
            pl.col("dataset") == dataset, pl.col("method") == reference_row(dataset)
        ).row(0, named=True)
        rows += [
            {
                "dataset": dataset,
                "measure": measure,
                "printed": own[f"printed_w2sq_{measure}"],
                "printed_sd": own[f"printed_w2sq_{measure}_sd"],
                "w2sq": PRINTED_UNIT[dataset] * free[f"w2sq_{measure}"].item(),
                "w1": 100.0 * free[f"cdd_{measure}"].item(),
            }
            for measure in ("uniform", "average", "marginal")
            if free.height and free[f"w2sq_{measure}"][0] is not None
        ]
    return pl.DataFrame(rows)


def entropic_evidence(reproduction: Reproduction) -> pl.DataFrame:
    """CDD-wass as printed, exact, and by Algorithm 1, of models without a penalty.

    One row for each data set and method, `legitimate only` and that of `reference_row`.
    """
    rows = compare_rows(reproduction)
    at_zero = pl.col("method").is_in(["no regularization", "legitimate only"]) | (
        (pl.col("method") == "repair") & (pl.col("strength") == 0.0)
    )
    own = [name for name in ENTROPIC_MEASURES if name in rows.columns]
    return rows.filter(at_zero).select(
        "dataset", "method", "paper_cdd_wass", "paper_cdd_wass_sd", "cdd_wass", *own
    )


def strength_factors(reproduction: Reproduction) -> pl.DataFrame:
    """Find what the paper's strengths have to be multiplied by to do the same in ours.

    For every printed setting of FairBiT, FairLeap P(L) and Wasserstein regularization that leaves
    between a tenth and nine tenths of W_2² with P(L), the strength at which our runs leave the same
    share, on lines between strengths, divided by the printed one.

    Returns
    -------
    `dataset`, `method`, `ours`, `settings`, and the lowest, median and highest factor.
    """
    candidates = {
        "FairBiT": ("FairBiT", "FairBiT, entropic", "FairBiT, Algorithm 1"),
        "FairLeap, P(L)": (
            "FairLeap, P(L)",
            "FairLeap, P(L), entropic",
            "our FairLeap, by batch",
            "FairLeap, P(L), entropic squared",
        ),
        "Wasserstein": ("Wasserstein", "Wasserstein, entropic", "Wasserstein, squared"),
    }
    printed, rows = load_published(), []
    for dataset in reproduction.datasets:
        means = reproduction.of(dataset).means()
        start = printed.filter(
            pl.col("dataset") == dataset, pl.col("method") == reference_row(dataset)
        )["w2sq_marginal"][0]
        free = means.filter(pl.col("method") == "no regularization")["w2sq_marginal"]
        for method, ours in candidates.items():
            own = printed.filter(pl.col("dataset") == dataset, pl.col("method") == method)
            wanted = own.select("strength", (pl.col("w2sq_marginal") / start).alias("left")).rows()
            for name in ours:
                curve = means.filter(pl.col("method") == name)
                if not curve.height or not free.len() or free[0] is None:
                    continue
                found = [
                    at / strength
                    for strength, left in wanted
                    if 0.1 <= left <= 0.9
                    and math.isfinite(at := _strength_that_leaves(curve, free[0], left))
                ]
                rows.append(
                    {
                        "dataset": dataset,
                        "method": method,
                        "ours": name,
                        "settings": len(found),
                        **dict(
                            zip(
                                ("lowest", "median", "highest"),
                                np.quantile(found, [0.0, 0.5, 1.0]) if found else [None] * 3,
                                strict=True,
                            )
                        ),
                    }
                )
    return pl.DataFrame(rows, infer_schema_length=None)


def _strength_that_leaves(curve: pl.DataFrame, free: float, left: float) -> float:
    """Find the strength at which a share of the disparity is left; nan where none leaves it."""
    strengths = np.log(curve["strength"].to_numpy())
    shares = np.minimum.accumulate(curve["w2sq_marginal"].to_numpy() / free)
    if not shares[-1] <= left <= shares[0]:
        return math.nan
    return float(np.exp(np.interp(-left, -shares, strengths)))


def comparison_tables(reproduction: Reproduction) -> dict[tuple[str, str], pl.DataFrame]:
    """Build the paper's eight tables with our figures: two for each data set that was run."""
    exact, letter = (compare_rows(reproduction, way) for way in WAYS)
    keys = ["dataset", "method", "strength"]
    shown = ("performance", *PUBLISHED_DISPARITIES)
    figures = [name for column in shown for name in (column, f"{column}_sd")]
    own = letter.select(*keys, *(pl.col(name).alias(f"letter_{name}") for name in figures))
    both = exact.join(own, on=keys, how="left", maintain_order="left")
    leap = pl.col("method").is_in(list(FAIRLEAPS))
    return {
        (dataset, kind): both.filter(pl.col("dataset") == dataset, which)
        for dataset in reproduction.datasets
        for kind, which in (("fairleap", leap), ("rest", ~leap))
    }


def table_markdown(table: pl.DataFrame) -> str:
    """Write a comparison table as Markdown: in every cell exact, to the letter, printed.

    Disparities are in the unit of the print.
    """
    head = (
        "method",
        "strength",
        "performance",
        "CDD-wass",
        *(f"CDD-lp {measure}" for measure in ("uniform", "average", "P(L)")),
    )
    rows = []
    for row in table.to_dicts():
        unit = PRINTED_UNIT[row["dataset"]]
        cells = [row["method"], f"{row['strength']:.4g}"]
        for name in ("performance", *PUBLISHED_DISPARITIES):
            scale, digits = (unit, 3) if name.startswith("w2sq") else (1.0, 3)
            cells.append(
                "<br>".join(
                    _scale_spread(
                        row.get(f"{end}{name}"), row.get(f"{end}{name}_sd"), scale, digits
                    )
                    for end in ("", "letter_", "paper_")
                )
            )
        rows.append(cells)
    return markdown_table(head, rows, words=1)


def _scale_spread(mean: float | None, sd: float | None, scale: float, digits: int) -> str:
    if mean is None:
        return "-"
    spread = "" if sd is None else f" ± {scale * sd:.{digits}f}"
    return f"{scale * mean:.{digits}f}{spread}"


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


def halving_table(reproduction: Reproduction) -> pl.DataFrame:
    """Find the weakest strength that at least halves W_2² uniform: exact, to the letter, printed.

    One row for each data set and method with strengths; three columns, `strength`, `relative` and
    `performance`, for each of the three, those to the letter with `letter_` and the paper's with
    `paper_`.
    """
    rows = []
    exact, letter = (compare_rows(reproduction, way) for way in WAYS)
    for (dataset, method), own in exact.group_by("dataset", "method", maintain_order=True):
        if method not in _GRADED:
            continue
        at = (pl.col("dataset") == dataset, pl.col("method") == method)
        start = exact.filter(
            pl.col("dataset") == dataset,
            pl.col("method") == reference_row(str(dataset)),
            pl.col("strength") == 0.0,
        )
        row: dict[str, object] = {"dataset": dataset, "method": method}
        for end, table in (("", own), ("letter_", letter.filter(*at)), ("paper_", own)):
            column = f"{'paper_' if end == 'paper_' else ''}w2sq_uniform"
            power = f"{'paper_' if end == 'paper_' else ''}performance"
            free = start[column][0] if start.height else None
            row |= _first_half(table, column, power, free, end)
        rows.append(row)
    columns = ("strength", "relative", "performance")
    figures = [f"{end}{name}" for end in ("", "letter_", "paper_") for name in columns]
    kinds = dict.fromkeys(("dataset", "method"), pl.String) | dict.fromkeys(figures, pl.Float64)
    return pl.DataFrame(rows, schema=kinds)


def _first_half(
    table: pl.DataFrame, column: str, power: str, free: float | None, end: str
) -> Mapping[str, float | None]:
    columns = [f"{end}{name}" for name in ("strength", "relative", "performance")]
    found = table.filter(pl.col(column) <= 0.5 * free).sort("strength") if free else table.clear()
    if not found.height or not free:
        return dict.fromkeys(columns)
    strength, left, performance = found.select("strength", column, power).row(0)
    return dict(zip(columns, (strength, left / free, performance), strict=True))


def dataset_label(name: str) -> str:
    """Return the label of a data set: the paper's by their names, others as they are called."""
    return DATASET_LABELS.get(name, name)
