"""Write what a reproduction found: results, tables, figures, and the page that shows them.

The page is one screen of what came out, with an appendix of all of it. The figures are the paper's,
from our runs, and one of our recipe.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from likeforlike._plots import Look, Panel, tradeoff_svg
from likeforlike._text import plural
from likeforlike.experiments import DISPARITY_LABELS, Sweep, sweep_panel
from likeforlike.files import check_writable, write_whole
from likeforlike.paper._claims import READINGS, VERDICTS, Claim, paper_claims
from likeforlike.paper._comparison import (
    PRINTED_UNIT,
    WAYS,
    agreement,
    agreement_summary,
    comparison_tables,
    dataset_label,
    entropic_evidence,
    halving_table,
    inconsistencies,
    markdown_table,
    strength_factors,
    table_markdown,
    unit_evidence,
    write_tables,
)
from likeforlike.paper._protocol import (
    ENTROPIC_MEASURES,
    LITERAL_METHODS,
    OWN_METHODS,
    PAPER_METHODS,
    REG,
)
from likeforlike.paper._reproduction import Reproduction, read_reproduction
from likeforlike.paper._resampled import (
    DRAWS,
    FEWEST_RUNS,
    STANDARD_ERRORS,
    agree_on,
    hypervolumes,
    volume_differences,
)

_INPUTS = {
    "": "on the paper's inputs",
    ", by batch": "with its penalty on each batch",
    ", A unseen": "with A unseen",
}


@cache
def _texts() -> dict[str, str]:
    text = (resources.files("likeforlike.paper") / "pages.toml").read_text("utf-8")
    found: dict[str, str] = tomllib.loads(text)
    return found


def _words(name: str, **figures: str) -> str:
    """Words of the pages, with figures in their places."""
    return _texts()[name].format(**figures) if figures else _texts()[name]


def reproduction_pages(
    reproduction: Reproduction,
    figures: Mapping[str, str],
    *,
    to_appendix: str = "reproduction/",
    to_page: str = "../reproduction.md",
) -> dict[str, str]:
    """Write the pages of a reproduction as Markdown, by the name of a file.

    The first, `reproduction.md`, is one screen of what came out. The others are its appendix:
    `protocol.md`, `claims.md`, `printed.md`, `frontiers.md`, `together.md` and `tables.md`; of data
    that are not the paper's `protocol.md`, `frontiers.md` and `tables.md`.

    Parameters
    ----------
    reproduction : a reproduction, all of it or a part.
    figures : path of each figure, relative to the first page, by its title.
    to_appendix : how the first page leads to the folder of the others.
    to_page : how they lead back.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction
    >>> from likeforlike.paper._publishing import reproduction_pages
    >>> names = ["no regularization", "legitimate only"]
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
    differences = volume_differences(reproduction)
    volumes = hypervolumes(reproduction)
    appendix = {
        "protocol.md": ("What was run", _protocol(), _times(reproduction)),
        "frontiers.md": ("Sizes of frontiers", _frontiers(volumes, differences)),
    }
    summary = [_opening_of_own(reproduction)]
    if reproduction.of_paper:
        claims = paper_claims(reproduction)
        appendix = {
            "protocol.md": appendix["protocol.md"],
            "claims.md": ("The claims, one by one", _claims(claims), _print()),
            "printed.md": ("Beside the printed figures", *_paper_table(reproduction)),
            "frontiers.md": appendix["frontiers.md"],
            "together.md": ("Repair and FairBiT together", _together(reproduction, volumes)),
        }
        summary = [
            _opening(reproduction),
            _headline(reproduction, to_appendix),
            _summary(reproduction, claims, differences, volumes, to_appendix),
        ]
    appendix["tables.md"] = ("All tables", _tables(reproduction))
    parts = [
        "# The paper's experiments, run again\n"
        if reproduction.of_paper
        else "# The paper's protocol on other data\n",
        *summary,
        _run(reproduction, to_appendix),
        *_figures(figures),
    ]
    back = f"An appendix to [the paper's experiments, run again]({to_page}).\n"
    return {
        "reproduction.md": "\n".join(parts),
        **{
            name: "\n".join([f"# {title}\n", back, *rest])
            for name, (title, *rest) in appendix.items()
        },
    }


