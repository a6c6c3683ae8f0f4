"""Files that the library has written, and what becomes of them."""

from __future__ import annotations

import json
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

import likeforlike as lfl
from likeforlike.experiments import Journal
from tools.fuzz.columns import hostile, labels, scores
from tools.fuzz.draw import Draw
from tools.fuzz.runner import Target

__all__ = ["TARGETS"]

_FOLDER = tempfile.TemporaryDirectory()
_ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e308,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "text",
    [],
    [[]],
    [[[0.0]]],
    {},
    {"name": "x"},
    [1.0, "a"],
    [[1.0], [1.0, 2.0]],
    [None],
    "\ud800",
)


def _model() -> dict[str, Any]:
    return {
        "format": "likeforlike model 1",
        "made_by": {"method": "by hand"},
        "task": "classification",
        "columns": [{"name": "debt", "values": None}, {"name": "city", "values": ["Oslo", "Rome"]}],
        "mean": [0.0, 0.5, 0.5],
        "spread": [1.0, 0.5, 0.5],
        "weights": [[[1.0, 0.0], [0.5, 1.0], [0.0, 1.0]], [[0.0, 0.0]], [[1.0], [1.0]], [[0.25]]],
    }


def _places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401
    """Ways to all parts of a document."""
    inner = (
        part.items()
        if isinstance(part, dict)
        else enumerate(part)
        if isinstance(part, list)
        else ()
    )
    return [path, *(place for key, each in inner for place in _places(each, (*path, key)))]


def _changed(draw: Draw, document: dict[str, Any]) -> Any:  # noqa: ANN401
    """A document with some part changed, taken out or doubled."""
    *way, last = draw.pick(_places(document)[1:])
    parent: Any = document
    for key in way:
        parent = parent[key]
    how = draw.pick(("odd", "odd", "out", "twice", "number"))
    if how == "odd":
        parent[last] = deepcopy(draw.pick(_ODD))  # which the next change may change
    elif how == "out":
        del parent[last]
    elif how == "number":
        parent[last] = draw.uniform(-1.0, 1.0) * 10.0 ** draw.uniform(-320.0, 308.0)
    elif isinstance(parent, list):
        parent.append(parent[last])
    return document


def _damaged(draw: Draw, content: bytes) -> bytes:
    """A file with some bytes changed, cut off or filled in."""
    place = draw.randrange(len(content) + 1)
    how = draw.pick(("cut", "flip", "fill", "insert", "none", "nest"))
    if how == "cut":
        return content[:place]
    if how == "flip":
        return content[:place] + draw.randbytes(1) + content[place + 1 :]
    if how == "fill":
        return content[:place] + draw.randbytes(draw.randint(1, 40)) + content[place:]
    if how == "insert":
        return content[:place] + draw.pick((b"\n", b"[", b"}", b"NaN", b"1e999")) + content[place:]
    if how == "nest":
        return content[:place] + b"[" * 3000 + content[place:]
    return content


def _models(draw: Draw) -> None:
    document = _model()
    for _ in range(draw.randint(0, 2)):
        document = _changed(draw, document)
        if not isinstance(document, dict) or len(_places(document)) < 2:
            break
    content = json.dumps(document).encode()
    path = Path(_FOLDER.name, "model.json")
    path.write_bytes(_damaged(draw, content) if draw.happens(0.5) else content)
    model = draw.call(lfl.load, path)
    size = draw.randint(1, 5)
    table = {
        column.name: scores(draw, size)
        if column.values is None
        else [draw.pick(column.values) for _ in range(size)]
        for column in model.columns
    }
    if draw.happens(0.2):
        table[draw.pick(list(table))] = draw.pick((hostile, labels))(draw, size)
    found = draw.call(model.scores, table)
    assert np.isfinite(found).all(), found
    again = Path(_FOLDER.name, "again.json")
    model.save(again)
    np.testing.assert_array_equal(lfl.load(again).scores(table), found)


def _journals(draw: Draw) -> None:
    path = Path(_FOLDER.name, "runs.jsonl")
    path.unlink(missing_ok=True)
    runs = {f"run {k}": {"power": draw.random()} for k in range(draw.randint(0, 3))}
    with Journal(path) as journal:
        for key, run in runs.items():
            journal.add(key, run)
    content = _damaged(draw, path.read_bytes())
    path.write_bytes(content)
    try:
        with draw.call(Journal, path) as journal:
            kept = dict(journal)
    except Exception:
        assert path.read_bytes() == content, "a file that was refused has changed"
        raise
    assert kept.items() <= runs.items(), kept


TARGETS = {
    "saved models": Target(_models, 2000),
    "journals": Target(_journals, 100),
}
