"""Whether the monitor holds what it promises: false alarms, delays, kills.

    python -m benchmarks.monitoring --json benchmarks/monitoring.json --page docs/monitor_figures.md
    python -m benchmarks.monitoring --read benchmarks/monitoring.json --page docs/monitor_figures.md
    python -m benchmarks.monitoring --json benchmarks/monitoring.json --only kills

Histories of 60 months are drawn in six settings without a disparity, and it is counted in how many
there is ever an alarm; how long an alarm takes after a shift that one audit of a month finds in
about 80% of samples; and what is left of a state when processes that write it are killed.
"""

from __future__ import annotations

import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.commands import command_line, kept, write_json
from benchmarks.report import source_digest
from benchmarks.sections import table
from likeforlike import Cells
from likeforlike.auditing import summarize
from likeforlike.datasets import make_loans
from likeforlike.disparity import contrasts, level_weights
from likeforlike.files import write_whole
from likeforlike.inference import headline_test
from likeforlike.monitoring._monitor import Monitor, log_e_values
from likeforlike.monitoring._periods import ALPHA, heterogeneity, trend
from likeforlike.monitoring._state import read_state
from likeforlike.monitoring._watch import state_monitor

__all__ = ["MONTHS", "SETTINGS", "SHIFTS", "alarms", "false_alarms", "kill_writers", "main", "page"]

MONTHS = 60
"""Looks of a history."""

_LEVELS, _ROWS, _PERMUTATIONS = 8, 400, 199
Month = Callable[[np.random.Generator, int, float], Cells]


def _month(law: str, rows: int = _ROWS, *, drift: bool = False, groups: int = 2) -> Month:
    def draw(rng: np.random.Generator, t: int, shift: float) -> Cells:
        chance = np.ones(_LEVELS)
        if drift:
            # More people of high levels, and fewer of one group there, as months go by.
            chance = np.exp((t / MONTHS - 0.5) * 1.5 * np.linspace(-1.0, 1.0, _LEVELS))
        level = rng.choice(_LEVELS, rows, p=chance / chance.sum())
        share = 0.3 + 0.04 * level + (0.3 * (t / MONTHS - 0.5) if drift else 0.0)
        group = (rng.random(rows) < share).astype(int)
        if groups == 3:
            group = group + (rng.random(rows) < 0.3)
        second = group == 1
        if law == "normal":
            score = rng.normal(size=rows) + 0.5 * level + shift * second
        elif law == "skewed":
            score = np.exp(rng.normal(size=rows)) * (1.0 + 0.2 * level) * (1.0 + shift * second)
        elif law == "decisions":
            score = (rng.random(rows) < 0.2 + 0.05 * level + shift * second) * 1.0
        else:
            score = np.clip(np.rint(rng.normal(size=rows) + 0.3 * level + shift * second), -1, 3)
        return Cells.from_rows(score, group, level)

    return draw


SETTINGS: dict[str, Month] = {
    "normal scores": _month("normal"),
    "decisions": _month("decisions"),
    "skewed scores (log-normal)": _month("skewed"),
    "40 rows per month": _month("normal", 40),
    "drifting mix of levels and groups": _month("decisions", drift=True),
    "ratings, three groups": _month("ratings", groups=3),
}
"""Settings without a disparity."""

SHIFTS = {"normal scores": 0.31, "decisions": 0.15, "skewed scores (log-normal)": 0.38}
"""Shifts that the test of one month should find in about 80% of samples."""


def alarms(draw: Month, shift: float, begin: int, seed: int) -> tuple[int | None, np.ndarray]:
    """Return the month of the first alarm of a history, and its e-values.

    The shift begins in month `begin`, counted from 0.
    """
    rng = np.random.default_rng(seed)
    pairs = [("0", "1")]
    log_e = []
    for t in range(MONTHS):
        cells = draw(rng, t, shift if t >= begin else 0.0)
        if len(cells.groups) == 3:
            pairs = [("0", "1"), ("0", "2"), ("1", "2")]
        log_e.append(
            [
                log_e_values(cells, pair, str(t), permutations=_PERMUTATIONS, seed=seed)
                for pair in pairs
            ]
        )
    names = tuple(map(str, range(MONTHS)))
    monitor = Monitor(tuple(pairs), names, np.array(log_e), ALPHA)
    return (None if monitor.alarm is None else int(monitor.alarm)), monitor.by_groups


