"""A table, the roles of its columns, and where it comes from.

The columns that a model uses become one matrix of numbers, with a name for each of its columns. A
user's own table becomes a data set once its roles are checked; incomplete rows are left out and
counted. A user's own file is read with types, for models that need to know what is a number.
Deciles cut a number into ten levels at the quantiles of its own values.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from likeforlike._arrays import FloatArray
from likeforlike._settings import is_one_of
from likeforlike.disparity import encode, numbers
from likeforlike.errors import InputError
from likeforlike.files import (
    CsvOptions,
    Decimal,
    TextTable,
    are_numbers,
    column_key,
    decision_words,
    find_column,
    open_file,
    read_texts,
    readable,
    tell_apart,
    text_column,
)

Encoding = Literal["one-hot", "integer"]
"""How a nominal column becomes numbers: a column for each value, or the rank of the value."""


class Inputs(NamedTuple):
    """A matrix for a model and the names of its columns.

    Attributes
    ----------
    matrix : (n, d) floats.
    names : d names; `"column=value"` for a column that stands for one value.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> inputs = make_loans(100).inputs()
    >>> inputs.matrix.shape, inputs.names
    ((100, 4), ('income', 'debt', 'history', 'tenure'))
    """

    matrix: FloatArray
    names: tuple[str, ...]


def input_matrix(
    frame: pl.DataFrame, columns: Sequence[str], encoding: Encoding = "one-hot"
) -> Inputs:
    """Turn columns of a table into one matrix of floats.

    Numbers stay what they are. A nominal column (text, categories, booleans) with the values
    v_0 < ... < v_{k-1} becomes k columns 1{x = v_j} (`"one-hot"`), or the single column of the
    ranks j (`"integer"`, which lets a model read an order into the alphabet).
    """
    if not is_one_of(encoding, get_args(Encoding)):
        raise InputError(f"encoding must be one of {get_args(Encoding)}, not {encoding!r}.")
    if not columns:
        raise InputError("there are no features to make a matrix of; name at least one column.")
    blocks = [_block(frame[column], encoding) for column in columns]
    matrix = np.hstack([block.matrix for block in blocks])
    return Inputs(matrix, tuple(name for block in blocks for name in block.names))


def _block(column: pl.Series, encoding: Encoding) -> Inputs:
    """One column of the table as one or more columns of the matrix."""
    # Series of polars take a name for a pattern, too, in some of what they do.
    name, column = column.name, column.alias("column")
    label = f"column {name!r}"
    if column.dtype.is_numeric():
        # A null among numbers would turn into NaN; `numbers` then says which row it is.
        values = numbers(column.cast(pl.Float64).to_numpy(), label)
        return Inputs(values[:, None], (name,))
    if column.dtype not in (pl.String, pl.Boolean, pl.Categorical, pl.Enum):
        raise InputError(
            f"{label} has the type {column.dtype}; a model needs numbers, text or booleans."
        )
    codes, labels = encode(column.cast(pl.String), label)
    if encoding == "integer":
        return Inputs(codes.astype(np.float64)[:, None], (name,))
    matrix = np.zeros((codes.size, len(labels)))
    matrix[np.arange(codes.size), codes] = 1.0
    return Inputs(matrix, tuple(f"{name}={value}" for value in labels))


@dataclass(frozen=True, slots=True)
class DataProvenance:
    """Where data come from, and on what terms.

    Attributes
    ----------
    origin : page or module they come from.
    license : on what terms they may be used.
    citation : how to cite them.
    sha256 : {file: checksum} of every file that was read; empty for data made by a formula.

    Examples
    --------
    >>> from likeforlike.datasets import load_loans
    >>> load_loans().provenance.citation
    'Ghassemi et al. (2025), Table 1'
    """

    origin: str
    license: str
    citation: str
    sha256: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table and the roles of its columns.

    Attributes
    ----------
    frame : the table, one row a person.
    features : columns a model may use; the sensitive column is not among them.
    target : column Y to be predicted.
    sensitive : column A whose values are the groups.
    legitimate : columns L whose combinations are the levels.
    task : whether the target is a class or a number.
    provenance : where the table comes from; `None` if not given.

    Examples
    --------
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans()
    >>> loans.sensitive, loans.legitimate, loans.frame.shape
    ('sex', ('income',), (200, 3))
    >>> loans.groups[0], loans.levels[0], int(loans.targets[0])
    ('male', 'high', 1)
    """

    frame: pl.DataFrame
    features: tuple[str, ...]
    target: str
    sensitive: str
    legitimate: tuple[str, ...]
    task: Literal["classification", "regression"]
    provenance: DataProvenance | None = None

    def __post_init__(self) -> None:
        for column in (*self.features, self.target, self.sensitive, *self.legitimate):
            find_column(column, self.frame.columns)
        if self.target in self.features:
            raise InputError(f"the target {self.target!r} must not be among the features.")

    @property
    def groups(self) -> npt.NDArray[Any]:
        """The group of every row, shape (n,)."""
        return self.frame[self.sensitive].to_numpy()

    @property
    def levels(self) -> npt.NDArray[Any]:
        """The level of every row, shape (n,).

        The value of the legitimate column; with several, the tuple of their values; with none, 0.
        """
        if len(self.legitimate) == 1:
            return self.frame[self.legitimate[0]].to_numpy()
        if not self.legitimate:
            return np.zeros(self.frame.height, dtype=np.int64)
        combined = np.empty(self.frame.height, dtype=object)
        combined[:] = self.frame[list(self.legitimate)].rows()
        return combined

    @property
    def targets(self) -> npt.NDArray[Any]:
        """The target of every row, shape (n,): 0 or 1, or a number."""
        return self.frame[self.target].to_numpy()

    def inputs(self, encoding: Encoding = "one-hot", *, with_sensitive: bool = False) -> Inputs:
        """Return the features as a matrix for a model, with the names of its columns.

        Numbers, ordered levels such as deciles among them, stay what they are. Text and booleans,
        and so levels that have names, become one column a value, or with `"integer"` the rank of
        the value in sorted order.

        Parameters
        ----------
        encoding : of nominal columns: `"one-hot"`, or `"integer"` as in the paper.
        with_sensitive : also give the model the sensitive column, as the last one.

        Examples
        --------
        >>> from likeforlike.datasets import load_loans, make_loans
        >>> load_loans().inputs().names
        ('income=high', 'income=low', 'income=medium')
        >>> matrix, names = make_loans(50).inputs("integer", with_sensitive=True)
        >>> matrix.shape, names
        ((50, 5), ('income', 'debt', 'history', 'tenure', 'sex'))
        """
        last = (self.sensitive,) if with_sensitive else ()
        columns = tuple(dict.fromkeys((*self.features, *last)))
        return input_matrix(self.frame, columns, encoding)


