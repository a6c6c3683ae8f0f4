"""The comparisons as a table to read and as JSON to keep."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

import likeforlike
from benchmarks.suite import FAMILIES, Results
from benchmarks.timing import Comparison, Unit

__all__ = [
    "amount",
    "as_json",
    "as_table",
    "required",
    "source_digest",
    "times",
    "with_family",
]

_LIBRARIES = ("numpy", "numba", "scipy", "torch", "POT", "pnot")


def as_table(comparisons: Sequence[Comparison]) -> Table:
    """One line for each comparison."""
    table = Table(title="likeforlike and its peers, run alternately", show_lines=True)
    for heading in ("comparison", "ours", "peer", "ratio", "required", "met"):
        table.add_column(
            heading,
            justify="left" if heading == "comparison" else "right",
            no_wrap=heading != "comparison",
        )
    for comparison in comparisons:
        measured = comparison.measured
        table.add_row(
            _described(comparison),
            amount(measured.ours, measured.unit),
            amount(measured.peer, measured.unit),
            times(comparison.ratio),
            required(comparison),
            {True: "yes", False: "[bold red]no[/]", None: ""}[comparison.met],
        )
    return table


def as_json(results: Results, *, quick: bool, source: str) -> dict[str, Any]:
    """Machine, date, comparisons and what was left out, ready for `json.dump`."""
    made = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "source": source}
    return {
        "quick": quick,
        "machine": _machine(),
        "comparisons": [_entry(comparison) | made for comparison in results.comparisons],
        "left_out": results.left_out,
    }


def with_family(before: dict[str, Any], found: dict[str, Any], family: str) -> dict[str, Any]:
    """Earlier results in which one family is replaced, in the order of the suite.

    Parameters
    ----------
    before, found : as from `as_json`.
    family : which one was measured anew.
    """
    if before["quick"] != found["quick"] or before["machine"] != found["machine"]:
        raise ValueError("the file holds results of another kind or machine; run all families.")
    names = {case.name for case in FAMILIES[family](found["quick"])}
    entries = [entry for entry in before["comparisons"] if entry["name"] not in names]
    entries += found["comparisons"]
    order = [case.name for cases in FAMILIES.values() for case in cases(found["quick"])]
    entries.sort(key=lambda entry: order.index(entry["name"]) if entry["name"] in order else -1)
    left_out = {name: why for name, why in before["left_out"].items() if name != family}
    return {**found, "comparisons": entries, "left_out": left_out | found["left_out"]}


def source_digest() -> str:
    """Fingerprint of the library that is measured."""
    digest = hashlib.sha256()
    for path in sorted(Path(likeforlike.__path__[0]).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _described(comparison: Comparison) -> str:
    measured = comparison.measured
    notes = [measured.note] if measured.note else []
    if measured.difference is not None:
        notes.append(f"values differ by {measured.difference:.1g}")
    return "\n".join([comparison.name, *(f"[dim]{note}[/]" for note in notes)])


def amount(measured: float, unit: Unit) -> str:
    """Seconds in the unit that suits them, or megabytes."""
    if unit == "MB":
        return f"{measured:,.0f} MB"
    for name, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if measured >= size:
            return f"{measured / size:.3g} {name}"
    return f"{measured / 1e-6:.3g} µs"


def times(ratio: float) -> str:
    """A ratio with as many digits as it deserves."""
    return f"{ratio:,.0f}" if ratio >= 100.0 else f"{ratio:.3g}"


def required(comparison: Comparison) -> str:
    """What is asked of a ratio; empty where nothing is."""
    if comparison.required is None:
        return ""
    sense = "at least" if comparison.ratio_of == "peer / ours" else "at most"
    return f"{sense} {comparison.required:,g}"


def _entry(comparison: Comparison) -> dict[str, Any]:
    measured = comparison.measured
    return {
        "name": comparison.name,
        "ours": measured.ours,
        "peer": measured.peer,
        "unit": measured.unit,
        "ratio": comparison.ratio,
        "ratio_of": comparison.ratio_of,
        "required": comparison.required,
        "met": comparison.met,
        "difference": measured.difference,
        "tolerance": None if measured.difference is None else measured.tolerance,
        "note": measured.note,
    }


def _machine() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {library: version(library) for library in _LIBRARIES},
    }


def _cpu() -> str:
    """Model of the processor; only Linux says more than the architecture."""
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