def false_alarms(name: str, histories: int) -> dict[str, Any]:
    """Count histories without a disparity in which there is ever an alarm."""
    found = [alarms(SETTINGS[name], 0.0, 0, seed)[0] for seed in range(histories)]
    return {
        "setting": name, "histories": histories, "alarms": sum(f is not None for f in found),
    }  # fmt: skip


def delays(name: str, begin: int, histories: int) -> dict[str, Any]:
    """Measure how many months an alarm takes after a shift begins, and the power of one audit."""
    draw, shift, waits = SETTINGS[name], SHIFTS[name], []
    for seed in range(histories):
        month, _ = alarms(draw, shift, begin, 50_000 + seed)
        if month is None or month >= begin:
            waits.append(math.inf if month is None else month - begin + 1)
    rng, powers = np.random.default_rng(7), 0
    for _ in range(2 * histories):
        contrast = contrasts(draw(rng, 0, shift), "pairwise")[0]
        measure = level_weights(contrast, "marginal")
        powers += headline_test(contrast, measure, permutations=199).p_value <= 0.05
    return {
        "setting": name, "shift": shift, "from": begin + 1, "histories": len(waits),
        "power": powers / (2 * histories), "median": float(np.median(waits)),
        "ninety": float(np.quantile(waits, 0.9, method="higher")),
    }  # fmt: skip


def changes(name: str, periods: int, histories: int) -> dict[str, Any]:
    """Count rejections of the tests of change where nothing changes but means of cells differ."""
    from likeforlike.inference import signed_gap, t_tail

    draw, rejected = SETTINGS[name], np.zeros(2, np.int64)
    for seed in range(histories):
        rng, lines = np.random.default_rng(90_000 + seed), []
        for t in range(periods):
            contrast = contrasts(draw(rng, t, 0.1), "pairwise")[0]
            gap = signed_gap(contrast, level_weights(contrast, "marginal"))
            lines.append((gap.value, gap.error, gap.df))
        gaps, errors, df = np.array(lines).T
        slope, error, freedom = trend(np.arange(periods, dtype=float), gaps, errors)
        rejected += (
            heterogeneity(gaps, errors, df) <= 0.05,
            2.0 * float(t_tail(abs(slope) / error, freedom)) <= 0.05,
        )
    return {
        "setting": name, "periods": periods, "histories": histories,
        "heterogeneity": int(rejected[0]), "trend": int(rejected[1]),
    }  # fmt: skip


