"""The pages of a reproduction: one screen of what came out, and an appendix with all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from likeforlike._text import counted
from likeforlike.experiments._vocabulary import DATASET_LABELS
from likeforlike.paper._appendix import appendix_pages
from likeforlike.paper._claims import paper_claims
from likeforlike.paper._comparison import performance_agreement
from likeforlike.paper._evidence import Claim
from likeforlike.paper._hypervolumes import agreed, volume_differences
from likeforlike.paper._protocol import PAPER_METHODS
from likeforlike.paper._reproduction import Reproduction
from likeforlike.paper._resampled import FEWEST_RUNS, STANDARD_ERRORS

_RECIPES = {
    "": "on the paper's inputs",
    ", by batch": "with its penalty on each batch",
    ", A unseen": "with A unseen",
}


def reproduction_pages(
    reproduction: Reproduction,
    figures: Mapping[str, str],
    *,
    to_appendix: str = "reproduction/",
    to_page: str = "../reproduction.md",
) -> dict[str, str]:
    """The pages of a reproduction as Markdown, by the name of a file.

    The first, `reproduction.md`, is one screen of what came out. The others are its appendix:
    `protocol.md`, `claims.md`, `printed.md`, `frontiers.md` and `tables.md`.

    Parameters
    ----------
    reproduction : a reproduction, all of it or a part.
    figures : path of each figure, relative to the first page, by its title.
    to_appendix : how the first page leads to the folder of the others.
    to_page : how they lead back.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments import MEASURED
    >>> from likeforlike.paper import Reproduction, reproduction_pages
    >>> names = ["no regularisation", "legitimate only"]
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(names)
    ... )
    >>> setting = {"machine": "a machine", "wall_seconds": 60.0, "units": 2, "units_run": 2}
    >>> setting |= {"peak_mb_of_a_worker": 700.0, "peak_mb_of_the_parent": 500.0, "versions": {}}
    >>> reproduction = Reproduction(runs, pl.DataFrame(schema=["dataset", "method"]), setting)
    >>> pages = reproduction_pages(reproduction, {})
    >>> [page.splitlines()[0] for page in pages.values()][:3]
    ["# The paper's experiments, run again", '# What was run', '# The claims, one by one']
    """
    claims, differences = paper_claims(reproduction), volume_differences(reproduction)
    parts = [
        "# The paper's experiments, run again\n",
        _opening(reproduction),
        _summary(reproduction, claims, differences, to_appendix),
        _run(reproduction, to_appendix),
        *_figures(figures),
    ]
    appendix = appendix_pages(reproduction, claims, differences, to_page)
    return {"reproduction.md": "\n".join(parts), **appendix}


def _opening(reproduction: Reproduction) -> str:
    names = ", ".join(DATASET_LABELS[name] for name in reproduction.datasets)
    names_of_paper = {method.name for method in PAPER_METHODS}
    settings = reproduction.runs.select("method", "strength").unique()
    paper = settings.filter(pl.col("method").is_in(names_of_paper)).height
    return (
        "Ghassemi et al. (AAAI 2025) compare ten methods of training on four data sets. This page "
        f"sets beside what they print what this library measures under the same protocol: {names}; "
        f"{paper} of the paper's 76 settings and {settings.height - paper} of our own; "
        f"{counted(reproduction.n_runs, 'run')} of each; "
        f"{counted(reproduction.runs.height, 'model')}. All of it "
        "was written by `likeforlike reproduce`, no figure by hand.\n"
    )


def _summary(
    reproduction: Reproduction, claims: Sequence[Claim], differences: pl.DataFrame, appendix: str
) -> str:
    verdicts = Counter(claim.verdict for claim in claims)
    agreement = performance_agreement(reproduction)
    counts = ", ".join(
        f"{verdicts[kind]} {kind}" for kind in ("reproduced", "not reproduced", "not decidable")
    )
    decided = (
        f"- **Claims.** Of {len(claims)} claims of the paper: {counts} ([all of "
        f"them]({appendix}claims.md)). The main one, that {_lower(claims[0].said)}: "
        f"**{claims[0].verdict}**."
    )
    printed = (
        f"- **Printed figures.** Power agrees, up to rounding and noise, in "
        f"{agreement['agreeing'].sum()} of {agreement['settings'].sum()} settings "
        f"([where, and why not]({appendix}printed.md))."
    )
    runs = reproduction.n_runs
    few = "" if runs >= FEWEST_RUNS else f" With {counted(runs, 'run')} nothing is decided."
    noise = (
        f"- **Noise.** A difference counts when it is more than {STANDARD_ERRORS:g} standard "
        f"errors over runs, taken within splits, with at least {FEWEST_RUNS} runs.{few}"
    )
    return "\n".join(
        ["## In short\n", decided, printed, *_recipe(differences, appendix), noise, ""]
    )


def _recipe(differences: pl.DataFrame, appendix: str) -> list[str]:
    """Our recipe against the paper's methods, by the conditional disparities."""
    conditional = differences.filter(pl.col("disparity") != "dd")
    lines = []
    for end, inputs in _RECIPES.items():
        mine = conditional.filter(pl.col("ours").str.ends_with(end) if end else ~_named_variant())
        best = pl.col("theirs") == "paper's best of four"
        single, both = mine.filter(~best), mine.filter(best)
        if both.height:
            marginal = both.filter(pl.col("disparity") == "cdd_marginal")
            lines.append(
                f"- **Our recipe {inputs}.** Method by method its frontier is larger than the "
                f"paper's {_decided(single)}. The better of ours against the best of the paper's "
                f"four, by CDD-lp P(L): larger on {_larger_on(marginal, 'difference')} by steps, "
                f"on {_larger_on(marginal, 'lines')} by lines "
                f"([by how much]({appendix}frontiers.md))."
            )
    return lines


