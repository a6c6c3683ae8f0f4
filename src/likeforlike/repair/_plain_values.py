"""Fitted parts of a repair as plain values that JSON can hold, and back.

Trees of LightGBM and scikit-learn and logistic regression become plain numbers, which predict the
same without the library they come from; so do windows along a number, labels and settings.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.repair._along_number import UnawareWindows, WindowedLevels
from likeforlike.repair._propensity import Classifier
from likeforlike.smoothing import Bandwidth, DiscreteMap, Grid, LocationScaleMap, Ranking
from likeforlike.transport import compiled


class _PlainClassifier:
    __slots__ = ()

    def fit(self, X: FloatArray, y: IntArray) -> Self:  # noqa: N803, ARG002
        """Refuse: what was read from a file cannot learn."""
        raise InputError("a classifier that was read from a file cannot be fitted again.")


@dataclass(frozen=True, slots=True)
class PlainTrees(_PlainClassifier):
    """Sums of trees, one sum a class (one alone for two classes), through a logistic function.

    Attributes
    ----------
    classes_ : (C,) integers.
    base : (B,) floats, what each sum begins with; B is 1 for two classes, or else C.
    roots, of : (T,) integers, first node of every tree, and the sum it belongs to.
    feature : (N,) integers, what a node asks about; -1 for a leaf.
    threshold : (N,) floats, not above which a row goes left; of a leaf, its value.
    left, right : (N,) integers, where to go.
    missing : (N,) integers, where rows without a value go: 0 left, 1 right, 2 as a zero does.
    """

    classes_: IntArray
    base: FloatArray
    roots: IntArray
    of: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    missing: IntArray

    def __post_init__(self) -> None:
        nodes = self.feature.size
        for part in (self.threshold, self.left, self.right, self.missing):
            _check(part.shape == (nodes,), "nodes must have parts of equal length")
        _check(self.roots.shape == self.of.shape, "every tree must belong to a sum")
        _check(_within(self.roots, nodes) and _within(self.of, self.base.size), "trees must exist")
        inner = np.flatnonzero(self.feature >= 0)
        # Children come after their parents, so that every walk ends.
        ahead = (self.left[inner] > inner) & (self.right[inner] > inner)
        _check(bool(ahead.all()), "nodes must come after their parents")
        _check(
            _within(self.left[inner], nodes) and _within(self.right[inner], nodes), "no such node"
        )
        _check(
            bool(np.isfinite(self.threshold).all() and np.isfinite(self.base).all()), "not finite"
        )
        _check_classes(self.classes_, self.base.size)

    def predict_proba(self, X: FloatArray) -> FloatArray:  # noqa: N803
        """Compute chances (n, C) of rows (n, d)."""
        _check(X.shape[1] > int(self.feature.max(initial=-1)), "inputs have too few columns")
        sums = np.tile(self.base, (len(X), 1))
        nodes = (self.feature, self.threshold, self.left, self.right, self.missing)
        _add_trees(np.ascontiguousarray(X), self.roots, self.of, *nodes, sums)
        return _chances(sums)


@dataclass(frozen=True, slots=True)
class PlainLinear(_PlainClassifier):
    """Linear functions, one a class (one alone for two classes), through a logistic function.

    Attributes
    ----------
    classes_ : (C,) integers.
    coefficients, base : (B, d) and (B,) floats; B is 1 for two classes, or else C.
    """

    classes_: IntArray
    coefficients: FloatArray
    base: FloatArray

    def __post_init__(self) -> None:
        _check(
            self.coefficients.ndim == 2 and len(self.coefficients) == self.base.size,
            "coefficients must be a row for each number of base",
        )
        finite = np.isfinite(self.coefficients).all() and np.isfinite(self.base).all()
        _check(bool(finite), "numbers must be finite")
        _check_classes(self.classes_, self.base.size)

    def predict_proba(self, X: FloatArray) -> FloatArray:  # noqa: N803
        """Compute chances (n, C) of rows (n, d)."""
        return _chances(X @ self.coefficients.T + self.base)


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InputError(f"propensity: {otherwise}.")


def _check_classes(classes: IntArray, sums: int) -> None:
    wanted = 1 if classes.size == 2 else classes.size
    _check(sums == wanted and bool((classes >= 0).all()), f"{wanted} sum(s) are needed")


def _within(places: IntArray, size: int) -> bool:
    return bool(((places >= 0) & (places < size)).all())


def _chances(sums: FloatArray) -> FloatArray:
    if sums.shape[1] == 1:
        member = 0.5 * (1.0 + np.tanh(0.5 * sums[:, 0]))
        return np.column_stack([1.0 - member, member])
    odds = np.exp(sums - sums.max(axis=1, keepdims=True))
    chances: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return chances


@compiled
def _add_trees(
    rows: FloatArray,
    roots: IntArray,
    of: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    missing: IntArray,
    sums: FloatArray,
) -> None:
    for i in range(rows.shape[0]):
        for tree in range(roots.size):
            node = roots[tree]
            while feature[node] >= 0:
                value = rows[i, feature[node]]
                goes_left = value <= threshold[node]
                if value != value:  # noqa: PLR0124
                    goes_left = missing[node] == 0 or (
                        missing[node] == 2 and threshold[node] >= 0.0
                    )
                node = left[node] if goes_left else right[node]
            sums[i, of[tree]] += threshold[node]


def plain_classifier(model: Classifier) -> PlainTrees | PlainLinear:
    """Return a fitted classifier as plain numbers.

    It predicts what the classifier does, to rounding. Only LightGBM's, scikit-learn's
    HistGradientBoostingClassifier and LogisticRegression can be written so.
    """
    if isinstance(model, PlainTrees | PlainLinear):
        return model
    name = type(model).__name__
    if name == "LGBMClassifier":
        return _convert_lightgbm(model)
    if name == "HistGradientBoostingClassifier":
        return _convert_histogram(model)
    if name == "LogisticRegression":
        linear: Any = model
        return PlainLinear(
            np.asarray(linear.classes_, np.int64),
            np.asarray(linear.coef_, np.float64),
            np.asarray(linear.intercept_, np.float64),
        )
    raise InputError(
        f"{name} cannot be written as plain numbers; LGBMClassifier, "
        "HistGradientBoostingClassifier and LogisticRegression can. Or keep the classifier "
        "yourself, and fit with propensity='given'."
    )


def _convert_lightgbm(fitted: Classifier) -> PlainTrees:
    model: Any = fitted
    document = model.booster_.dump_model()
    sums = int(document["num_tree_per_iteration"])
    nodes: list[tuple[int, float, int, int, int]] = []
    roots = []
    for tree in document["tree_info"]:
        roots.append(len(nodes))
        _add_node(tree["tree_structure"], nodes)
    of = np.arange(len(roots)) % sums
    return _make_trees(np.asarray(model.classes_, np.int64), np.zeros(sums), roots, of, nodes)


def _add_node(node: dict[str, Any], nodes: list[tuple[int, float, int, int, int]]) -> int:
    """Append a node of LightGBM's document with all below it; where it is."""
    at = len(nodes)
    if "split_feature" not in node:
        nodes.append((-1, float(node["leaf_value"]), 0, 0, 0))
        return at
    if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
        raise InputError("trees with categories, or with zeros for missing, cannot be written.")
    nodes.append((0, 0.0, 0, 0, 0))
    left = _add_node(node["left_child"], nodes)
    right = _add_node(node["right_child"], nodes)
    way = 2 if node["missing_type"] == "None" else int(not node["default_left"])
    nodes[at] = (int(node["split_feature"]), float(node["threshold"]), left, right, way)
    return at


