"""Summaries: what an audit needs of a table, in a file that others can be merged with.

A day, a region or a machine is counted where its rows are. What leaves is one line for each (level,
group, bin of scores); many of these files together give the audit of all their rows, to the last
bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast, get_args

from likeforlike._settings import Engine
from likeforlike.auditing._audit import Audit
from likeforlike.auditing._audit_table import audit_cells
from likeforlike.auditing._bins import Bins, Calendar
from likeforlike.auditing._column_names import column_names, sensitive_columns
from likeforlike.auditing._missing import families
from likeforlike.auditing._summary_tables import check_table, merged_table, retold
from likeforlike.auditing._tables import TableCells, read_cells
from likeforlike.disparity._cells import Cells
from likeforlike.document._request import Roles, Settings
from likeforlike.document._results import LostRows
from likeforlike.errors import InputError
from likeforlike.files._csv import csv_options

# Lines that are read before they are merged.
_WAITING_LINES = 1_000_000
# What a summary keeps of a table with its cells; the rest follows from the labels.
_KEPT = (
    *("rows", "used", "missing", "edges", "engine", "nulls", "text", "calendar", "notes", "unit"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """What a summary was made of.

    Attributes
    ----------
    name : what the part is called, such as "monday"; `None` if not given.
    fingerprint : of its cells.

    Examples
    --------
    >>> from likeforlike.auditing._summary import Part
    >>> Part("monday", "ab12").name
    'monday'
    """

    name: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Cells of a table with the roles of its columns, to be written, merged and audited.

    Attributes
    ----------
    roles : which column plays which part.
    table : cells, rows and missing values.
    dataset : name of the data set it is of; `None` if not given.
    parts : what it was made of, one entry for every summary that was merged.

    Examples
    --------
    >>> from likeforlike.auditing import summarize
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000).frame
    >>> roles = {"score": "score", "sensitive": "sex", "legitimate": "income"}
    >>> monday = summarize(loans[:1000], **roles, resolution=0.01)
    >>> tuesday = summarize(loans[1000:], **roles, resolution=0.01)
    >>> both = monday.merge(tuesday)
    >>> both.table.rows, len(both.parts)
    (2000, 2)
    >>> both.audit(permutations=99).gate(0.9)
    'pass'
    """

    roles: Roles
    table: TableCells
    dataset: str | None
    parts: tuple[Part, ...]

    def write(self, path: str | Path) -> None:
        """Write the summary to a Parquet file, whole or not at all; `Cells.read` reads it, too.

        Parameters
        ----------
        path : of the file, by custom with the ending .cells.
        """
        about = {
            "roles": asdict(self.roles),
            "table": {name: getattr(self.table, name) for name in _KEPT},
            "lost": [asdict(each) for each in self.table.lost],
            "group_rows": [self.table.group_rows[group] for group in self.table.cells.groups],
            "dataset": self.dataset,
            "parts": [asdict(part) for part in self.parts],
        }
        self.table.cells.write(path, about=about)

    @classmethod
    def read(cls, path: str | Path, *more: str | Path) -> Summary:
        """Read summaries; several are merged.

        Parameters
        ----------
        path, more : of the files.
        """
        merged, *waiting = [_read(path)]
        for each in more:
            waiting.append(_read(each))
            # Lines of the same cell and bin become one, so that a year needs no more than a month.
            if sum(map(_lines, waiting)) > max(_WAITING_LINES, _lines(merged)):
                merged, waiting = merged.merge(*waiting), []
        return merged.merge(*waiting) if waiting else merged

    def merge(self, *others: Summary) -> Summary:
        """One summary of all rows. Those of other roles, bins or data sets are refused.

        Parameters
        ----------
        others : summaries of other rows of the same data set.
        """
        summaries = (self, *others)
        for other in others:
            _refuse_other(self, other)
        _refuse_twice([part for each in summaries for part in each.parts])
        table = merged_table([each.table for each in summaries], self.roles)
        parts = tuple(part for each in summaries for part in each.parts)
        return Summary(self.roles, table, self.dataset, parts)

    def audit(self, **arguments: object) -> Audit:
        """Audit all rows behind the summary.

        Parameters
        ----------
        arguments : of `audit`. Settings are taken; roles and resolution may be named again, and
            must be those of the summary; how to read a file can no longer be said.
        """
        # Numbers to compare along are not in a summary.
        known = {field.name for field in fields(Settings)} - {"smooth", "windows"}
        besides = arguments.keys() & {"progress", "salt"}
        self._refuse_other_roles(
            {name: arguments[name] for name in arguments.keys() - known - besides}
        )
        chosen = {name: arguments[name] for name in arguments.keys() & known}
        settings = Settings(**chosen)  # type: ignore[arg-type]  # each is checked there
        check_table(self.table, self.roles)
        return audit_cells(
            self.roles,
            settings,
            self.table,
            cast("Callable[[int], None] | None", arguments.get("progress")),
            cast("str | None", arguments.get("salt")),
        )

    def _refuse_other_roles(self, given: Mapping[str, object]) -> None:
        """Refuse what was said about columns and bins, unless the summary has just that."""
        own: dict[str, object] = {
            **_by_argument(self.roles),
            "resolution": self.table.cells.resolution or None,
            "bins": {**self.table.edges, **cut_by_calendar(self.table)},
        }
        for name in sorted(given):
            if name not in own:
                raise InputError(f"{name} cannot be said of a summary; leave it out.")
            if not alike(given[name], own[name]):
                raise InputError(
                    f"{name} is {own[name]!r} in the summary, not {given[name]!r}; summarize the "
                    "rows again."
                )


