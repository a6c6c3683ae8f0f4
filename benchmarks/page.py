"""The page of the benchmarks and the README's short table, from the results of `make bench`.

    python -m benchmarks.page --read benchmarks/results.json --page docs/benchmarks.md
    python -m benchmarks.page --read benchmarks/results.json --readme README.md

Every figure on either comes from the results; the words around them are here and in
`benchmarks.families`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.families import HEADLINES, NOTES, Headline
from benchmarks.report import amount, required, times
from benchmarks.sections import with_section
from benchmarks.suite import FAMILIES
from benchmarks.timing import Comparison, Measured

__all__ = ["SECTION", "main", "page", "readme_part"]

SECTION = "benchmarks"
"""The part of README that is made here."""

_HEADINGS = ("comparison", "ours", "peer", "ratio", "required", "met")
_INTRODUCTION = """# Benchmarks

Made by `make bench`, which times likeforlike beside its peers and keeps what it found in
`benchmarks/results.json`. To write this page again from those results:
`python -m benchmarks.page --read benchmarks/results.json --page docs/benchmarks.md`.
"""
_QUICK = """**Results of `--quick`: tiny sizes that check values. The ratios mean nothing.**
"""
_READING = """## How it is measured

Seconds belong to the machine, ratios to the method, and nothing is compared across runs. The two
sides take turns inside one process. Each is warmed up first, so that compilation is not timed, and
the median counts. Where a peer can be run in several ways, its fastest way counts. Every comparison
has a process of its own.

*Ratio* is the peer's figure divided by ours (more is better for us) or ours divided by the peer's
(less is better), as it says below. *Required* is what the project asks of itself; a ratio
that falls short is marked *no* and hides nothing else. Where both sides compute the same, their
values are compared too: a disagreement fails the run, and the difference stands below the name.