def _convert_histogram(fitted: Classifier) -> PlainTrees:
    model: Any = fitted
    nodes: list[tuple[int, float, int, int, int]] = []
    roots, of = [], []
    for iteration in model._predictors:
        for sum_, tree in enumerate(iteration):
            first = len(nodes)
            roots.append(first)
            of.append(sum_)
            for node in tree.nodes:
                if node["is_categorical"]:
                    raise InputError("trees with categories cannot be written.")
                if node["is_leaf"]:
                    nodes.append((-1, float(node["value"]), 0, 0, 0))
                    continue
                # An infinite threshold splits off missing values.
                bar = float(np.clip(node["num_threshold"], -1e300, 1e300))
                left, right = first + int(node["left"]), first + int(node["right"])
                way = int(not node["missing_go_to_left"])
                nodes.append((int(node["feature_idx"]), bar, left, right, way))
    base = np.asarray(model._baseline_prediction, np.float64).ravel()
    classes = np.asarray(model.classes_, np.int64)
    return _make_trees(classes, base, roots, np.array(of, np.int64), nodes)


def _make_trees(
    classes: IntArray,
    base: FloatArray,
    roots: list[int],
    of: IntArray,
    nodes: list[tuple[int, float, int, int, int]],
) -> PlainTrees:
    feature, threshold, left, right, missing = zip(*nodes, strict=True)
    whole = [np.array(part, np.int64) for part in (feature, left, right, missing)]
    return PlainTrees(
        classes, base, np.array(roots, np.int64), of, whole[0], np.array(threshold), *whole[1:]
    )