# The first page -----------------------------------------------------------------------------------


def _opening(reproduction: Reproduction) -> str:
    names = ", ".join(dataset_label(name) for name in reproduction.datasets)
    settings = reproduction.runs.select("method", "strength").unique()
    paper = settings.filter(_among(PAPER_METHODS)).height
    own = settings.filter(_among(OWN_METHODS)).height
    rest = settings.height - paper - own
    return (
        "Ghassemi et al. (AAAI 2025) compare ten methods of training on four data sets. This page "
        f"compares what they print with what this library measures under their protocol: {names}; "
        f"{paper} of the paper's 76 settings by exact transport, {rest} to the letter and in other "
        f"readings, {own} of our own; {plural(reproduction.n_runs, 'run')} of each; "
        f"{plural(reproduction.runs.height, 'model')}. All of it was written by "
        "`likeforlike reproduce`, no figure by hand.\n"
    )


def _among(methods: Sequence[Any]) -> pl.Expr:
    return pl.col("method").is_in([method.name for method in methods])


def _opening_of_own(reproduction: Reproduction) -> str:
    names = ", ".join(reproduction.datasets)
    return (
        f"The methods of Ghassemi et al. (AAAI 2025) and our own on {names}, under the paper's "
        f"protocol: {plural(reproduction.n_runs, 'run')} of each setting, "
        f"{plural(reproduction.runs.height, 'model')}. What the paper claims of its own data is "
        "not asked here.\n"
    )


def _headline(reproduction: Reproduction, appendix: str) -> str:
    rows = [
        [label, *(counts[way] for way in WAYS)] for label, counts in agreement_summary(reproduction)
    ]
    return (
        "## How many printed settings agree\n\n"
        "Of the 304 settings of the paper's tables, those whose mean is within rounding and three "
        "standard errors of ours; *exact* is the same regularizer by exact transport, *to the "
        f"letter* its own, entropic ([where, and why not]({appendix}printed.md)).\n\n"
        + markdown_table(("figure", *WAYS), rows)
    )


def _summary(
    reproduction: Reproduction,
    claims: Sequence[Claim],
    differences: pl.DataFrame,
    volumes: pl.DataFrame,
    appendix: str,
) -> str:
    lines = []
    for reading in READINGS:
        verdicts = Counter(claim.verdicts[reading.name] for claim in claims)
        counts = ", ".join(f"{verdicts[kind]} {kind}" for kind in VERDICTS)
        lines.append(f"{reading.name}: {counts}")
    turned = sum(claim.depends for claim in claims)
    main = claims[0]
    said = ", ".join(f"{verdict} ({name})" for name, verdict in main.verdicts.items())
    alike = len(set(main.verdicts.values())) == 1
    decided = (
        f"- **Claims.** Of {len(claims)} claims of the paper ([all of them]({appendix}claims.md)), "
        f"by reading: {'; '.join(lines)}. {plural(turned, 'claim')} "
        f"{'depends' if turned == 1 else 'depend'} on the reading. The main one, that "
        f"{_lower(main.said)}: "
        f"**{main.verdict if alike else said}**."
    )
    runs = reproduction.n_runs
    few = "" if runs >= FEWEST_RUNS else f" With {plural(runs, 'run')} nothing is decided."
    noise = (
        f"- **Noise.** A difference counts when it is more than {STANDARD_ERRORS:g} standard "
        f"errors over runs, taken within splits, with at least {FEWEST_RUNS} runs.{few}"
    )
    together = _best_amounts(volumes, appendix)
    return "\n".join(
        ["## In short\n", decided, *_recipe(differences, appendix), *together, noise, ""]
    )