def dataset_of_table(
    frame: pl.DataFrame,
    *,
    target: str,
    sensitive: str,
    legitimate: Sequence[str] = (),
    features: Sequence[str] | None = None,
    smooth: str | None = None,
) -> tuple[Dataset, int]:
    """Make a data set of a table by giving its columns their roles.

    Returns the rows that are complete, and how many were left out because a value was missing.

    Parameters
    ----------
    frame : one row a person.
    target : column to be predicted. Two values make a classification, the second in sorted order
        being 1; more numbers make a regression.
    sensitive : column whose values are the groups.
    legitimate : columns whose combinations are the levels.
    features : columns a model may use; `None` means all but the target and the sensitive one.
    smooth : one of the legitimate columns that is a number and is compared without bins (see
        `experiments.Task`); the others are then taken for categories.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.datasets import dataset_of_table
    >>> frame = pl.DataFrame(
    ...     {"age": [1, 2, None], "sex": ["f", "m", "m"], "paid": ["no", "yes", "no"]}
    ... )
    >>> data, left_out = dataset_of_table(frame, target="paid", sensitive="sex")
    >>> data.task, data.targets.tolist(), left_out
    ('classification', [0, 1], 1)
    """
    for column in (target, sensitive, *legitimate, *(features or ())):
        find_column(column, frame.columns)
    used = tuple(features) if features is not None else _others(frame, target, sensitive)
    named = list(dict.fromkeys([target, sensitive, *legitimate, *used]))
    # Series of polars take a name for a pattern, too, in some of what they do.
    safe = pl.DataFrame([frame[name].alias(column_key(name)) for name in named])
    complete = safe.fill_nan(None).drop_nulls()
    if complete.height == 0:
        raise InputError(f"no row of {frame.height} has a value in every column of {named}.")
    if smooth is not None:
        complete = _along(complete, smooth, legitimate)
    numbered, task = _target(complete, target)
    numbered.columns = named
    data = Dataset(numbered, used, target, sensitive, tuple(legitimate), task)
    return data, frame.height - complete.height


def _along(frame: pl.DataFrame, smooth: str, legitimate: Sequence[str]) -> pl.DataFrame:
    """Keep one legitimate column as a number, and turn the other legitimate columns into text."""
    if smooth not in legitimate:
        raise InputError(f"smooth must be one of the legitimate columns, not {smooth!r}.")
    number = frame[column_key(smooth)]
    if not number.dtype.is_numeric():
        raise InputError(f"smooth names {smooth!r}, which is {number.dtype} and no number.")
    others = [frame[column_key(name)].cast(pl.String) for name in legitimate if name != smooth]
    return frame.with_columns(number.cast(pl.Float64), *others)


def _others(frame: pl.DataFrame, target: str, sensitive: str) -> tuple[str, ...]:
    return tuple(column for column in frame.columns if column not in (target, sensitive))


def _target(
    frame: pl.DataFrame, target: str
) -> tuple[pl.DataFrame, Literal["classification", "regression"]]:
    column = frame[column_key(target)]
    values = column.unique().sort()
    if len(values) == 2:
        return frame.with_columns((column == values[1]).cast(pl.Int64)), "classification"
    if len(values) > 2 and column.dtype.is_numeric():
        return frame.with_columns(column.cast(pl.Float64)), "regression"
    raise InputError(
        f"target {target!r} has {len(values)} different values; it must have two, or be a number."
    )