def to_document(model: PlainTrees | PlainLinear) -> dict[str, Any]:
    """Return a plain classifier as lists."""
    parts = {name: part.tolist() for name, part in asdict(model).items()}
    return {"kind": "trees" if isinstance(model, PlainTrees) else "linear", **parts}


def from_document(document: dict[str, Any]) -> PlainTrees | PlainLinear:
    """Return what `to_document` was made of."""
    kinds: dict[str, type[PlainTrees | PlainLinear]] = {"trees": PlainTrees, "linear": PlainLinear}
    if document.get("kind") not in kinds:
        raise InputError(f"propensity must be of one of the kinds {[*kinds]}.")
    made = kinds[document["kind"]]
    floats = {"base", "threshold", "coefficients"}
    arrays = {
        field.name: read_numbers(document[field.name], field.name, whole=field.name not in floats)
        for field in fields(made)
    }
    return made(**arrays)


def read_numbers(part: object, name: str, *, whole: bool = False) -> npt.NDArray[Any]:
    """Return numbers of a document as an array; text, truth values and ragged lists are none."""
    try:
        array = np.array(part if isinstance(part, list) else None)
    except ValueError as error:
        raise InputError(f"{name} must hold numbers in lists of equal length.") from error
    if array.size == 0:
        return array.astype(np.int64 if whole else np.float64)
    if array.dtype.kind not in ("iu" if whole else "fiu"):
        raise InputError(f"{name} must hold {'whole ' if whole else ''}numbers in lists.")
    return array.astype(np.int64 if whole else np.float64)


_CURVE = ("mean", "scale", "nodes", "cdf")
_FLOATS = ("numbers", "ranks", "center", "window_center", "shift", "chances", "factors")
_WHOLE = ("offsets", "cell_offsets", "window", "window_segment")


def numbers_to_document(along: UnawareWindows) -> dict[str, Any]:
    """Return what is needed to place and carry new rows; `categories` are labels."""
    inner = along.along
    cells, ranking, model = inner.cells, inner.cells.ranking, inner.model
    arrays = {
        "numbers": ranking.numbers,
        "ranks": ranking.ranks,
        "offsets": ranking.offsets,
        "center": cells.center,
        "cell_offsets": cells.offsets,
        "window": inner.window,
        "window_segment": inner.segment,
        "window_center": inner.center,
        "shift": inner.mean_gaps,
        "chances": along.chances,
        "factors": along.factors,
    }
    document: dict[str, Any] = {name: array.tolist() for name, array in arrays.items()}
    document["categories"] = [label_to_json(one) for one in inner.categories]
    document["curve"] = None
    if isinstance(model, LocationScaleMap):
        document["curve"] = {name: getattr(model, name).tolist() for name in _CURVE}
    return document


def numbers_from_document(document: dict[str, Any], labels: tuple[Hashable, ...]) -> UnawareWindows:
    """Make the same again, for rows with labels as they were."""
    categories = tuple(map(label_from_json, parse_list(document["categories"], "categories")))
    floats = {name: read_numbers(document[name], name) for name in _FLOATS}
    whole = {name: read_numbers(document[name], name, whole=True) for name in _WHOLE}
    _check_windows(floats, whole, categories, labels)
    ends = whole["offsets"]
    ranking = Ranking(
        floats["numbers"],
        floats["ranks"],
        ends,
        floats["numbers"][ends[:-1]],
        floats["numbers"][ends[1:] - 1],
    )
    center, empty, nowhere = floats["center"], np.zeros(0), np.zeros(0, np.int64)
    # Cells that no row lies in yet.
    cells = Grid(
        ranking=ranking,
        segment=nowhere,
        position=empty,
        cell=nowhere,
        mass=empty,
        rows=empty,
        cluster=None,
        center=center,
        raw=center,
        total=np.ones(center.size),
        effective=np.ones(center.size),
        offsets=whole["cell_offsets"],
    )
    along = WindowedLevels(
        cells,
        categories,
        whole["window"],
        whole["window_segment"],
        floats["window_center"],
        labels,
        _model(cells, document["curve"]),
        np.zeros(floats["factors"].shape),
        floats["shift"],
    )
    return UnawareWindows(along, floats["chances"], floats["factors"])