def _best_amounts(volumes: pl.DataFrame, appendix: str) -> list[str]:
    """How much repair before FairBiT has the largest frontier, on every data set."""
    grid = volumes.filter(
        pl.col("disparity") == "squared", pl.col("method").str.contains("and FairBiT")
    )
    best = []
    for (dataset,), own in grid.group_by("dataset", maintain_order=True):
        row = own.sort("lines", descending=True, nulls_last=True).row(0, named=True)
        if row["lines"] is not None:
            best.append(f"{row['method'].split()[1]} on {dataset_label(str(dataset))}")
    if not best:
        return []
    where = f"{', '.join(best)} ([the whole grid]({appendix}together.md))."
    return [f"- **Repair and FairBiT together**, A unseen: largest frontier at repair {where}"]


def _recipe(differences: pl.DataFrame, appendix: str) -> list[str]:
    """Our recipe against the paper's methods, by the conditional disparities."""
    conditional = differences.filter(pl.col("disparity") != "dd")
    lines = []
    for end, inputs in _INPUTS.items():
        mine = conditional.filter(pl.col("ours").str.ends_with(end) if end else ~_is_variant())
        best = pl.col("theirs") == "paper's best of four"
        single, both = mine.filter(~best), mine.filter(best)
        if both.height:
            marginal = both.filter(pl.col("disparity") == "cdd_marginal")
            lines.append(
                f"- **Our recipe {inputs}.** Method by method its frontier is larger than the "
                f"paper's {_decide(single)}. The better of ours against the best of the paper's "
                f"four, by CDD-lp P(L): larger on {_larger_on(marginal, 'difference')} by steps, "
                f"on {_larger_on(marginal, 'lines')} by lines "
                f"([by how much]({appendix}frontiers.md))."
            )
    return lines


def _is_variant() -> pl.Expr:
    """Whether a row is about one of the variants of our recipe."""
    return pl.any_horizontal(pl.col("ours").str.ends_with(end) for end in _INPUTS if end)


def _larger_on(rows: pl.DataFrame, figure: str) -> str:
    return f"{(rows[figure] > 0.0).sum()} of {rows.height} data sets"


def _decide(rows: pl.DataFrame) -> str:
    signs = [agree_on(*pair) for pair in rows.select("larger", "lines_larger").rows()]
    larger, smaller, rest = (signs.count(sign) for sign in (True, False, None))
    return f"in {larger} of {len(signs)} comparisons, smaller in {smaller}, open in {rest}"


def _lower(text: str) -> str:
    return text if text.startswith("Fair") else text[0].lower() + text[1:]


def _run(reproduction: Reproduction, appendix: str) -> str:
    setting = reproduction.setting
    versions = ", ".join(f"{name} {number}" for name, number in setting["versions"].items())
    rows = reproduction.runs.group_by("dataset", maintain_order=True).agg(pl.col("rows").first())
    sizes = ", ".join(f"{dataset_label(name)} {count:,}" for name, count in rows.rows())
    minutes = plural(round(setting["wall_seconds"] / 60), "minute")
    kept = setting["units"] - setting["units_run"]
    resumed = f" for {setting['units_run']} of {setting['units']} units of work" if kept else ""
    again = _list_reruns(setting["renewed"]) if "renewed" in setting else ""
    poor = _find_poor_fits(reproduction)
    return (
        "## What was run\n\n"
        f"On {setting['machine']}, it took {minutes}{resumed}, "
        f"with at most {setting['peak_mb_of_a_worker']:.0f} MB in a worker and "
        f"{setting['peak_mb_of_the_parent']:.0f} MB in the parent ({versions}). {again}"
        f"Everything is measured on test rows: {sizes} in each run. {poor}The [protocol]"
        f"({appendix}protocol.md) says what is followed, what is not, and how long each method "
        f"took; the [tables]({appendix}tables.md) have every setting.\n"
        + (_COMMANDS if reproduction.of_paper else "")
    )


_COMMANDS = """
To run it again, and to write these pages again from the results that are kept:

```console
likeforlike reproduce --out reproduction
likeforlike reproduce --read docs/reproduction --out docs/reproduction --page docs/reproduction.md
```
"""