def summarize(
    data: object,
    *,
    score: str,
    sensitive: str | Sequence[str],
    legitimate: str | Sequence[str] | None = (),
    bins: Bins | None = None,
    resolution: float | None = None,
    dataset: str | None = None,
    part: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    engine: Engine = "auto",
    csv: Mapping[str, object] | None = None,
) -> Summary:
    """Summarize a table for an audit, where its rows are.

    With several sensitive columns every combination of their values is counted, so that the audit
    can ask about each of them and about all of them crossed.

    Parameters
    ----------
    data, score, sensitive, legitimate, weight, cluster : as for `audit`.
    bins : {column: edges}; quantiles would cut every part elsewhere, so that parts do not merge.
    resolution : width of the bins of scores. Without it every score that occurs is kept.
    dataset : name of the data set; summaries of another one do not merge with this.
    part : what these rows are called, such as "monday", so that none is merged twice.
    engine, csv : as for `audit`.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.auditing import Summary, summarize
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans(1000).frame
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> file = f"{tempfile.mkdtemp()}/monday.cells"
    >>> summarize(loans, **roles, part="monday").write(file)
    >>> Summary.read(file).audit(permutations=99).gate(0.05)
    'fail'
    """
    first, *others = sensitive_columns(sensitive)
    levels = column_names(legitimate, "legitimate")
    roles = Roles(score, first, levels, weight, cluster, tuple(others))
    options = csv_options(csv)
    # A part may hold one group only, or every row in a level of its own.
    table = read_cells(
        data, roles, bins=bins, resolution=resolution, engine=engine, options=options, part=True
    )
    return Summary(roles, table, dataset, (Part(part, table.cells.fingerprint),))


def alike(given: object, own: object) -> bool:
    """Whether two values say the same: a list and a tuple, or one column by itself."""
    if isinstance(given, Mapping) and isinstance(own, Mapping):
        return given.keys() == own.keys() and all(alike(given[name], own[name]) for name in own)
    one, other = (
        [each] if isinstance(each, str) else list(each) if isinstance(each, list | tuple) else each
        for each in (given, own)
    )
    return one == other or (given in (None, ()) and own in (None, (), ""))


def _read(path: str | Path) -> Summary:
    cells, about = Cells.read_about(path)
    try:
        roles = Roles(**{name: _tuple(each) for name, each in about["roles"].items()})
        kept = dict(about["table"])
        table = TableCells(
            cells=cells,
            level_names=(),
            rows=_count(kept["rows"]),
            used=_count(kept["used"]),
            missing={_text(column): _count(n) for column, n in kept["missing"].items()},
            edges={column: _edges(edges) for column, edges in kept["edges"].items()},
            engine=_text(kept["engine"]),
            nulls={
                _text(column): {_text(word): _count(n) for word, n in words.items()}
                for column, words in kept["nulls"].items()
            },
            lost=tuple(
                LostRows(**{name: _tuple(value) for name, value in each.items()})
                for each in about["lost"]
            ),
            group_rows=dict(zip(cells.groups, map(_count, about["group_rows"]), strict=True)),
            text=bool(kept["text"]),
            calendar={c: _calendar(part) for c, part in kept.get("calendar", {}).items()},
            notes=tuple(_text(note) for note in kept.get("notes", ())),
            unit=_text_or_none(kept.get("unit")),
        )
        parts = tuple(
            Part(_text_or_none(each["name"]), _text(each["fingerprint"])) for each in about["parts"]
        )
        _check_about(table, roles)
        return Summary(roles, retold(table, roles), _text_or_none(about["dataset"]), parts)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(
            f"{path} holds cells, but no summary of a table; likeforlike summarize writes one."
        ) from error


