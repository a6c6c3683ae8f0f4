"""What an audit costs from 1e4 to 1e11 rows: `python -m benchmarks.summaries [--quick] [--read]`.

Rows are made and summarized as long as a machine holds them: a Parquet file, read by polars
and by DuckDB. Beyond that a year of daily summaries is drawn from the counts such rows would have,
and audited. Every figure is processor time or memory of a fresh process. The tables go into
docs/scale.md; `--read` only renews them from the results that are kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.sections import with_section
from likeforlike import Cells
from likeforlike._settings import Engine
from likeforlike.auditing import Summary, TableCells, summarize
from likeforlike.auditing._summary import Part, refresh_metadata
from likeforlike.document import Roles
from likeforlike.files import write_whole

__all__ = ["PAGE", "RESULTS", "main", "page"]

RESULTS = Path(__file__).with_name("summaries.json")
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
_SECTION = "cost"
_LEVELS, _BINS, _DAYS, _PERMUTATIONS = 20, 1000, 365, 999
_ROLES = Roles("score", "sex", ("level",))
_MEASURED = {"quick": (10_000,), "full": (10_000, 100_000, 1_000_000, 10_000_000)}
_DRAWN = {"quick": (10**8,), "full": (10**8, 10**9, 10**10, 10**11)}


def _alone(call: Callable[..., dict[str, float]], *arguments: object) -> dict[str, float]:
    """Call in a fresh process, warm: compiled code is loaded, not made."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(call, *arguments).result()


def _processor() -> float:
    """Seconds of processor time so far, of all threads: others may be using the machine, too."""
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _megabytes() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def _write_rows(path: Path, rows: int) -> None:
    """Rows from hashes of their numbers: the same every time, and never in memory at once."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        f"""COPY (
            SELECT CASE WHEN hash(n) % 2 = 0 THEN 'female' ELSE 'male' END AS sex,
                (hash(n + 1000000000000) % {_LEVELS})::INTEGER AS level,
                (hash(n + 2000000000000) % 1000000) / 1000000.0 AS score
            FROM range({rows}) AS numbers(n)) TO '{path}' (FORMAT parquet)"""
    )


def _summarized(path: Path, engine: Engine, out: Path) -> dict[str, float]:
    begin = _processor()
    summary = summarize(
        path,
        score="score",
        sensitive="sex",
        legitimate="level",
        resolution=1 / _BINS,
        engine=engine,
    )
    summary.write(out)
    seconds = _processor() - begin
    return {"seconds": seconds, "megabytes": _megabytes(), "bytes": out.stat().st_size}


def _audited(paths: list[Path]) -> dict[str, float]:
    begin = _processor()
    summary = Summary.read(*paths)
    merged = _processor() - begin
    audit = summary.audit(permutations=_PERMUTATIONS)
    seconds = _processor() - begin
    return {
        "seconds": seconds,
        "reading": merged,
        "megabytes": _megabytes(),
        "rows": audit.table.rows,
        "lines": audit.table.cells.atoms.values.size,
    }


def _write_days(folder: Path, rows: int) -> list[Path]:
    """A year of daily summaries with the counts that so many rows would have."""
    random = np.random.default_rng(0)
    level, group, bin_number = (
        part.ravel() for part in np.indices((_LEVELS, 2, _BINS), dtype=np.int64)
    )
    # Men score a little higher in half of the levels.
    shape = 1.0 + 0.2 * np.sin(bin_number / 50.0) + 0.05 * group * (level % 2) * bin_number / _BINS
    paths = []
    for day in range(_DAYS):
        counts = random.multinomial(rows // _DAYS, shape / shape.sum())
        cells = Cells.from_counts(
            level,
            np.array(["female", "male"])[group],
            (bin_number + 0.5) / _BINS,
            counts,
            resolution=1 / _BINS,
        )
        there = int(counts.sum())
        missing = dict.fromkeys(_ROLES.columns, 0)
        table = TableCells(cells, (), there, there, missing, {}, "polars")
        part = Part(f"day {day}", cells.fingerprint)
        paths.append(folder / f"{day}.cells")
        Summary(_ROLES, refresh_metadata(table, _ROLES), "drawn", (part,)).write(paths[-1])
    return paths


def _measure(quick: bool) -> dict[str, Any]:
    size = "quick" if quick else "full"
    results: dict[str, Any] = {"quick": quick, "measured": [], "drawn": []}
    with TemporaryDirectory() as folder:
        home = Path(folder)
        # Once for nothing: kernels are compiled by the first call on a machine.
        _write_rows(home / "rows.parquet", 1000)
        _alone(_summarized, home / "rows.parquet", "polars", home / "polars.cells")
        _alone(_audited, [home / "polars.cells"])
        for rows in _MEASURED[size]:
            _write_rows(home / "rows.parquet", rows)
            entry: dict[str, Any] = {"rows": rows}
            for engine in ("polars", "duckdb"):
                out = home / f"{engine}.cells"
                entry[engine] = _alone(_summarized, home / "rows.parquet", engine, out)
            entry["audit"] = _alone(_audited, [home / "duckdb.cells"])
            results["measured"].append(entry)
            print(json.dumps(entry), file=sys.stderr, flush=True)
        for rows in _DRAWN[size]:
            drawn = home / str(rows)
            drawn.mkdir()
            results["drawn"].append(_alone(_audited, _write_days(drawn, rows)))
            print(json.dumps(results["drawn"][-1]), file=sys.stderr, flush=True)
    return results


def page(results: dict[str, Any], text: str) -> str:
    """The text of a page with the tables of some results between its marks."""
    return with_section(text, _SECTION, _tables(results))


def _tables(results: dict[str, Any]) -> str:
    measured = "\n".join(
        f"| {entry['rows']:,} | {_seconds(entry['polars'])} | {_seconds(entry['duckdb'])} "
        f"| {entry['duckdb']['bytes'] / 1000:,.0f} kB | {_seconds(entry['audit'])} |"
        for entry in results["measured"]
    )
    drawn = "\n".join(
        f"| {_rounded(entry['rows'])} | {entry['lines']:,} | {entry['reading']:.1f} s "
        f"| {_seconds(entry)} |"
        for entry in results["drawn"]
    )
    return (
        "\nMeasured, from rows in a Parquet file; seconds of processor time, peak memory:\n\n"
        "| rows | summarize, polars | summarize, DuckDB | size of the summary "
        f"| audit, {_PERMUTATIONS} permutations |\n|---|---|---|---|---|\n{measured}\n\n"
        f"Drawn from counts: a year of {_DAYS} daily summaries that stand for so many rows:\n\n"
        "| rows | lines after merging | reading and merging "
        f"| all, {_PERMUTATIONS} permutations |\n"
        f"|---|---|---|---|\n{drawn}\n\n"
    )


def _rounded(rows: float) -> str:
    return f"10^{round(np.log10(rows))}"


def _seconds(entry: dict[str, float]) -> str:
    return f"{entry['seconds']:.1f} s, {entry['megabytes']:,.0f} MB"


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the results, and put the tables into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summaries", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows; prints the tables only")
    parser.add_argument("--read", action="store_true", help="tables from the results that are kept")
    options = parser.parse_args(arguments)
    results = json.loads(RESULTS.read_text("utf-8")) if options.read else _measure(options.quick)
    if options.quick:
        print(_tables(results))
        return 0
    write_whole(RESULTS, json.dumps(results, indent=2) + "\n")
    write_whole(PAGE, page(results, PAGE.read_text("utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