def _find_poor_fits(reproduction: Reproduction) -> str:
    """Which settings predict worse than a constant; their rows in the tables carry a mark."""
    poor = [
        f"{dataset_label(name)}, {row['method']} at {row['strength']:g}"
        for name in reproduction.datasets
        for row in reproduction.of(name).underfitted().iter_rows(named=True)
    ]
    if not poor:
        return ""
    settings = sum(reproduction.of(name).means().height for name in reproduction.datasets)
    named = "; ".join(poor[:5]) + ("; and others" if len(poor) > 5 else "")
    return f"{len(poor)} of {settings:,} settings predict worse than a constant: {named}. "


def _list_reruns(again: Mapping[str, Any]) -> str:
    """Which methods were trained again after the others."""
    minutes = plural(round(again["cpu_seconds"] / 60), "minute")
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


# The appendix -------------------------------------------------------------------------------------


def _protocol() -> str:
    return _words("followed") + "\n" + _words("departures", reg=f"{REG:g}")


def _times(reproduction: Reproduction) -> str:
    """Minutes of each method, and seconds of one of its models."""
    cells: dict[str, dict[str, str]] = {}
    for row in reproduction.times.to_dicts():
        each = row["seconds"] / row["runs"]
        cells.setdefault(row["method"], {})[row["dataset"]] = (
            f"{row['seconds'] / 60:.1f} min ({each:.1f} s)"
        )
    head = ("method", *(dataset_label(name) for name in reproduction.datasets))
    rows = [
        [name, *(by_dataset.get(key, "-") for key in reproduction.datasets)]
        for name, by_dataset in cells.items()
    ]
    return (
        "How long each method took, and in brackets one of its models. (The paper reports about 2 "
        "hours for one FairBiT model on Law School, and less than 10 minutes for any other, on "
        "another machine.)\n\n" + markdown_table(head, rows)
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = []
    for claim in claims:
        first, *others = claim.verdicts
        evidence = [f"{claim.meaning.rstrip('.')}. {claim.evidence[first]}"]
        evidence += [
            f"*{name}*: {claim.evidence[name]}"
            for name in others
            if claim.verdicts[name] != claim.verdicts[first]
        ]
        rows.append(
            [
                f"{claim.said} ({claim.where})",
                *(f"**{verdict}**" for verdict in claim.verdicts.values()),
                "<br>".join(evidence),
            ]
        )
    plain = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    head = ("claim", *(reading.name for reading in READINGS), "evidence")
    return _words("meaning", draws=str(DRAWS)) + markdown_table(head, plain, words=len(head))


def _print() -> str:
    return _words("print") + markdown_table(("what", "seen in"), inconsistencies(), words=2)


def _paper_table(reproduction: Reproduction) -> list[str]:
    return [
        _words("units") + _units(reproduction) + "\n" + _words("unit_verdict"),
        _words("entropic") + _entropic(reproduction),
        _words("factors") + _factors(reproduction),
        _agreement(reproduction),
        _halving(reproduction),
        _words("reasons"),
    ]


def _units(reproduction: Reproduction) -> str:
    rows = []
    table = unit_evidence(reproduction)
    if table.is_empty():
        return "No model without a penalty was run.\n"
    for (dataset,), own in table.group_by("dataset", maintain_order=True):
        cells = [dataset_label(str(dataset)), f"{PRINTED_UNIT[str(dataset)]:g}"]
        triples = (own[name] for name in ("printed", "w2sq", "w1"))
        rows.append([*cells, *(" ".join(f"{value:.2f}" for value in one) for one in triples)])
    head = ("data set", "factor", "printed", "ours as W_2²", "100 W_1")
    note = "\nUniform, average and P(L) in every cell; printed on Adult is repair at 0.\n"
    return markdown_table(head, rows) + note


def _entropic(reproduction: Reproduction) -> str:
    table = entropic_evidence(reproduction)
    own = [name for name in ENTROPIC_MEASURES if name in table.columns]
    rows = [
        [
            dataset_label(row["dataset"]),
            row["method"],
            _number(row["paper_cdd_wass"]),
            *(_number(row[name]) for name in ("cdd_wass", *own)),
        ]
        for row in table.to_dicts()
    ]
    head = ("data set", "method", "printed", "exact", *(f"reg {n.rpartition('_')[2]}" for n in own))
    return markdown_table(head, rows, words=2)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _factors(reproduction: Reproduction) -> str:
    table = strength_factors(reproduction)
    if table.is_empty():
        return "Too little was run.\n"
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in table.to_dicts():
        text = "-"
        if row["settings"]:
            text = f"{row['median']:.2g} ({row['lowest']:.2g} to {row['highest']:.2g})"
        cells.setdefault((row["method"], row["ours"]), {})[row["dataset"]] = text
    head = ("printed method", "ours", *(dataset_label(name) for name in reproduction.datasets))
    rows = [
        [*names, *(by_name.get(name, "-") for name in reproduction.datasets)]
        for names, by_name in cells.items()
    ]
    return markdown_table(head, rows, words=2) + "\nMedian, lowest and highest over settings.\n"


def _agreement(reproduction: Reproduction) -> str:
    tables = {way: agreement(reproduction, way=way) for way in WAYS}
    gaps = {way: agreement(reproduction, "w2sq_marginal", way=way) for way in WAYS}
    rows = []
    for row in tables["exact"].to_dicts():
        key = (pl.col("dataset") == row["dataset"]) & (pl.col("method") == row["method"])
        cells = [dataset_label(row["dataset"]), row["method"]]
        for found in (tables, gaps):
            for way in WAYS:
                one = found[way].filter(key)
                cells.append(f"{one['agreeing'][0]} of {one['settings'][0]}" if one.height else "-")
        cells.append(f"{row['difference']:+.3f}")
        rows.append(cells)
    head = (
        "data set",
        "method",
        "performance, exact",
        "performance, to the letter",
        "W_2² P(L), exact",
        "W_2² P(L), to the letter",
        "mean difference in performance, exact",
    )
    return (
        "## Settings that agree\n\nA setting agrees when the difference is within the rounding "
        "of what is printed and three standard errors.\n\n" + markdown_table(head, rows, words=2)
    )


def _halving(reproduction: Reproduction) -> str:
    rows = [
        [
            dataset_label(row["dataset"]),
            row["method"],
            *(_format_half(row, prefix) for prefix in ("", "letter_", "paper_")),
        ]
        for row in halving_table(reproduction).to_dicts()
    ]
    head = ("data set", "method", "exact", "to the letter", "printed")
    return (
        "The weakest strength that at least halves W_2² uniform: strength, what is left of the "
        "disparity, performance.\n\n" + markdown_table(head, rows, words=2)
    )


def _format_half(row: Mapping[str, float | None], prefix: str) -> str:
    if row[f"{prefix}strength"] is None:
        return "none"
    return (
        f"{row[f'{prefix}strength']:.4g}: {row[f'{prefix}relative']:.0%}, "
        f"{row[f'{prefix}performance']:.{2 if prefix == 'paper_' else 4}f}"
    )


def _frontiers(volumes: pl.DataFrame, differences: pl.DataFrame) -> str:
    parts = [_words("volumes")]
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
        counts = agree_on(row.get("larger"), row.get("lines_larger")) is not None
        names = tuple(row[key] for key in keys)
        cells.setdefault(names, {})[row["dataset"]] = f"**{text}**" if counts else text
    head = (*keys, *(dataset_label(name) for name in datasets))
    lines = [
        [*names, *(by_name.get(name, "-") for name in datasets)] for names, by_name in cells.items()
    ]
    return markdown_table(head, lines, words=len(keys))


def _figure(value: float | None, error: float | None, form: str) -> str:
    if value is None:
        return "-"
    return format(value, form) + ("" if error is None else f" ± {error:.3f}")


def _together(reproduction: Reproduction, volumes: pl.DataFrame) -> str:
    """Write the grid of repair and FairBiT: the paper's second direction of future work."""
    grid = volumes.filter(
        pl.col("method").str.contains("and FairBiT")
        | pl.col("method").is_in(
            ["FairBiT", "repair", "repair, A unseen", "our FairBiT, A unseen"]
        ),
        pl.col("disparity").is_in(["squared", "w2sq_marginal", "cdd_marginal"]),
    )
    if grid.is_empty():
        return "None of it was run.\n"
    parts = [_words("together")]
    for (disparity,), own in grid.group_by("disparity", maintain_order=True):
        parts += [
            f"## {DISPARITY_LABELS[str(disparity)]}\n",
            _by_dataset(own, ["method"], "volume"),
        ]
    cells = [
        [dataset_label(name), *_best_of_grid(reproduction, name)] for name in reproduction.datasets
    ]
    parts += [
        _words("half"),
        markdown_table(("data set", *(f"repair {t:g}" for t in _AMOUNTS)), cells),
    ]
    return "\n".join(parts)


_AMOUNTS = (0.0, 0.25, 0.5, 0.75, 1.0)


def _best_of_grid(reproduction: Reproduction, dataset: str) -> list[str]:
    sweep = reproduction.of(dataset)
    means = sweep.means()
    free = means.filter(pl.col("method") == "no regularization")
    found = []
    for amount in _AMOUNTS:
        own = means.filter(pl.col("method") == f"repair {amount:g} and FairBiT, A unseen")
        if not free.height or not own.height:
            found.append("-")
            continue
        kept = own.filter(pl.col("w2sq_marginal") <= 0.5 * free["w2sq_marginal"][0])
        sign = 1.0 if sweep.task == "regression" else -1.0
        losses = [sign * (value - free["performance"][0]) for value in kept["performance"]]
        found.append(f"{min(losses):+.4f}" if losses else "not reached")
    return found


def _tables(reproduction: Reproduction) -> str:
    if not reproduction.of_paper:
        return "\n".join(_own_table(reproduction, name) for name in reproduction.datasets)
    parts = [_words("tables")]
    for (dataset, kind), table in comparison_tables(reproduction).items():
        which = "FairLeap" if kind == "fairleap" else "all other methods"
        measured = (
            "AUC" if reproduction.of(dataset).task == "classification" else "mean squared error"
        )
        parts.append(f"## {dataset_label(dataset)}: {which}\n")
        parts.append(f"Performance is {measured}; {plural(reproduction.n_runs, 'run')}.\n")
        parts.append(table_markdown(table))
    parts += [_own_table(reproduction, name) for name in reproduction.datasets]
    return "\n".join(parts)


def _own_table(reproduction: Reproduction, dataset: str) -> str:
    """All settings that stand in no table of the paper."""
    sweep = reproduction.of(dataset)
    poor = set(sweep.underfitted().select("method", "strength").rows())
    means = sweep.means()
    if reproduction.of_paper:
        means = means.filter(~_among(PAPER_METHODS))
    rows = [
        [
            row["method"],
            f"{row['strength']:.4g}",
            f"{row['performance']:.4f}"
            + (" (!)" if (row["method"], row["strength"]) in poor else ""),
            *(f"{row[name]:.4f}" for name in ("cdd_wass", "cdd_marginal", "w2sq_marginal", "dd")),
        ]
        for row in means.to_dicts()
    ]
    labels = [DISPARITY_LABELS[n] for n in ("cdd_wass", "cdd_marginal", "w2sq_marginal", "dd")]
    title = "methods that are not in the paper" if reproduction.of_paper else "all methods"
    mark = "(!) predicts worse than a constant.\n\n" if poor else ""
    return (
        f"## {dataset_label(dataset)}: {title}\n\nMeans over runs in natural units. {mark}"
        + markdown_table(("method", "strength", "performance", *labels), rows)
    )


_DATASETS = {
    "adult": "Adult",
    "drug": "Drug Consumption",
    "law_school": "Law School",
    "communities": "Communities and Crime",
}
# A family has one color; ours are full where the paper's are hollow.
LOOKS = {
    "no regularization": Look("x", "hollow", "ink"),
    "legitimate only": Look("2", "hollow", "ink"),
    "FairBiT": Look("s", "hollow", "blue"),
    "FairLeap, uniform": Look("v", "hollow", "vermilion"),
    "FairLeap, P(L)": Look("^", "hollow", "vermilion"),
    "FairLeap, average": Look(">", "hollow", "vermilion"),
    "DCFR": Look("o", "full", "green"),
    "adversarial, CDP": Look("*", "full", "purple"),
    "adversarial, DP": Look("*", "hollow", "purple"),
    "repair": Look("p", "hollow", "ochre"),
    "Wasserstein": Look("o", "hollow", "gray"),
    "our FairLeap": Look("^", "full", "vermilion"),
    "our FairBiT": Look("s", "full", "blue"),
    "our FairLeap, by batch": Look(">", "full", "vermilion"),
    "our FairLeap, A unseen": Look("<", "full", "vermilion"),
    "our FairBiT, A unseen": Look("D", "full", "blue"),
    "barycenter": Look("p", "full", "ochre"),
    "FairBiT, Algorithm 1": Look("s", "full", "blue"),
    "FairBiT, entropic": Look("D", "hollow", "blue"),
    "FairLeap, uniform, entropic": Look("v", "full", "vermilion"),
    "FairLeap, P(L), entropic": Look("^", "full", "vermilion"),
    "FairLeap, average, entropic": Look(">", "full", "vermilion"),
    "FairLeap, P(L), entropic squared": Look("<", "full", "purple"),
    "Wasserstein, entropic": Look("D", "full", "gray"),
    "Wasserstein, squared": Look("o", "hollow", "purple"),
    "fairlearn": Look("*", "full", "purple"),
    "fairlearn, hard": Look("*", "hollow", "purple"),
    "repair, A unseen": Look("p", "full", "ochre"),
    "repair 0 and FairBiT, A unseen": Look("s", "full", "blue"),
    "repair 0.25 and FairBiT, A unseen": Look("^", "hollow", "green"),
    "repair 0.5 and FairBiT, A unseen": Look("D", "full", "green"),
    "repair 0.75 and FairBiT, A unseen": Look("v", "full", "ochre"),
    "repair 1 and FairBiT, A unseen": Look("o", "full", "vermilion"),
}
"""How each method is drawn, in all figures."""
_PAPER = tuple(method.name for method in PAPER_METHODS)
_RECIPES = (
    "no regularization",
    *(name for name in _PAPER if name.startswith("Fair")),
    *(method.name for method in OWN_METHODS),
)
_LITERAL = tuple(method.name for method in LITERAL_METHODS)
_TOGETHER = tuple(name for name in _LITERAL if name.endswith("FairBiT, A unseen"))
_LETTER = (
    "no regularization",
    *(name for name in _LITERAL if "entropic" in name or name == "FairBiT, Algorithm 1"),
    "Wasserstein, squared",
    "DCFR",
    "fairlearn",
    "fairlearn, hard",
    "repair",
)

FIGURES = {
    "main": "Disparity against predictive performance, the paper's methods",
    "legitimate_only": "Disparity against predictive performance, with legitimate only",
    "measures": "Disparity by other measures against predictive performance",
    "letter": "The paper's own regularizers, entropic, by the unit of its tables",
    "recipes": "Our recipe against FairBiT and FairLeap as the paper trains them",
    "together": "Repair and FairBiT together, A unseen",
}
"""Names of the figures of a reproduction, and their titles."""


def reproduction_figures(reproduction: Reproduction) -> dict[str, str]:
    """Draw the paper's figures from our runs, and one of our recipe, each as an SVG of its own."""
    figures = {}
    for name, panels in figure_panels(reproduction).items():
        rows = len({panel.disparity for panel in panels})
        columns = len(panels) // rows
        columns = min(columns, 2) if rows == 1 else columns
        figures[name] = tradeoff_svg(panels, title=FIGURES[name], columns=columns)
    return figures


def figure_panels(reproduction: Reproduction) -> dict[str, list[Panel]]:
    """Panels of every figure: a row of data sets for each disparity.

    Data sets and methods that were not run are left out, and so is a figure that has nothing left.

    - `main`: the paper's figure of section 6, CDD-wass above and CDD-lp uniform below, without
      legitimate only;
    - `legitimate_only`: the same with it, as in the appendix;
    - `measures`: the appendix's figure of CDD-lp P(L), CDD-lp average and DD;
    - `letter`: the entropic regularizers and the rivals as others have them, CDD-wass above and
      W_2² uniform below;
    - `recipes`: our recipe and the paper's FairBiT and FairLeap, CDD-lp P(L);
    - `together`: repair and FairBiT, and both, W_2² P(L).
    """
    without = [name for name in _PAPER if name != "legitimate only"]
    first, second = ("cdd_wass", "cdd_uniform"), ("cdd_marginal", "cdd_average", "dd")
    asked: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "main": (first, without),
        "legitimate_only": (first, _PAPER),
        "measures": (second, _PAPER),
        "letter": (("cdd_wass", "w2sq_uniform"), _LETTER),
        "recipes": (("cdd_marginal",), _RECIPES),
        "together": (
            ("w2sq_marginal",),
            (*_PAPER[:3], "repair", "repair, A unseen", *_TOGETHER),
        ),
    }
    panels = {name: _panels(reproduction, *rest) for name, rest in asked.items()}
    return {name: drawn for name, drawn in panels.items() if drawn}


