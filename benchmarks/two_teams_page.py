"""The page of what two teams pay for noise, made of what `benchmarks.two_teams` measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sections import table

__all__ = ["PAGE", "page", "trained"]

PAGE = Path(__file__).parents[1] / "docs" / "two_teams_figures.md"

_HEAD = """# Two teams, measured

What [two teams](tutorials/two_teams.md) pay for the custodian's noise, made by
`python -m benchmarks.two_teams`, which keeps its figures in `benchmarks/two_teams.json`. What is
protected is [another page](protection.md).
"""

_AUDITS = """
## Audits

Made rows in eight levels, with a true gap and distance that are known: parity, a gap of .01
everywhere, gaps from 0 to .06, and gaps of .04 in both directions. A release at every ε of the same
rows. *Covered* is how often the 95% interval, which holds for sampling and noise together, held the
truth; *rejected* how often the test at 5% found a disparity (at parity: wrongly); the error is the
root mean square of that of the distance. A share of .95 is known up to ± {spread:.3f} (two standard
errors) where there are fewest replicates.
"""

_ADULT = """
## The average distance on Adult

A score of {rows:,} people, released {releases} times: root mean square error of the average W_1
over the levels, which is {exact:.4f} without noise.
"""

_TRAINING = """
## Training on soft groups

Means over splits of two thirds and one third, on test rows, against the true A; strength as with
the true A. A *shuffled* A is the control: it says nothing about anybody, and training on it should
change nothing. The ratio is that of the disparity to what training with the true A leaves. LightGBM
has the objective of `likeforlike.training`.
"""

_COLUMNS = (
    "rows",
    "disparity",
    "ε",
    "replicates",
    "gap covered",
    "distance covered",
    "rejected",
    "error",
)
_NAMES = {"adult": "Adult", "law_school": "Law School", "drug": "Drug"}


def page(known: dict[str, list[dict[str, Any]]]) -> str:
    """The page, as text.

    Parameters
    ----------
    known : entries of every part, as the command keeps them.
    """
    parts = [_HEAD]
    audits = known["audits"]
    fewest = min(entry["replicates"] for entry in audits)
    parts.append(_AUDITS.format(spread=2.0 * np.sqrt(0.95 * 0.05 / fewest)))
    parts += ["\n", table(_COLUMNS, map(_audit_line, audits)), "\n"]
    adult = known["adult"]
    parts.append(_ADULT.format(**adult[0]))
    errors = ((f"{one['epsilon']:g}", f"{one['error']:.4f}") for one in adult)
    parts += ["\n", table(("ε", "error"), errors), "\n"]
    parts.append(_TRAINING)
    headings = ("data", "model", "groups", "splits", "AUC (MSE)", "disparity", "ratio")
    parts += ["\n", table(headings, _training_lines(known["training"])), "\n"]
    return "".join(parts)


def _audit_line(entry: dict[str, Any]) -> tuple[str, ...]:
    many = entry["replicates"]
    shares = (entry[name] / many for name in ("gap_covered", "distance_covered", "rejected"))
    return (
        f"{entry['rows']:,}",
        entry["disparity"],
        f"{entry['epsilon']:g}",
        str(many),
        *(f"{share:.3f}" for share in shares),
        f"{np.sqrt(entry['squared_error'] / many):.4f}",
    )


def trained(entries: list[dict[str, Any]]) -> dict[tuple[str, str, str], tuple[int, float, float]]:
    """Splits, mean performance and mean disparity by data, model and way to know the groups."""
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for entry in entries:
        key = entry["data"], entry["model"], entry["way"]
        found.setdefault(key, []).append((entry["performance"], entry["disparity"]))
    means = {key: np.mean(figures, axis=0) for key, figures in found.items()}
    return {
        key: (len(found[key]), float(performance), float(disparity))
        for key, (performance, disparity) in means.items()
    }


def _training_lines(entries: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    found = trained(entries)
    for (data, model, way), (many, performance, disparity) in sorted(
        found.items(), key=lambda one: (list(_NAMES).index(one[0][0]), one[0][1] == "boosting")
    ):
        true = found[data, model, "true A"][2]
        yield (
            _NAMES[data],
            "LightGBM" if model == "boosting" else model,
            way.replace("epsilon", "ε ="),
            str(many),
            f"{performance:.4f}",
            f"{disparity:.4f}",
            f"{disparity / true:.2f}",
        )