def _named_variant() -> pl.Expr:
    """Whether a row is about one of the variants of our recipe."""
    return pl.any_horizontal(pl.col("ours").str.ends_with(end) for end in _RECIPES if end)


def _larger_on(rows: pl.DataFrame, figure: str) -> str:
    return f"{(rows[figure] > 0.0).sum()} of {rows.height} data sets"


def _decided(rows: pl.DataFrame) -> str:
    signs = [agreed(*pair) for pair in rows.select("larger", "lines_larger").rows()]
    larger, smaller, rest = (signs.count(sign) for sign in (True, False, None))
    return f"in {larger} of {len(signs)} comparisons, smaller in {smaller}, open in {rest}"


def _lower(text: str) -> str:
    return text if text.startswith("Fair") else text[0].lower() + text[1:]


def _run(reproduction: Reproduction, appendix: str) -> str:
    setting = reproduction.setting
    versions = ", ".join(f"{name} {number}" for name, number in setting["versions"].items())
    rows = reproduction.runs.group_by("dataset", maintain_order=True).agg(pl.col("rows").first())
    sizes = ", ".join(f"{DATASET_LABELS[name]} {count:,}" for name, count in rows.rows())
    minutes = counted(round(setting["wall_seconds"] / 60), "minute")
    kept = setting["units"] - setting["units_run"]
    resumed = f" for {setting['units_run']} of {setting['units']} units of work" if kept else ""
    again = _renewed(setting["renewed"]) if "renewed" in setting else ""
    return (
        "## What was run\n\n"
        f"On {setting['machine']}, it took {minutes}{resumed}, "
        f"with at most {setting['peak_mb_of_a_worker']:.0f} MB in a worker and "
        f"{setting['peak_mb_of_the_parent']:.0f} MB in the parent ({versions}). {again}"
        f"Everything is measured on test rows: {sizes} in each run. The [protocol]"
        f"({appendix}protocol.md) says what the paper leaves open and how long each method "
        f"took; the [tables]({appendix}tables.md) have every setting beside the printed one. To "
        "run it again, and to write these pages again from the results that are kept:\n\n"
        "```console\n"
        "likeforlike reproduce --out reproduction\n"
        "likeforlike reproduce --read docs/reproduction --out docs/reproduction "
        "--page docs/reproduction.md\n"
        "```\n"
    )


def _renewed(again: Mapping[str, Any]) -> str:
    """Which methods were trained again after the others."""
    minutes = counted(round(again["cpu_seconds"] / 60), "minute")
    names = "; ".join(again["methods"])
    return f"Trained again since then, in {minutes} of processor time: {names}. "


def _figures(figures: Mapping[str, str]) -> list[str]:
    if not figures:
        return []
    shown = [
        f"![{title}: performance against disparity, one mark for each method and "
        f"strength]({path})\n\n"
        f"*{title}.*\n"
        for title, path in figures.items()
    ]
    return ["## Figures\n", *shown]