def _panels(
    reproduction: Reproduction, disparities: Sequence[str], methods: Sequence[str]
) -> list[Panel]:
    sweeps = {name: _only(reproduction.of(name), methods) for name in reproduction.datasets}
    return [
        sweep_panel(
            sweep,
            disparity,
            title=_DATASETS.get(name, name),
            looks=LOOKS,
            down_to="legitimate only",
        )
        for disparity in disparities
        for name, sweep in sweeps.items()
        if not sweep.runs.is_empty()
    ]


def _only(sweep: Sweep, methods: Sequence[str]) -> Sweep:
    """Select the runs of some methods, in their order."""
    parts = [sweep.runs.filter(pl.col("method") == name) for name in methods]
    return Sweep(pl.concat([sweep.runs.clear(), *parts]), sweep.task)


def publish(reproduction: Reproduction, folder: Path | str, page: Path | str) -> list[Path]:
    """Write results, tables, figures and an appendix to a folder, and the page that leads to them.

    Parameters
    ----------
    reproduction : what was run.
    folder : for `runs.csv`, `times.csv`, `setting.json`, the eight tables, the figures and the
        pages of the appendix.
    page : where the first page goes; links between pages and to figures are relative.

    Returns
    -------
    The files that were written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction, publish
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(["no regularization", "legitimate only"])
    ... )
    >>> setting = {"machine": "a machine", "wall_seconds": 60.0, "units": 2, "units_run": 2}
    >>> setting |= {"peak_mb_of_a_worker": 700.0, "peak_mb_of_the_parent": 500.0, "versions": {}}
    >>> times = pl.DataFrame({"dataset": ["drug"], "method": ["legitimate only"], "runs": [1],
    ...     "seconds": [1.0], "cpu_seconds": [1.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.md"
    ...     written = publish(Reproduction(runs, times, setting), Path(folder) / "results", page)
    ...     page in written, written[0].name
    (True, 'runs.csv')
    """
    target, text = Path(folder), Path(page)
    target.mkdir(parents=True, exist_ok=True)
    check_writable(text)
    reproduction.write(target)
    # Files hold rounded figures; the page is made of what is in them, so that it can be made again.
    reproduction = read_reproduction(target)
    written = [target / name for name in ("runs.csv", "times.csv", "setting.json")]
    if reproduction.of_paper:
        written += write_tables(reproduction, target)
    links = {}
    for name, drawing in reproduction_figures(reproduction).items():
        written.append(target / f"{name}.svg")
        write_whole(written[-1], drawing)
        links[FIGURES[name]] = _link(written[-1], text)
    pages = reproduction_pages(
        reproduction,
        links,
        to_appendix=_link(target / "claims.md", text).removesuffix("claims.md"),
        to_page=_link(text, target / "claims.md"),
    )
    (_, first), *appendix = pages.items()
    for name, page_text in appendix:
        written.append(target / name)
        write_whole(written[-1], page_text)
    write_whole(text, first)
    return [*written, text]


def _link(to: Path, page: Path) -> str:
    """Return the path from a page to a file."""
    return Path(os.path.relpath(to, page.parent)).as_posix()