def _check_about(table: TableCells, roles: Roles) -> None:
    """Raise if what a file says of its cells cannot be: it may have been changed."""
    single = (roles.score, roles.sensitive)
    several = (roles.legitimate, roles.also_sensitive)
    optional = [each for each in (roles.weight, roles.cluster) if each is not None]
    if not all(isinstance(each, tuple) for each in several):
        raise TypeError("several columns are no list")
    for column in (*single, *roles.legitimate, *roles.also_sensitive, *optional):
        _text(column)
    asked = 1 + len(roles.all_sensitive) + len(roles.legitimate) + len(optional)
    known = set(roles.columns)
    if len(known) < asked or table.missing.keys() != known or table.used > table.rows:
        raise ValueError("columns or rows do not fit")
    if not {*table.edges, *table.calendar} <= set(roles.legitimate):
        raise ValueError("a column was cut that is not legitimate")
    if not set(table.nulls) <= known or sum(table.group_rows.values()) > table.used:
        raise ValueError("rows of groups do not fit")
    for labels, width in (
        (table.cells.levels, len(roles.legitimate)),
        (table.cells.groups, len(roles.all_sensitive)),
    ):
        if width > 1 and any(not isinstance(k, tuple) or len(k) != width for k in labels):
            raise ValueError("labels do not fit their columns")
    for each in table.lost:
        _check_lost(each, roles)


def _check_lost(lost: LostRows, roles: Roles) -> None:
    _text_or_none(lost.group)
    if _count(lost.lost) > _count(lost.rows) or not lost.rows:
        raise ValueError("more rows are lost than there are")
    if lost.columns not in families(roles.all_sensitive):
        raise ValueError("rows are lost in columns that are not sensitive")


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("a count is none")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is none")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _edges(values: Sequence[float]) -> tuple[float, ...]:
    edges = tuple(float(value) for value in values if type(value) in (int, float))
    if len(edges) != len(values) or list(edges) != sorted(set(edges)):
        raise ValueError("edges do not rise")
    if not all(math.isfinite(edge) for edge in edges):
        raise ValueError("an edge is infinite")
    return edges


def _calendar(part: object) -> str:
    if part not in ("day", *get_args(Calendar)):
        raise ValueError("no part of a calendar")
    return str(part)


def cut_by_calendar(table: TableCells) -> dict[str, str]:
    """Columns of dates that were cut, and into what."""
    return {column: part for column, part in table.calendar.items() if part != "day"}


def _tuple(plain: Any) -> Any:  # noqa: ANN401
    """A field of a dataclass from a plain value."""
    return tuple(plain) if isinstance(plain, list) else plain


def _lines(summary: Summary) -> int:
    return summary.table.cells.atoms.values.size


def _refuse_other(first: Summary, other: Summary) -> None:
    """Refuse a summary that cannot be merged with the first."""
    for what, mine, theirs in (
        ("data set", first.dataset, other.dataset),
        ("resolution", first.table.cells.resolution, other.table.cells.resolution),
        *(
            (f"{name} column", mine, _by_argument(other.roles)[name])
            for name, mine in _by_argument(first.roles).items()
        ),
        ("edges of bins", first.table.edges, other.table.edges),
        ("calendar", first.table.calendar, other.table.calendar),
        ("unit", first.table.unit, other.table.unit),
    ):
        if mine != theirs:
            raise InputError(
                f"summaries of another {what} do not merge: {mine!r} and {theirs!r}"
                f"{_named(other)}. Summarize both alike."
            )


def _by_argument(roles: Roles) -> dict[str, object]:
    """The roles by the names of the arguments that give them."""
    given: dict[str, object] = asdict(roles)
    if given.pop("also_sensitive"):
        given["sensitive"] = roles.all_sensitive
    return given


def _named(summary: Summary) -> str:
    names = [part.name for part in summary.parts if part.name is not None]
    return f" ({', '.join(names[:3])})" if names else ""


def _refuse_twice(parts: Sequence[Part]) -> None:
    """Refuse to count rows twice."""
    seen: set[Hashable] = set()
    for part in parts:
        if part.name is not None and part.name in seen:
            raise InputError(f"the part {part.name!r} is there twice; its rows would count twice.")
        if (part.name, part.fingerprint) in seen:
            raise InputError(
                "two summaries have the same scores in every cell, so the same rows would count "
                "twice. If they are other rows, say so by their names: part='monday' (--part)."
            )
        seen |= {part.name, (part.name, part.fingerprint)}
