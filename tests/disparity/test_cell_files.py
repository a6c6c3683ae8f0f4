"""Cells in files: what is read is what was written, and nothing else is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Hashable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from likeforlike import Cells
from likeforlike.disparity._columns import parse_label, plain_label
from likeforlike.errors import InputError

LABELS: list[Hashable] = [
    "a",
    1,
    1.5,
    float("inf"),
    True,
    Decimal("1.10"),
    date(2026, 1, 31),
    datetime(2026, 1, 31, 12, 30),
    time(23, 59),
    timedelta(days=2, microseconds=5),
    ("a", 1, date(2026, 1, 31)),
]


def rows(seed: int, size: int = 300) -> Cells:
    random = np.random.default_rng(seed)
    levels = [(f"l{k % 5}", int(k) % 3) for k in random.integers(0, 60, size)]
    objects = np.empty(size, dtype=object)
    objects[:] = levels
    return Cells.from_rows(
        random.integers(0, 40, size) / 10, random.choice(["f", "m", "x"], size), objects
    )


def same(first: Cells, second: Cells) -> bool:
    one, other = first.atoms, second.atoms
    return (
        first.fingerprint == second.fingerprint
        and all(
            np.array_equal(getattr(one, name), getattr(other, name))
            for name in ("values", "mass", "counts", "offsets")
        )
        and (first.weighted, first.resolution) == (second.weighted, second.resolution)
        and (first.cluster is None) == (second.cluster is None)
        and first.cluster_labels == second.cluster_labels
    )


def weighted() -> Cells:
    random = np.random.default_rng(3)
    return Cells.from_rows(
        random.integers(0, 9, 90), random.choice([0, 1], 90), sample_weight=random.random(90)
    )


def clustered() -> Cells:
    return Cells.from_rows([0.1, 0.1, 0.4, 0.7], ["f", "f", "m", "m"], cluster=["a", "a", "b", "c"])


def counted() -> Cells:
    return Cells.from_counts(
        ["x", "y", "x"], [False, False, True], [0.05, 0.15, 0.15], [10**12, 3, 7], resolution=0.1
    )


@pytest.mark.parametrize("cells", [rows(0), weighted(), clustered(), counted()])
def test_cells_come_back_as_they_were(cells: Cells, tmp_path: Path) -> None:
    cells.write(tmp_path / "monday.cells", about={"roles": {"score": "f"}})
    back, about = Cells.read_about(tmp_path / "monday.cells")
    assert same(back, cells)
    assert (back.levels, back.groups) == (cells.levels, cells.groups)
    assert about == {"roles": {"score": "f"}}
    if cells.cluster is not None and back.cluster is not None:
        assert back.cluster.tolist() == cells.cluster.tolist()


@pytest.mark.parametrize("label", LABELS)
def test_labels_keep_their_type(label: Hashable) -> None:
    back = parse_label(json.loads(json.dumps(plain_label(label))))
    assert back == label
    assert type(back) is type(label)


def test_a_label_no_file_can_keep_is_named(tmp_path: Path) -> None:
    cells = Cells.from_rows([0.1, 0.2], [b"f", b"m"])
    with pytest.raises(InputError, match=r"label b'f' \(bytes\) cannot be kept in a file"):
        cells.write(tmp_path / "monday.cells")
    assert list(tmp_path.iterdir()) == []


def test_any_engine_reads_the_lines(tmp_path: Path) -> None:
    counted().write(tmp_path / "monday.cells")
    table = pl.read_parquet(tmp_path / "monday.cells")
    assert table["rows"].sum() == 10**12 + 10
    assert table.columns == ["level", "group", "value", "rows", "mass"]


def test_what_is_no_file_of_cells_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        Cells.read(tmp_path / "none.cells")
    (tmp_path / "text.cells").write_text("hello")
    with pytest.raises(InputError, match=r"text.cells cannot be read: "):
        Cells.read(tmp_path / "text.cells")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.cells")
    with pytest.raises(InputError, match="does not hold cells of likeforlike"):
        Cells.read(tmp_path / "other.cells")


def edited(path: Path, **changes: object) -> None:
    """Change the notes of a file, or a column of it."""
    notes = json.loads(pl.read_parquet_metadata(path)["likeforlike"])
    table = pl.read_parquet(path)
    for name, value in changes.items():
        if name in table.columns:
            table = table.with_columns(pl.Series(name, value))  # type: ignore[arg-type]
        else:
            notes[name] = value
    table.write_parquet(path, metadata={"likeforlike": json.dumps(notes)})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"rows": [1, 2, 3]}, "was damaged or edited: its fingerprint is another one"),
        ({"groups": ["a", "b"]}, "its fingerprint is another one"),
        ({"resolution": 0.2}, "its fingerprint is another one"),
        ({"level": [0, 0, 7]}, "is damaged: a level has no label"),
        ({"levels": [None, None]}, "is damaged: None stands for no label"),
        ({"value": [0.1, float("nan"), 0.3]}, "is damaged: value has 1 value"),
        ({"rows": [-1, 1, 1]}, "is damaged: counts has 1 negative"),
        ({"about": 3}, "is damaged"),
        ({"format": 3}, "has format 3, and this version reads 1 and 2"),
    ],
)
def test_a_file_that_was_edited_is_refused(
    changes: dict[str, object], complaint: str, tmp_path: Path
) -> None:
    counted().write(tmp_path / "monday.cells")
    edited(tmp_path / "monday.cells", **changes)
    with pytest.raises(InputError, match=complaint):
        Cells.read(tmp_path / "monday.cells")


@pytest.mark.parametrize("parts", [2, 7, 365])
def test_parts_merged_are_the_whole(parts: int) -> None:
    random = np.random.default_rng(parts)
    size = 4 * parts
    scores, groups = random.integers(0, 30, size) / 7, random.choice(["f", "m"], size)
    levels = np.empty(size, dtype=object)
    levels[:] = [(str(a), int(b)) for a, b in random.integers(0, 12, (size, 2))]
    cut = [slice(k, None, parts) for k in range(parts)]
    first, *others = (Cells.from_rows(scores[s], groups[s], levels[s]) for s in cut)
    assert same(first.merge(*others), Cells.from_rows(scores, groups, levels))


def test_other_kinds_do_not_merge() -> None:
    with pytest.raises(InputError, match=r"resolution 0.0 and 0.1 do not merge"):
        rows(0).merge(rows(1), counted())
    with pytest.raises(InputError, match="cells with clusters and cells without"):
        rows(0).merge(clustered())


FLIPPED = """
import sys
from pathlib import Path
from likeforlike import Cells
from likeforlike.errors import InputError
file = Path(sys.argv[1])
whole = file.read_bytes()
for place in range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")):
    for bit in (place % 8, 7 - place % 8):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        file.write_bytes(flipped)
        try:
            Cells.read(file)
        except InputError as error:
            assert "was damaged: copy it again" in str(error)
        else:
            raise AssertionError(place)
"""


@pytest.mark.process
def test_a_flipped_bit_is_found_before_polars_reads_pages(tmp_path: Path) -> None:
    """A size of a page that was damaged aborted the whole process, for want of memory."""
    file = tmp_path / "some.cells"
    rows(0, 40).write(file)
    line = [sys.executable, "-c", FLIPPED, str(file)]
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr[-2000:]) == (0, "")


def test_files_without_a_digest_are_read(tmp_path: Path) -> None:
    """As older versions wrote them."""
    new, old = tmp_path / "new.cells", tmp_path / "old.cells"
    rows(0).write(new)
    notes = pl.read_parquet_metadata(new)["likeforlike"]
    pl.read_parquet(new).write_parquet(old, metadata={"likeforlike": notes})
    assert same(Cells.read(old), Cells.read(new))
