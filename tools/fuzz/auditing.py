"""Audits of tables and of files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import likeforlike as lfl
from likeforlike.auditing._tables import read_cells
from likeforlike.document import Roles
from tools.fuzz import settings
from tools.fuzz.columns import hostile, labels, plain_scores, weights
from tools.fuzz.draw import Draw
from tools.fuzz.measuring import check_disparity
from tools.fuzz.runner import Target

__all__ = ["TARGETS"]

_FOLDER = tempfile.TemporaryDirectory()
_NAMES = ("score", "sex", "level", "other", "weight", "who")

_TABLES: tuple[Callable[[dict[str, Any]], Any], ...] = (
    pl.DataFrame,
    pl.LazyFrame,
    pd.DataFrame,
    pa.table,
    lambda columns: duckdb.from_arrow(pa.table(columns)),
)


def _columns(draw: Draw, size: int) -> dict[str, Any]:
    """Columns of a table that most makers of tables take."""
    other = [str(each) for each in labels(draw, size)]
    return {
        "score": plain_scores(draw, size),
        "sex": draw.numpy.choice(["f", "m"] if draw.happens(0.6) else ["a", "b", "c", "d"], size),
        "level": draw.numpy.integers(0, draw.pick((1, 2, 5, size)), size),
        "other": (other + [""] * size)[:size],
        "weight": plain_scores(draw, size, weights),
        "who": draw.numpy.integers(0, max(1, size // 2), size),
    }


def _table(draw: Draw) -> Any:  # noqa: ANN401
    size = draw.pick((2, 10, 40, 40, 150))
    columns = _columns(draw, size)
    if draw.happens(0.1):
        name = draw.pick(_NAMES)
        odd = labels(draw, size) if draw.happens(0.5) else hostile(draw, size)
        columns[name] = odd
    holes = draw.pick(_NAMES) if draw.happens(0.2) else None
    try:
        if holes is not None:
            columns[holes] = [None if draw.happens(0.2) else each for each in list(columns[holes])]
        table = draw.pick(_TABLES)(columns)
        if isinstance(table, pd.DataFrame):
            table.take([0])  # which fails for a structure, of which pandas has no empty one
        return table
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 what cannot be a table may make an engine panic
        return pl.DataFrame(_columns(draw, size))


def _legitimate(draw: Draw) -> Any:  # noqa: ANN401
    if draw.happens(0.08):
        return draw.pick((None, ["sex"], "nobody", 3, [[]], "other"))
    return draw.pick(((), "level", ["level"], ["level", "other"]))


def _settings(draw: Draw) -> dict[str, Any]:
    given: dict[str, Any] = {
        "score": settings.any_of(draw, *["score"] * 9, "weight", "sex"),
        "sensitive": settings.any_of(draw, *["sex"] * 9, "other", "level"),
        "legitimate": _legitimate(draw),
        "permutations": settings.count(draw, 0, 0, 0, 1, 9),
        "random_state": settings.count(draw, 0, 5),
    }
    more: dict[str, Callable[[], Any]] = {
        "weight": lambda: settings.any_of(draw, *["weight"] * 9, "score"),
        "cluster": lambda: settings.any_of(draw, *["who"] * 9, "level"),
        "bins": lambda: settings.any_of(
            draw, {"level": 2}, {"level": [0.5, 1.5]}, {"level": settings.count(draw, 3)}
        ),
        "measure": lambda: settings.measure(draw, range(3)),
        "min_cell": lambda: settings.count(draw, 1, 20),
        "resolution": lambda: settings.number(draw, 0.1, 1.0),
        "confidence": lambda: settings.number(draw, 0.5, 0.95),
        "adjustment": lambda: settings.any_of(draw, "step-down", "holm", "bh"),
        "reference": lambda: draw.pick(("f", "f", "a", None, 0, "nobody", [1])),
        "suppress_below": lambda: draw.pick((10, 5, 2, 10, 3, 1, -1, "10", None, 2.5, 10**30)),
        "salt": lambda: draw.pick(("0123456789abcdef", "short", b"0123456789abcdef", 7, None)),
        "score_range": lambda: draw.pick(
            (None, (0.0, 1.0), (-1e300, 1e300), (-1e300, 1e300), (1.0, 0.0), (0, np.nan), "01", 3)
        ),
    }
    for name, make in more.items():
        if draw.happens(0.12):
            given[name] = make()
    return given


def _check_audit(draw: Draw, found: lfl.Audit) -> None:
    assert found.evidence is not None
    for contrast in found.evidence.contrasts:
        check_disparity(contrast.conditional)
        check_disparity(contrast.unconditional)
    assert lfl.Audit.from_json(found.to_json()) == found
    document = json.loads(found.to_json())
    assert document["contrasts"], document
    if draw.happens(0.1):
        assert "</html>" in found.to_html()
    if draw.happens(0.3) and found.settings.permutations:
        verdict = draw.call(found.gate, settings.number(draw, 0.0, 0.1))
        assert verdict in ("pass", "fail", "investigate"), verdict
    repr(found)


def _audit(draw: Draw) -> None:
    data = _table(draw) if draw.happens(0.95) else hostile(draw, 10)
    _check_audit(draw, draw.call(lfl.audit, data, **_settings(draw)))


_CELLS = (
    "1",
    "0.5",
    "-3",
    "1e400",
    "nan",
    "inf",
    "",
    "NA",
    "?",
    "a",
    "ä",
    "1,5",
    '"',
    "\x00",
    " 1",
)


def _text(draw: Draw) -> bytes:
    """A file of text that is more or less a table."""
    separator = draw.pick((",", ",", ",", ";", "\t", "|"))
    size = draw.pick((0, 1, 3, 30))
    columns = _columns(draw, max(size, 1))
    lines = [separator.join(_NAMES)] if draw.happens(0.95) else []
    for k in range(size):
        cells = [str(columns[name][k]) for name in _NAMES]
        if draw.happens(0.05):
            cells[draw.randrange(len(cells))] = draw.pick(_CELLS)
        if draw.happens(0.02):
            cells = cells[: draw.randint(0, 8)] + draw.pick(([], ["more"]))
        lines.append(separator.join(cells))
    content = (
        draw.pick(("\n", "\r\n")).join(lines).encode(draw.pick(("utf-8", "utf-8-sig", "utf-16")))
    )
    if draw.happens(0.1):
        place = draw.randrange(len(content) + 1)
        content = content[:place] + draw.randbytes(draw.randint(1, 20)) + content[place:]
    return content


def _file(draw: Draw) -> Path:
    """A file, written anew."""
    name = draw.pick(
        ("t.csv", "t.csv", "t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t[1].csv", "t.x")
    )
    path = Path(_FOLDER.name, name)
    if name == "t.parquet" and draw.happens(0.7):
        pl.DataFrame(_columns(draw, 20)).write_parquet(path)
        if draw.happens(0.4):
            content = path.read_bytes()
            path.write_bytes(content[: draw.randrange(len(content))])
        return path
    content = _text(draw)
    if name.endswith(".gz") and draw.happens(0.8):
        import gzip

        content = gzip.compress(content, 1)
    path.write_bytes(content)
    return path if draw.happens(0.97) else Path(_FOLDER.name, "none.csv")


def _reader(draw: Draw) -> None:
    legitimate = draw.pick(((), ("level",), ("level", "other")))
    roles = Roles("score", "sex", legitimate, "weight" if draw.happens(0.3) else None)
    found = draw.call(
        read_cells,
        _file(draw),
        roles,
        resolution=settings.number(draw, 0.1) if draw.happens(0.1) else None,
        engine="duckdb" if draw.happens(0.02) else "auto",
    )
    assert 0 < found.used <= found.rows, (found.used, found.rows)
    assert np.isfinite(found.cells.mass).all(), found.cells.mass


TARGETS = {
    "audit": Target(_audit, 500),
    "files": Target(_reader, 500),
}
