"""What estimators of all kinds ask of their settings, groups, levels and weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import ne
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.disparity._columns import (
    Column,
    encode_columns,
    encode_known,
    refuse_many_groups,
    refuse_masked,
    same_length,
    weights,
)
from likeforlike.errors import InputError, MissingGroupsWarning
from likeforlike.penalties import Layout, SoftGroups


def layout_of(
    size: int, sensitive: Column | None, legitimate: Column | None, *, needed: bool
) -> Layout | None:
    """Layout of the rows; `None`, with a warning if groups are needed, where nobody told them."""
    if sensitive is None:
        if legitimate is not None:
            raise InputError("legitimate_features are of no use without sensitive_features.")
        if needed:
            warnings.warn(
                "fit was called without sensitive_features, so the model is trained "
                "as if there were no groups.",
                MissingGroupsWarning,
                stacklevel=5,
            )
        return None
    level = None
    if legitimate is not None:
        level = encode_columns(legitimate, "legitimate_features", size)
    if isinstance(sensitive, SoftGroups):
        same_length(size, len(sensitive), "sensitive_features")
        return Layout.of_codes(sensitive, level)
    group, known = encode_known(sensitive, "sensitive_features", size)
    refuse_many_groups(group.labels, "sensitive_features")
    layout = Layout.of_codes(group, level)
    if known.all():
        return layout
    missing = size - int(known.sum())
    warnings.warn(
        f"sensitive_features is missing in {missing:,} of {size:,} rows ({missing / size:.1%}); "
        "they train the model, but are not compared.",
        MissingGroupsWarning,
        stacklevel=5,
    )
    # Rows without weight move neither the value of a penalty nor its gradient.
    return layout.weighted(known.astype(np.float64))


def check_count(name: str, value: object) -> None:
    """Raise unless a setting is an integer of 1 or more."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be an integer of 1 or more, not {value!r}.")


def check_sizes(name: str, sizes: object) -> None:
    """Raise unless a setting lists integers of 1 or more, which may be none."""
    # An array may have no dimension, and then lists nothing.
    alone = isinstance(sizes, str | bytes) or (isinstance(sizes, np.ndarray) and sizes.ndim != 1)
    if alone or not isinstance(sizes, Sequence | np.ndarray):
        raise InputError(f"{name} must list the sizes of layers, as (50, 20), not {sizes!r}.")
    for place, size in enumerate(sizes):
        check_count(f"{name}[{place}]", size)


def refuse_unknown(column: object, name: str) -> None:
    """Refuse values that compare as unknown, as pandas has them; scikit-learn knows the others."""
    listed = isinstance(column, list | tuple)
    if not listed and getattr(column, "dtype", None) != np.dtype(object):
        return
    for row, value in enumerate(cast("Iterable[object]", column)):
        try:
            bool(ne(value, value))
        except TypeError as error:
            raise InputError(f"{name} has no value in row {row}; leave that row out.") from error
        except ValueError:  # a list in the place of a value, which scikit-learn refuses
            return


@contextmanager
def all_or_nothing(estimator: object, check_settings: Callable[[], None]) -> Iterator[None]:
    """Check the settings; a fit that fails or is interrupted leaves the estimator as it was."""
    before = dict(vars(estimator))
    check_settings()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def classes_of(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], IntArray]:
    """The classes of targets (n,), two at least, and which of them each row has."""
    with extra("train"):
        from sklearn.utils.multiclass import check_classification_targets
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size == 1:
        raise InputError(f"y has one class only, {classes[0]!r}; a classifier needs two.")
    return classes, codes.astype(np.int64)


def class_factors(class_weight: object, y: Column) -> FloatArray | None:
    """What the loss of each row (n,) is multiplied by, by its class; `None` for no difference."""
    if class_weight is None:
        return None
    with extra("train"):
        from sklearn.utils.class_weight import compute_sample_weight
    try:
        return np.asarray(compute_sample_weight(class_weight, y), np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"class_weight: {error}") from error


def held_rows(validation: Column | None, size: int) -> BoolArray | None:
    """Which rows (n,) are held back to stop training, or `None` where nobody said."""
    if validation is None:
        return None
    marked = np.asarray(validation)
    same_length(size, len(marked), "validation")
    if marked.dtype.kind not in "biu" or not np.isin(marked, (0, 1)).all():
        raise InputError(
            "validation must be true for rows to hold back and false for all others, not "
            f"{marked.dtype} values."
        )
    held: BoolArray = marked.astype(bool)
    if held.all() or not held.any():
        raise InputError("validation must hold back some rows, and leave some to train on.")
    return held


def weights_of(sample_weight: Column | None, size: int) -> FloatArray | None:
    """Weights (n,) of the rows, or `None` where all of them count one."""
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    return weights(np.asarray(sample_weight), "sample_weight", size)


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """A seed drawn by a `random_state` as scikit-learn takes them."""
    with extra("train"):
        from sklearn.utils import check_random_state
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise InputError(f"random_state: {error}") from error
