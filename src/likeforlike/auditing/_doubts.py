"""Sensitivity, specifications and drivers of an audit: its cells and rows, handed to `sensitivity`.

Sensitivity reads the cells that the audit has. Specifications read the table once more, with the
candidates among the legitimate columns. Drivers need to know which row is where, since
contributions come by row: the table is read with the number of each row in the place of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._comparisons import group_cells
from likeforlike.auditing._contrast_audit import Examination, own_measure
from likeforlike.auditing._evidence import Evidence, percent_base
from likeforlike.auditing._reading import Bins
from likeforlike.auditing._tables import TableCells, read_cells
from likeforlike.disparity import Cells, Contrast, level_weights
from likeforlike.document import Threshold
from likeforlike.errors import InputError
from likeforlike.files import TextTable, number_column, open_file, text_column
from likeforlike.sensitivity import (
    Drivers,
    Sensitivity,
    Specifications,
    Withheld,
    find_drivers,
    group_auc,
    sensitivity,
    specify,
    sum_columns,
)
from likeforlike.transport import sum_parts

_ROW = "likeforlike row"
Table = Any
"""A table of any library, an array (n, d), or {name: column}."""


def examine_sensitivity(
    evidence: Evidence,
    strength: tuple[float, float] | str | None,
    threshold: float | str | None,
) -> tuple[Sensitivity, ...]:
    """Compute what an omitted feature would have to be like, for every contrast."""
    _refuse_unsuitable(evidence, "sensitivity")
    found = []
    for each, (cells, _) in zip(evidence.contrasts, evidence.contrast_cells, strict=True):
        contrast = _find_pair(cells, each)
        limit = 0.0
        if threshold is not None:
            given = Threshold(threshold, "gap")  # type: ignore[arg-type]  # read there
            limit = given.value
            if given.percent:
                limit *= percent_base(cells, each, evidence.settings)[0] / 100.0
        found.append(
            sensitivity(
                contrast,
                level_weights(contrast, own_measure(evidence.settings.measure, contrast)),
                each.gap,
                columns=each.columns,
                legitimate=evidence.roles.legitimate,
                threshold=limit,
                strength=strength,
            )
        )
    return tuple(found)


def examine_specifications(
    evidence: Evidence,
    candidates: Sequence[str],
    bins: Bins | None,
    number: int,
    progress: Callable[[int], None] | None,
) -> Specifications:
    """Compare two groups with every choice of candidates among the legitimate columns."""
    _refuse_unsuitable(evidence, "specifications")
    read, roles, settings = _reader(evidence), evidence.roles, evidence.settings
    names = (candidates,) if isinstance(candidates, str) else tuple(candidates)
    if not names:
        raise InputError("candidates must name one column or more.")
    for name in names:
        if name in roles.columns or names.count(name) > 1:
            raise InputError(
                f"candidates must be other columns than those of the audit, each once, and "
                f"{name!r} is not; leave it out."
            )
    if not isinstance(settings.measure, str):
        raise InputError(
            "specifications weigh levels by a rule, and measure is a mapping of the levels of "
            "this audit; audit with the name of a measure."
        )
    cuts = {**(read.keywords.get("bins") or {}), **(bins or {})}
    table = read(replace(roles, legitimate=(*roles.legitimate, *names)), bins=cuts)
    each = _contrast_number(evidence, number)
    cells = group_cells(table.without_float_noise().cells, each.columns, roles.all_sensitive)
    contrast = _find_pair(cells, each)
    if not contrast.support.any():
        raise InputError(
            f"with all of {', '.join(names)} no level holds both groups, so no rows are common to "
            "all specifications; name fewer candidates, or cut them into bins."
        )
    return specify(
        contrast,
        columns=each.columns,
        legitimate=roles.legitimate,
        candidates=names,
        measure=settings.measure,
        confidence=settings.confidence,
        permutations=settings.permutations,
        random_state=settings.random_state,
        missing=evidence.table.used - table.used,
        progress=progress,
    )


def examine_drivers(
    evidence: Evidence,
    contributions: Table,
    *,
    sources: Mapping[str, str] | None,
    predict: Callable[[Any], Any] | None,
    inputs: Table | None,
    target: Any,  # noqa: ANN401
    number: int,
) -> Drivers:
    """Split a disparity by the inputs of a model."""
    _refuse_unsuitable(evidence, "drivers")
    read, roles, settings = _reader(evidence), evidence.roles, evidence.settings
    each = _contrast_number(evidence, number)
    columns = _by_name(contributions, "contributions")
    with _open_rows(read, roles.columns, [roles.score, roles.weight]) as source:
        table = _read_row_numbers(source, read, evidence)
        people = None if roles.cluster is None else _column(source, roles.cluster)
    _check_rows(columns, table.rows, "contributions")
    cells = group_cells(table.cells, each.columns, roles.all_sensitive)
    contrast = _find_pair(cells, each).supported()
    assert contrast.cells.cluster is not None
    rows = np.array(contrast.cells.cluster_labels, np.int64)[contrast.cells.cluster]
    withhold = None
    if predict is not None:
        if inputs is None:
            raise InputError("predict needs inputs, the table that the model is asked about.")
        withhold = partial(
            _withhold, contrast, rows, predict, inputs, list(columns), target, settings.random_state
        )
    numbers = None if inputs is None else _numbers_by_name(inputs, list(columns))
    _check_rows(numbers or {}, table.rows, "inputs")
    clusters = None
    if people is not None:
        clusters = np.unique(people[rows], return_inverse=True)[1]
    names = dict(zip(evidence.table.cells.levels, evidence.table.level_names, strict=True))
    return find_drivers(
        contrast,
        sum_columns(columns, sources or {}),
        rows,
        clusters=clusters,
        columns=each.columns,
        level_names=[names.get(level, str(level)) for level in contrast.cells.levels],
        measure=own_measure(settings.measure, contrast),
        confidence=settings.confidence,
        tested=each.p_value is not None and each.p_value <= 1.0 - settings.confidence,
        inputs=numbers,
        withhold=withhold,
    )


def _refuse_unsuitable(evidence: Evidence, what: str) -> None:
    """Refuse audits along numbers, and of counts with noise."""
    if evidence.table.lines is not None:
        raise InputError(
            f"{what} compares people of one level, and with smooth scores are carried along "
            "numbers; audit with bins in the place of smooth."
        )
    if not evidence.conventional:
        raise InputError(f"{what} needs the data, and a custodian's answer has counts with noise.")


def _reader(evidence: Evidence) -> partial[TableCells]:
    if evidence.read is None:
        raise InputError(
            "specifications and drivers read the table once more; audit the table itself, not a "
            "summary of it."
        )
    return evidence.read


def _contrast_number(evidence: Evidence, number: int) -> Examination:
    if not 0 <= number < len(evidence.contrasts):
        last = len(evidence.contrasts) - 1
        raise InputError(f"contrast must be 0 to {last}, not {number!r}.")
    return evidence.contrasts[number]


def _find_pair(cells: Cells, each: Examination) -> Contrast:
    """Find the two groups of a contrast in cells, without all others."""
    names = [str(group) for group in cells.groups]
    if missing := [group for group in each.groups if group not in names]:
        raise InputError(f"no row of {missing[0]} has a value in every column named.")
    low, high = (names.index(group) for group in each.groups)
    return Contrast(cells, (low, high)).narrow()


@contextmanager
def _open_rows(
    read: partial[TableCells], named: Sequence[str], numbers: Sequence[str | None]
) -> Iterator[Any]:
    """Open the table of an audit in memory, as a frame or as texts; rows keep their order."""
    data, keywords = read.args[0], read.keywords
    cuts = [c for c, cut in (keywords.get("bins") or {}).items() if not isinstance(cut, str)]
    wanted = [each for each in (*numbers, *cuts) if each is not None]
    if isinstance(data, str | Path):
        options = keywords.get("options")
        with open_file(data, "auto", options, named=named, numbers=wanted) as source:
            if isinstance(source, TextTable):
                texts = [text_column(place) for place in range(len(source.columns))]
                table = nw.from_native(source.table).lazy()
                # A line without anything in it is no row.
                table = table.filter(
                    ~nw.all_horizontal(*(nw.col(t).is_null() for t in texts), ignore_nulls=False)
                )
                yield source._replace(table=table.collect("polars").to_native())
            else:
                yield nw.from_native(source).lazy().collect("polars").to_native()
        return
    frame = nw.from_native(data)
    if isinstance(frame, nw.LazyFrame):
        if not frame.implementation.is_polars():
            raise InputError(
                "contributions come by row, and rows have no order in this engine; audit a table "
                "in memory, or a file."
            )
        frame = frame.collect()
    yield frame.to_native()


def _read_row_numbers(
    source: Any,  # noqa: ANN401
    read: partial[TableCells],
    evidence: Evidence,
) -> TableCells:
    """Read the cells of a table with the number of each row as its cluster."""
    if isinstance(source, TextTable):
        place = text_column(len(source.columns))
        table = nw.from_native(source.table).with_row_index(place)
        table = table.with_columns(nw.col(place).cast(nw.String))
        indexed: Any = source._replace(table=table.to_native(), columns=(*source.columns, _ROW))
    else:
        indexed = nw.from_native(source).with_row_index(_ROW).to_native()
    roles = replace(evidence.roles, cluster=_ROW)
    table_cells = read_cells(indexed, roles, bins=read.keywords.get("bins"))
    if table_cells.rows != evidence.table.rows:
        raise InputError(
            f"the table has {table_cells.rows:,} rows now, and had {evidence.table.rows:,} when "
            "it was audited; audit it again."
        )
    return table_cells.without_float_noise()


def _column(source: Any, name: str) -> Any:  # noqa: ANN401
    """Return a column of an open table by row, as text."""
    if isinstance(source, TextTable):
        name, source = text_column(source.columns.index(name)), source.table
    return nw.from_native(source)[name].cast(nw.String).to_numpy().astype(str)


def _by_name(table: Table, argument: str) -> dict[str, FloatArray]:
    """Return the columns of a table, an array or a mapping as numbers, by name."""
    columns: Mapping[Any, Any]
    if isinstance(table, Mapping):
        columns = table
    elif getattr(table, "columns", None) is not None or hasattr(table, "column_names"):
        frame = nw.from_native(table, eager_only=True)
        columns = {name: frame[name].to_numpy() for name in frame.columns}
    else:
        array = np.asarray(table)
        if array.ndim != 2:
            raise InputError(f"{argument} must have rows and columns, not {array.ndim} dimensions.")
        columns = {f"input {j}": array[:, j] for j in range(array.shape[1])}
    found = {}
    for name, values in columns.items():
        try:
            found[str(name)] = np.ascontiguousarray(values, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{argument}: column {name!r} holds something other than numbers."
            ) from error
        bad = ~np.isfinite(found[str(name)])
        if bad.any():
            raise InputError(
                f"{argument}: column {name!r} lacks a finite number in row {int(bad.argmax())}."
            )
    if not found:
        raise InputError(f"{argument} has no columns.")
    return found


def _numbers_by_name(inputs: Table, names: Sequence[str]) -> dict[str, FloatArray]:
    """Return the inputs that are finite numbers, by the names of the contributions."""
    if isinstance(inputs, np.ndarray):
        pairs = {name: inputs[:, j] for j, name in enumerate(names[: inputs.shape[1]])}
    else:
        frame = nw.from_native(inputs, eager_only=True)
        pairs = {name: frame[name].to_numpy() for name in names if name in frame.columns}
    found = {}
    for name, values in pairs.items():
        if values.dtype.kind in "biuf" and np.isfinite(values.astype(np.float64)).all():
            found[name] = values.astype(np.float64)
    return found


def _check_rows(columns: Mapping[str, FloatArray], rows: int, argument: str) -> None:
    for name, values in columns.items():
        if values.shape != (rows,):
            raise InputError(
                f"{argument}: column {name!r} has {values.size:,} rows, and the table has "
                f"{rows:,}; pass a row for each row of the table, in its order."
            )


def _withhold(
    contrast: Contrast,
    rows: IntArray,
    predict: Callable[[Any], Any],
    inputs: Table,
    order: Sequence[str],
    target: Any,  # noqa: ANN401
    seed: int,
    names: Sequence[str],
    weights: FloatArray,
) -> dict[str, Withheld]:
    """Say what becomes of scores if each of some inputs is drawn from its level."""
    atoms = contrast.cells.atoms
    cell = np.repeat(np.arange(2 * weights.size), np.diff(atoms.offsets))
    known = None if target is None else np.asarray(target)[rows]
    classes = None if known is None else np.unique(known, return_inverse=True)
    is_array = isinstance(inputs, np.ndarray)
    own = inputs[rows] if is_array else nw.from_native(inputs, eager_only=True)[rows]

    def measure(table: Table) -> tuple[float, float | None]:
        scores = np.asarray(predict(table), np.float64)
        scores = scores[:, -1] if scores.ndim == 2 else scores
        totals = sum_parts(cell, atoms.mass, 2 * weights.size)
        means = sum_parts(cell, atoms.mass * scores, 2 * weights.size) / totals
        if classes is None or classes[0].size != 2:
            return float(weights @ (means[1::2] - means[::2])), None
        auc = group_auc(scores, classes[1], np.asarray(atoms.mass), np.ones(1))
        return float(weights @ (means[1::2] - means[::2])), auc

    before = measure(own if is_array else own.to_native())
    random, found = np.random.default_rng(seed), {}
    level = cell // 2
    by_level = np.argsort(level, kind="stable")
    for name in names:
        # In the order of levels, so that each row gets the input of another of its level.
        drawn = np.empty(rows.size, np.int64)
        drawn[by_level] = np.lexsort((random.random(rows.size), level))
        if is_array:
            changed = own.copy()
            changed[:, order.index(name)] = own[drawn, order.index(name)]
        elif name in own.columns:
            changed = own.with_columns(own[name][drawn].alias(name)).to_native()
        else:
            continue
        gap, auc = measure(changed)
        found[name] = Withheld(gap, before[0], auc, before[1])
    return found


def read_inputs(evidence: Evidence, model: Any) -> FloatArray:  # noqa: ANN401
    """Read the inputs of a model of trees from the file audited, by the names that it has for them.

    LightGBM keeps the categories of a table of pandas with the model; those of XGBoost are refused.
    """
    light = hasattr(model, "feature_name")
    names = (model.feature_name() if light else model.feature_names) or ()
    infos = model.dump_model(num_iteration=1)["feature_infos"] if light else {}
    categories = iter(getattr(model, "pandas_categorical", None) or ())
    columns = []
    with _open_rows(_reader(evidence), names, names) as source:
        is_text = isinstance(source, TextTable)
        frame = nw.from_native(source.table if is_text else source)
        known = list(source.columns if is_text else frame.columns)
        for name in names:
            if name not in known:
                raise InputError(f"the file has no column {name!r}, which the model needs.")
            place = known.index(name)
            texts = frame[text_column(place) if is_text else name]
            numbers = frame[number_column(place)] if is_text else texts
            codes = next(categories, None) if infos.get(name, {}).get("values") else None
            if codes is not None:
                place_of = {str(value): float(k) for k, value in enumerate(codes)}
                found = [place_of.get(str(each), np.nan) for each in texts.to_list()]
            elif bool((numbers.is_null() & ~texts.is_null()).all()) or (
                not numbers.dtype.is_numeric() and numbers.dtype != nw.Boolean
            ):
                raise InputError(
                    f"column {name!r} holds no numbers, and the model does not say how it took "
                    "them; pass --contributions."
                )
            else:
                found = numbers.cast(nw.Float64).to_numpy()
            columns.append(np.asarray(found, np.float64))
    return np.stack(columns, axis=1)


def read_contributions(path: Path) -> dict[str, FloatArray]:
    """Read contributions from a file: a column for each input, a row for each row of the data."""
    with _open_rows(partial(read_cells, path), (), ()) as source:
        if not isinstance(source, TextTable):
            return _by_name(source, "contributions")
        named = source.columns
    with _open_rows(partial(read_cells, path), named, named) as source:
        frame = nw.from_native(source.table)
        numbers = {name: frame[number_column(k)].to_numpy() for k, name in enumerate(named)}
        return _by_name(numbers, "contributions")
