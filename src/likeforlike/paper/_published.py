"""The paper's tables as printed, and in units in which their rows can be compared.

Source: Ghassemi et al. (2025), *Auditing and Enforcing Conditional Fairness via Optimal
Transport*, the eight tables of results at the end of the appendix (four data sets; the variants of
FairLeap, and all other methods), 304 rows. `published.csv` holds them as printed: mean and standard
deviation over ten runs, under the names of the paper.

Rows of one table are not all in the same unit. What is corrected here was inferred from the tables:

- the uniform column is a mean over levels for no regularisation, repair and legitimate only, and a
  sum for everything else: beside the average column it is 9 or 10 times as large. Sums are divided
  by the number of levels the paper counts, 9 for Drug and 10 elsewhere;
- the three l_p columns of DCFR on Adult are ten times too large and are divided by 10;
- no regularisation on Adult averages runs of two scales (41.8 ± 37.4 beside 7.85 ± 0.64 for repair
  at 0); its l_p columns are set aside;
- CDD-wass on Communities is not normalised: constant models have 2.815. It is taken off. DCFR was
  run on other splits there (its standard deviations differ), so its offset is unknown.

What cannot be corrected is the unit of the l_p columns. They are a hundred times *something*: on
Adult and Communities nearer to W_2² than to W_1, on Law School larger than either. They are
compared relative to a row of the same data set, never in absolute terms. Power and CDD-wass are in
natural units.
"""

from __future__ import annotations

from importlib.resources import files

import polars as pl

from likeforlike.paper._protocol import PAPER_METHODS

PUBLISHED_DISPARITIES = ("cdd_wass", "cdd_uniform", "cdd_average", "cdd_marginal")
"""Disparities that the tables have; the paper draws the demographic disparity but prints none."""

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
    "No Regularization": "no regularisation",
    "Fair PreProc.": "repair",
    "FairLeap (uniform)": "FairLeap, uniform",
    "FairLeap (P(L))": "FairLeap, P(L)",
    "Fairleap (Ave. P(L|A))": "FairLeap, average",
}
_LP = PUBLISHED_DISPARITIES[1:]
_MEANS = ("no regularisation", "repair", "legitimate only")
_LEVELS = {"adult": 10.0, "drug": 9.0, "law_school": 10.0, "communities": 10.0}
_LEFT_IN = 2.815


def published_rows() -> pl.DataFrame:
    """The 304 rows of the paper's tables, as printed and corrected.

    Returns
    -------
    One row a setting, in the order of the paper. `dataset`, `method` and `strength` are those of
    the protocol; `printed_strength` is what the table says (two decimals, or
    nothing). `printed_*` are the figures as printed; `performance`, `cdd_wass`, `cdd_uniform`,
    `cdd_average`, `cdd_marginal` and their `_sd` are corrected, and empty where no correction is
    known. `comparable` says whether the row's l_p disparities can be set against other rows of its
    data set, and `note` what was done to it.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.paper import published_rows
    >>> rows = published_rows()
    >>> rows.height, rows.filter(~pl.col("comparable"))["method"].to_list()
    (304, ['no regularisation'])
    >>> law = rows.filter(pl.col("dataset") == "law_school", pl.col("method") == "FairBiT")
    >>> law.select("strength", "printed_cdd_uniform", "cdd_uniform").row(-1)
    (10.0, 50.967, 5.0967)
    """
    columns = ("performance", *PUBLISHED_DISPARITIES)
    figures = [name for column in columns for name in (column, f"{column}_sd")]
    printed = _printed().rename({name: f"printed_{name}" for name in ("strength", *figures)})
    rows = printed.with_columns(pl.col(f"printed_{name}").alias(name) for name in figures)
    rows = _named(rows).with_columns(_uniform_scale().alias("scale"), _notes().alias("note"))
    rows = _rescaled(rows)
    first = ("dataset", "method", "strength", "printed_strength")
    return rows.select(
        *first, *(f"printed_{name}" for name in figures), *figures, "comparable", "note"
    )


def _printed() -> pl.DataFrame:
    """The file: strengths as text, since "0.00" stands for four of them."""
    text = files("likeforlike.paper").joinpath("published.csv").read_bytes()
    return pl.read_csv(text, schema_overrides={"strength": pl.String})


def _named(rows: pl.DataFrame) -> pl.DataFrame:
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
    """What the uniform column is divided by: the levels, where it is a sum."""
    levels = pl.col("dataset").replace_strict(_LEVELS)
    return pl.when(pl.col("method").is_in(_MEANS)).then(1.0).otherwise(levels)


def _dcfr_on(dataset: str) -> pl.Expr:
    return (pl.col("dataset") == dataset) & (pl.col("method") == "DCFR")


def _two_scales() -> pl.Expr:
    return (pl.col("dataset") == "adult") & (pl.col("method") == "no regularisation")


def _rescaled(rows: pl.DataFrame) -> pl.DataFrame:
    """The corrections of the module's docstring."""
    tenfold = pl.when(_dcfr_on("adult")).then(10.0).otherwise(1.0)
    divisors = {name: pl.col("scale") if name == "cdd_uniform" else pl.lit(1.0) for name in _LP}
    lp = [
        pl.when(~_two_scales())
        .then(pl.col(f"{name}{end}") / (divisor * tenfold))
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
    """What was done to a row, in words."""
    said = [
        (~pl.col("method").is_in(_MEANS), "uniform column divided by the number of levels"),
        (_dcfr_on("adult"), "l_p columns divided by 10 once more"),
        (_two_scales(), "averages runs of two scales: l_p columns set aside"),
        (_dcfr_on("communities"), "CDD-wass has an unknown offset: set aside"),
        (
            (pl.col("dataset") == "communities") & (pl.col("method") != "DCFR"),
            f"{_LEFT_IN} taken off CDD-wass",
        ),
        (
            pl.lit(value=True),
            "l_p columns are in an unknown unit: compare rows of one data set only",
        ),
    ]
    parts = [pl.when(where).then(pl.lit(text)) for where, text in said]
    return pl.concat_str(parts, separator="; ", ignore_nulls=True)