`python -m benchmarks --only levels` runs one family, `--quick` runs everything at tiny sizes to
check values instead of times. Each module of `benchmarks/` opens by saying why its comparisons are
fair to the peer.
"""


def page(results: dict[str, Any]) -> str:
    """The results as a page of the documentation.

    Parameters
    ----------
    results : what `make bench` wrote.
    """
    comparisons = _comparisons(results)
    parts = [_INTRODUCTION, *([_QUICK] if results["quick"] else [])]
    parts += [_summary(comparisons), _circumstances(results), _READING]
    for name, cases in FAMILIES.items():
        note = NOTES[name]
        if name in _left_out(results):
            parts.append(f"## {note.title}\n\nLeft out of this run: {_left_out(results)[name]}\n")
            continue
        names = [case.name for case in cases(results["quick"])]
        own = [comparisons[name] for name in names]
        when = _measured([entry for entry in results["comparisons"] if entry["name"] in names])
        parts.append(
            f"## {note.title}\n\n{note.opening}\n\n{_table(own)}\n\n{when}\n\n{note.caution}\n"
        )
    return "\n".join(parts)


def readme_part(results: dict[str, Any]) -> str:
    """The headlines as a short table.

    Parameters
    ----------
    results : what `make bench` wrote; those of `--quick` are refused.
    """
    if results["quick"]:
        raise ValueError("these are results of --quick, whose ratios mean nothing; run make bench.")
    comparisons = _comparisons(results)
    if _left_out(results):
        raise ValueError(f"the run left out {sorted(_left_out(results))}; the README shows all.")
    lines = ["| what | ours | peer | ratio |", "|---|---:|---:|---:|"]
    lines += [_headline(headline, comparisons[headline.comparison]) for headline in HEADLINES]
    machine = results["machine"]
    shown = {headline.comparison for headline in HEADLINES}
    days = sorted({e["date"][:10] for e in results["comparisons"] if e["name"] in shown})
    where = f"Measured on {' and '.join(days)}, {machine['cpu']}, {machine['cores']} cores."
    lines += ["", f"{where} The ratio is the peer's time divided by ours."]
    return "\n".join(lines)


def _comparisons(results: dict[str, Any]) -> dict[str, Comparison]:
    """By name; all that the suite has and nothing else, or the results are of another suite."""
    found = {entry["name"]: _comparison(entry) for entry in results["comparisons"]}
    expected = {
        case.name
        for family, cases in FAMILIES.items()
        if family not in _left_out(results)
        for case in cases(results["quick"])
    }
    if set(found) != expected:
        raise ValueError(
            "the results are not those of the whole suite as it is now; run make bench. "
            f"They differ in {sorted(set(found) ^ expected)}."
        )
    return found


def _left_out(results: dict[str, Any]) -> dict[str, str]:
    """Families that could not be run, and why."""
    found: dict[str, str] = results["left_out"]
    return found


def _comparison(entry: dict[str, Any]) -> Comparison:
    measured = Measured(
        entry["ours"],
        entry["peer"],
        difference=entry["difference"],
        note=entry["note"],
        unit=entry["unit"],
    )
    return Comparison(entry["name"], measured, entry["ratio_of"], entry["required"])


def _summary(comparisons: dict[str, Comparison]) -> str:
    asked = [comparison for comparison in comparisons.values() if comparison.met is not None]
    short = [f"*{comparison.name}*" for comparison in asked if not comparison.met]
    said = f"{len(comparisons)} comparisons. "
    if asked:
        said += f"Of {len(asked)} with a required ratio, {len(asked) - len(short)} meet it"
        said += f"; short of it: {'; '.join(short)}." if short else "."
    return said.strip() + "\n"


def _circumstances(results: dict[str, Any]) -> str:
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"Measured on {machine['cpu']} with {machine['cores']} cores;\n"
        f"Python {machine['python']}, {versions}.\n"
    )


def _measured(entries: Sequence[dict[str, Any]]) -> str:
    """When a family was measured, and of which source."""
    made = sorted({(entry["date"][:10], entry["source"]) for entry in entries})
    return "; ".join(f"Measured on {day}, source `{source}`" for day, source in made) + "."


def _table(comparisons: Sequence[Comparison]) -> str:
    rows = ["| " + " | ".join(_HEADINGS) + " |", "|---|---:|---:|---:|---:|---|"]
    for comparison in comparisons:
        measured = comparison.measured
        cells = (
            _described(comparison),
            amount(measured.ours, measured.unit),
            amount(measured.peer, measured.unit),
            f"{times(comparison.ratio)}<br>*{comparison.ratio_of}*",
            required(comparison),
            {True: "yes", False: "**no**", None: ""}[comparison.met],
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _described(comparison: Comparison) -> str:
    measured = comparison.measured
    notes = [measured.note] if measured.note else []
    if measured.difference is not None:
        notes.append(f"values differ by {measured.difference:.1g}")
    return comparison.name + (f"<br>*{'; '.join(notes)}*" if notes else "")


def _headline(headline: Headline, comparison: Comparison) -> str:
    measured = comparison.measured
    ours, peer = (amount(side, measured.unit) for side in (measured.ours, measured.peer))
    return f"| {headline.what} | {ours} | {peer}, {headline.peer} | {times(comparison.ratio)} |"


def main(arguments: list[str] | None = None) -> int:
    """Read the results and write what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("--read", type=Path, required=True, help="results of make bench")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    parser.add_argument("--readme", type=Path, help="rewrite the short table in this file")
    given = parser.parse_args(arguments)
    try:
        results = json.loads(given.read.read_text("utf-8"))
        written: dict[Path, str] = {}
        if given.page is not None:
            written[given.page] = page(results)
        if given.readme is not None:
            text = given.readme.read_text("utf-8")
            written[given.readme] = with_section(text, SECTION, readme_part(results))
    except (OSError, ValueError) as error:
        print(f"python -m benchmarks.page: {error}", file=sys.stderr)
        return 2
    for path, text in written.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