def kill_writers(kills: int, *, periods: int = 60, seed: int = 0) -> dict[str, Any]:
    """Kill processes that count the same folder, three at a time, and see what the state holds."""
    rng, killed, rounds = random.Random(seed), 0, 0
    lost, twice, damaged = 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for day in range(periods):
            rows = make_loans(60, random_state=day).frame
            path = folder / f"{day:03d}.cells"
            made = summarize(
                rows,
                score="score",
                sensitive="sex",
                legitimate="income",
                resolution=0.05,
                part=path.stem,
            )
            made.write(path)
        state = folder / "monitor.state"
        call = [sys.executable, "-m", "likeforlike", "monitor", str(folder)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        whole = _whole_run(call, state)
        begin, end = whole
        complete = state_monitor(state)
        state.unlink()
        while killed < kills:
            rounds += 1
            if rounds % 8 == 0 and state.exists():
                # All may be counted by now; begin anew, after a look at what is there.
                lost, twice, damaged = _inspect(call, state, complete, (lost, twice, damaged))
                state.unlink()
            pair = [subprocess.Popen(call, **quiet) for _ in range(3)]  # type: ignore[call-overload]
            started = time.monotonic()
            moments = sorted((rng.uniform(begin, end), each) for each in pair)
            for moment, process in moments:
                time.sleep(max(0.0, started + 1.4 * moment - time.monotonic()))
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    killed += 1
            for process in pair:
                process.wait()
        lost, twice, damaged = _inspect(call, state, complete, (lost, twice, damaged))
    return {"kills": killed, "rounds": rounds, "lost": lost, "twice": twice, "damaged": damaged}


def _whole_run(call: list[str], state: Path) -> tuple[float, float]:
    """Return when a run begins to write its state, and when it ends, in seconds."""
    started = time.monotonic()
    process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not state.exists() and process.poll() is None:
        time.sleep(0.002)
    begin = time.monotonic() - started
    process.wait()
    return begin, time.monotonic() - started


def _inspect(
    call: list[str], state: Path, complete: Monitor, before: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Count what is lost, twice or wrong once a run was left to end."""
    subprocess.run(call, capture_output=True, check=False)
    _, lines = read_state(state)
    names = [line["period"] for line in lines]
    lost = len(set(complete.periods) - set(names))
    wrong = 0
    found = state_monitor(state)
    order = [complete.periods.index(name) for name in names]
    wrong = int((found.log_e != complete.log_e[order]).any())
    return before[0] + lost, before[1] + len(names) - len(set(names)), before[2] + wrong


_OPENING = """# The monitor, measured

How often the [monitor](monitoring.md) alarms where there is no disparity, and how soon where there
is one. `python -m benchmarks.monitoring` makes this page. Months have 400 rows in 8 levels unless
they say otherwise; an e-value of 20 is an alarm, so that at most 5% of histories may ever have one,
however long they are. A share of .05 counted on 400 histories has a standard error of .011.

## False alarms over 60 looks

"""
_DELAYS = """
## How soon

Months until the alarm, counted from the first one with the shift, which the test of a single
month's audit at 5% finds in the share of samples in the third column. Histories with an alarm
before the shift are left out.

"""
_CHANGES = """
## Tests of change

How often they reject at 5% where the gap is the same in all periods.

"""
_KILLS = """
## Kills

Three processes at a time count a folder of summaries, and are killed at random moments after they
begin to write. Then one is left to end, and the state is compared with that of a run without kills.

"""


def page(found: dict[str, Any]) -> str:
    """Write the page of the documentation."""
    text = _OPENING + table(
        ("setting", "histories", "with an alarm", "share"),
        (
            (
                x["setting"],
                str(x["histories"]),
                str(x["alarms"]),
                f"{x['alarms'] / x['histories']:.3f}",
            )
            for x in found.get("false", {}).values()
        ),
    )
    text += "\n" + _DELAYS + table(
        ("setting", "shift", "power of one audit", "from month", "histories", "median", "90%"),
        (
            (
                x["setting"], f"{x['shift']:g}", f"{x['power']:.2f}", str(x["from"]),
                str(x["histories"]), f"{x['median']:g}", f"{x['ninety']:g}",
            )
            for x in found.get("delays", {}).values()
        ),
    )  # fmt: skip
    text += "\n" + _CHANGES + table(
        ("setting", "periods", "histories", "heterogeneity", "trend"),
        (
            (
                x["setting"], str(x["periods"]), str(x["histories"]),
                f"{x['heterogeneity'] / x['histories']:.3f}", f"{x['trend'] / x['histories']:.3f}",
            )
            for x in found.get("changes", {}).values()
        ),
    )  # fmt: skip
    kills = found.get("kills", {})
    if kills:
        text += (
            "\n"
            + _KILLS
            + table(
                ("kills", "periods lost", "counted twice", "states with other figures"),
                [tuple(str(kills[name]) for name in ("kills", "lost", "twice", "damaged"))],
            )
        )
    return text + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, write JSON and page."""
    line = command_line("monitoring", __doc__)
    line.add_argument("--page", type=Path, help="write the page of the documentation")
    parts = ("false", "delays", "changes", "kills")
    line.add_argument("--only", choices=parts, help="one part only")
    line.add_argument("--settings", nargs="+", choices=list(SETTINGS), help="these settings only")
    given = line.parse_args(arguments)
    found: dict[str, Any] = kept(given.read or given.json, {})

    def keep(part: str, key: str, one: dict[str, Any]) -> None:
        found["source"] = source_digest()
        found.setdefault(part, {})[key] = one
        print(one, file=sys.stderr, flush=True)
        write_json(given.json, found)

    if given.read is None:
        chosen = given.settings or list(SETTINGS)
        for name in chosen if given.only in (None, "false") else ():
            keep("false", name, false_alarms(name, 3 if given.quick else 400))
        for name in SHIFTS if given.only in (None, "delays") else ():
            for begin in (0, 24):
                count = 3 if given.quick else 100
                keep("delays", f"{name} {begin}", delays(name, begin, count))
        for name in chosen[:4] if given.only in (None, "changes") else ():
            for periods in (3, 12):
                count = 5 if given.quick else 500
                keep("changes", f"{name} {periods}", changes(name, periods, count))
        if given.only in (None, "kills"):
            found["kills"] = kill_writers(4 if given.quick else 200)
            print(found["kills"], file=sys.stderr)
            write_json(given.json, found)
    if given.page is not None:
        write_whole(given.page, page(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