_LEADING_ZERO = r"^\s*[+-]?0[0-9]"


def read_table(
    path: str | Path,
    options: CsvOptions | None = None,
    *,
    named: Sequence[str] = (),
    groups: Collection[str] = (),
) -> tuple[pl.DataFrame, dict[str, dict[str, int]], tuple[str, ...]]:
    """Read a file whole.

    Returns its rows; {column: {word: how often}} for words that were taken for a missing value; and
    how columns were read where that is not plain, one sentence each.

    In a CSV or Excel file a column is one of numbers if all its values are, also as people write
    them. A column of `groups` is so only if no two of them are the same number, so that 01 and 1
    stay apart. Of columns with one name and the same values, one is taken.
    """
    with open_file(path, "polars", options, named=named) as source, readable(path):
        if not isinstance(source, TextTable):
            return source.collect(), {}, ()
        whole = source.table.collect()
    options = source.options
    # A line without anything in it is no row.
    whole = whole.filter(~pl.all_horizontal(pl.all().is_null()))
    columns: list[pl.Series] = []
    nulls: dict[str, dict[str, int]] = {}
    notes: list[str] = []
    for place, name in _single(whole, source.columns, named, notes):
        column = whole[text_column(place)]
        bare = column.str.strip_chars()
        words = bare.filter(bare.is_in(list(options.nulls)))
        if len(words):
            nulls[name] = dict(words.value_counts(sort=True).rows())
        present = column.set(bare.is_in(["", *options.nulls]), None)
        plain = place in source.typed
        typed = _parse_column(present, name, options.decimal, notes, name in groups, plain=plain)
        columns.append(typed.alias(name))
    return pl.DataFrame(columns), nulls, tuple(notes)


def _single(
    whole: pl.DataFrame, columns: Sequence[str], named: Sequence[str], notes: list[str]
) -> list[tuple[int, str]]:
    """Place and name of every column, without those that repeat another of the same name."""
    for name in named:
        find_column(name, columns)
    found: list[tuple[int, str]] = []
    first: dict[str, int] = {}
    repeated: dict[str, int] = {}
    for place, (name, apart) in enumerate(zip(columns, tell_apart(columns), strict=True)):
        before = first.setdefault(name, place)
        if before == place:
            found.append((place, apart))
            continue
        differ = whole[text_column(before)].ne_missing(whole[text_column(place)])
        if not differ.any():
            repeated[name] = repeated.get(name, 1) + 1
        elif name in named:
            raise InputError(
                f"the table has {columns.count(name)} columns called {name!r}, which differ in "
                f"{int(differ.sum()):,} rows, the first in row {int(differ.arg_max() or 0) + 1:,}; "
                "rename all but one."
            )
        else:
            found.append((place, apart))
    notes += [
        f"{times} columns are called {name} and hold the same values; one of them was used."
        for name, times in repeated.items()
    ]
    return found


def _parse_column(
    texts: pl.Series,
    name: str,
    decimal: Decimal | None,
    notes: list[str],
    is_group: bool,
    *,
    plain: bool,
) -> pl.Series:
    """Convert a column of text to numbers or truth values, if all of it is one of these."""
    bare = texts.str.strip_chars()
    lower = bare.str.to_lowercase()
    if texts.null_count() < len(texts) and lower.drop_nulls().is_in(["true", "false"]).all():
        return lower == "true"
    for kind in (pl.Int64, pl.Float64) if plain or decimal != "," else ():
        numbers = bare.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count() < len(texts):
            mixed = numbers.n_unique() < texts.n_unique() or texts.str.contains(_LEADING_ZERO).any()
            return texts if is_group and mixed else numbers
    return texts if is_group else _as_people_write(texts, name, decimal, notes)


def _as_people_write(
    texts: pl.Series, name: str, decimal: Decimal | None, notes: list[str]
) -> pl.Series:
    """Return the numbers in a column, if all texts are numbers in one way; else the texts."""
    counts = dict(texts.drop_nulls().value_counts().rows())
    if not counts or not are_numbers(counts) or decision_words(counts):
        return texts
    read = read_texts(counts, name, decimal)
    if read.note is not None:
        notes.append(f"{name} {read.note}.")
    return pl.Series([read.values.get(text) for text in texts.to_list()], dtype=pl.Float64)


def decile_edges(column: pl.Series) -> FloatArray:
    """Inner edges of the deciles, shape (9,): quantiles 0.1, ..., 0.9, linear between values."""
    edges: FloatArray = np.quantile(column.to_numpy(), np.arange(1, 10) / 10)
    return edges


def deciles(column: pl.Series) -> pl.Series:
    """Return the decile of every value, 0..9: how many inner edges lie below it.

    A value equal to an edge belongs to the decile below, so ties stay together and deciles of tied
    values are of unequal size.
    """
    places = np.searchsorted(decile_edges(column), column.to_numpy(), side="left")
    return pl.Series(f"{column.name}_decile", places.astype(np.int64))
