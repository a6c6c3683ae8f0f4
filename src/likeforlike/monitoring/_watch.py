"""A monitor of a folder of summaries, each of them a period, which keeps its state in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from likeforlike._settings import real
from likeforlike.auditing import Summary
from likeforlike.errors import InputError
from likeforlike.monitoring._monitor import PERMUTATIONS, STRENGTHS, Monitor, log_e_values
from likeforlike.monitoring._periods import ALPHA, PeriodAudits, audit_summaries, watched_groups
from likeforlike.monitoring._state import append_period, begin_state, read_state

STATE = "monitor.state"
"""Name of the state in a folder, unless another is given."""


def watch(
    folder: str | Path,
    state: str | Path | None = None,
    *,
    reference: str | None = None,
    alpha: float = ALPHA,
    random_state: int = 0,
) -> tuple[Monitor, tuple[str, ...]]:
    """Count the summaries of a folder that were not counted yet; return the monitor and these.

    What is monitored, columns, bins and groups, is that of the first period ever counted.

    Parameters
    ----------
    folder : with files that `likeforlike summarize` wrote, `*.cells`, counted in order of name.
    state : the file of the state; by default `monitor.state` in the folder.
    reference : the group that others are compared with; `None` watches every two.
    alpha : the share of histories without a disparity in which there may ever be an alarm.
    random_state : seed of the permutations.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{place} is no folder with summaries (*.cells).")
    if not 0.0 < real(alpha) < 1.0:
        raise InputError(f"alpha must lie between 0 and 1, not {alpha!r}.")
    file = place / STATE if state is None else Path(state)
    header, counted = read_state(file)
    known = {(each["period"], each["fingerprint"]) for each in counted}
    new = []
    for path in sorted(place.glob("*.cells")):
        summary = Summary.read(path)
        period, fingerprint = period_name(summary, path), summary.table.cells.fingerprint
        if header is None:
            asked = {"alpha": float(alpha), "seed": int(random_state), "reference": reference}
            header = begin_state(file, _header(summary, asked))
        if (period, fingerprint) in known:
            continue
        line = _line(summary, header, period, path)
        if append_period(file, {**line, "fingerprint": fingerprint}):
            new.append(period)
    return state_monitor(file), tuple(new)


def state_monitor(path: str | Path) -> Monitor:
    """Return the monitor of a state."""
    header, periods = read_state(path)
    if header is None:
        raise InputError(f"{path} holds no state of a monitor yet.")
    groups = tuple((str(a), str(b)) for a, b in header["groups"])
    log_e = np.array([each["log_e"] for each in periods]).reshape(len(periods), len(groups), -1)
    names = tuple(str(each["period"]) for each in periods)
    return Monitor(groups, names, log_e, float(header["alpha"]), tuple(header["notes"]))


def audit_folder(folder: str | Path, **settings: Any) -> PeriodAudits:  # noqa: ANN401
    """Audit the summaries of a folder, each of them a period."""
    paths = sorted(Path(folder).glob("*.cells"))
    if not paths:
        raise InputError(f"{folder} holds no summaries (*.cells).")
    parts = [Summary.read(path) for path in paths]
    names = [period_name(part, path) for part, path in zip(parts, paths, strict=True)]
    return audit_summaries(parts, names, **settings)


def period_name(summary: Summary, path: Path) -> str:
    """Name the period of a summary: what its only part is called, or its file."""
    names = [part.name for part in summary.parts]
    return names[0] if len(names) == 1 and names[0] is not None else path.name[: -len(".cells")]


def _made(summary: Summary) -> dict[str, object]:
    """Describe how a summary was made, in plain values."""
    table = summary.table
    roles = asdict(summary.roles)
    return {
        "roles": {k: list(v) if isinstance(v, tuple) else v for k, v in roles.items()},
        "resolution": float(table.cells.resolution),
        "edges": {column: list(edges) for column, edges in table.edges.items()},
        "calendar": dict(table.calendar),
    }


def _header(summary: Summary, asked: Mapping[str, object]) -> dict[str, object]:
    """Say what is monitored; it is fixed before any score is looked at."""
    roles, cells = summary.roles, summary.table.cells
    if roles.weight is not None or roles.cluster is not None or roles.also_sensitive:
        raise InputError(
            "a monitor of summaries needs rows without weight and cluster, and one sensitive "
            "column: e-values are exact for these. Give each person one row, once; "
            "audit(..., by=...) counts a cluster once by itself."
        )
    reference = asked["reference"]
    groups = watched_groups([cells], reference)
    if not groups:
        raise InputError(
            f"no two groups can be watched: the first summary holds {list(cells.groups)}"
            f"{'' if reference is None else f', and the reference is {reference!r}'}."
        )
    return {
        **_made(summary), **asked, "groups": [list(pair) for pair in groups],
        "strengths": STRENGTHS.tolist(), "permutations": PERMUTATIONS, "notes": [],
    }  # fmt: skip


def _line(
    summary: Summary, header: Mapping[str, Any], period: str, path: Path
) -> dict[str, object]:
    """Compute what is kept of a period."""
    made = _made(summary)
    other = [name for name, value in made.items() if header[name] != value]
    if other:
        raise InputError(
            f"{path} has other {other[0]} than what is monitored: {made[other[0]]!r}, not "
            f"{header[other[0]]!r}. Summarize it by the same options, or keep another state."
        )
    if header["strengths"] != STRENGTHS.tolist():
        raise InputError("the state was begun by another version; begin a new one.")
    cells = summary.table.cells
    return {
        "period": period,
        "rows": dict(
            zip(map(str, cells.groups), cells.counts.sum(axis=0).tolist(), strict=True)
        ),
        "log_e": [
            log_e_values(
                cells, (str(a), str(b)), period, permutations=header["permutations"],
                seed=header["seed"],
            ).tolist()
            for a, b in header["groups"]
        ],
    }  # fmt: skip