def _model(cells: Grid, curve: dict[str, Any] | None) -> LocationScaleMap | DiscreteMap:
    choice = Bandwidth(np.zeros(0, np.int64), np.zeros(0))
    if curve is None:
        return DiscreteMap(cells, np.zeros(0), np.zeros((cells.center.size, 0)), choice)
    mean, scale, nodes, cdf = (read_numbers(curve[name], name) for name in _CURVE)
    m = cells.center.size
    if not (mean.shape == scale.shape == (m,) and cdf.shape == (m, nodes.size) and nodes.size):
        raise InputError("the curve does not fit its cells")
    if not (all(np.isfinite(one).all() for one in (mean, nodes, cdf)) and (scale > 0.0).all()):
        raise InputError("the curve must be of finite numbers, and its scale above 0")
    return LocationScaleMap(cells, mean, scale, nodes, cdf, choice)


def _check_windows(
    floats: dict[str, FloatArray],
    whole: dict[str, IntArray],
    categories: tuple[Hashable, ...],
    labels: tuple[Hashable, ...],
) -> None:
    """Raise unless all of it fits together."""
    m, n_windows, n_segments = floats["center"].size, len(labels), len(categories)
    right = (
        whole["offsets"].shape == whole["cell_offsets"].shape == (n_segments + 1,)
        and floats["numbers"].shape == floats["ranks"].shape == (whole["offsets"][-1],)
        and whole["cell_offsets"][-1] == m
        and all((np.diff(whole[name]) > 0).all() for name in ("offsets", "cell_offsets"))
        and whole["offsets"][0] == whole["cell_offsets"][0] == 0
        and whole["window"].shape == (m,)
        and _within(whole["window"], n_windows)
        and whole["window_segment"].shape == floats["window_center"].shape == (n_windows,)
        and _within(whole["window_segment"], n_segments)
        and floats["shift"].shape == (n_windows,)
        and len(floats["chances"]) == m
        and len(floats["factors"]) == n_windows
        and floats["chances"].shape[1:] == floats["factors"].shape[1:]
    )
    if not right or not all(np.isfinite(one).all() for one in floats.values()):
        raise InputError("numbers, cells and windows do not fit together")


def plain_setting(setting: object) -> object:
    """Turn a setting into a value that JSON can hold."""
    if isinstance(setting, tuple):
        return [plain_setting(one) for one in setting]
    plain: object = setting.item() if isinstance(setting, np.generic) else setting
    return plain


def label_to_json(label: Hashable) -> object:
    """Turn a label into JSON; combinations of columns become lists."""
    if isinstance(label, tuple):
        return [label_to_json(one) for one in label]
    if not isinstance(label, str | int | float | bool):
        raise InputError(
            f"the label {label!r} is a {type(label).__name__}, which JSON cannot hold; use text or "
            "numbers for groups and levels."
        )
    return label


def finite_values(part: object) -> object:
    """Turn numbers that are not finite into `None`."""
    if isinstance(part, dict):
        return {str(name): finite_values(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [finite_values(value) for value in part]
    if isinstance(part, float) and not math.isfinite(part):
        return None
    return plain_setting(part)


def label_from_json(label: object) -> Hashable:
    """Read a label; lists become combinations of columns."""
    if isinstance(label, list):
        return tuple(label_from_json(one) for one in label)
    if not isinstance(label, str | int | float | bool):
        raise InputError(f"labels must be text or numbers, not {label!r}")
    return label


def parse_list(part: object, name: str) -> list[Any]:
    """Return a part of a document that must be a list."""
    if not isinstance(part, list):
        raise InputError(f"{name} must be a list")
    return part
