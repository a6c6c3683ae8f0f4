"""The layering, the public surface and the cost of importing."""

import ast
import importlib
import pickle
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import likeforlike
from likeforlike._lazy import extra
from tools.layers import FOUNDATION, LAYERS

PACKAGE = Path(likeforlike.__file__).parent

HEIGHT = {package: height for height, layer in enumerate(LAYERS) for package in layer}
BASE = set(FOUNDATION)


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts)


def package_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def imported_modules(path: Path) -> set[str]:
    """Modules of the package that a file imports, wherever in the file it does so."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("likeforlike"):
            if node.level:  # the public names of a package
                continue
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                imported.add(inner if is_module(inner) else behind_door(module, alias.name))
        elif isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
    prefix = "likeforlike."
    return {name.removeprefix(prefix) for name in imported if name.startswith(prefix)}


@cache
def behind_door(module: str, name: str) -> str:
    """The module that a name comes from which is imported from its package."""
    homes = getattr(importlib.import_module(module), "_homes", {})
    home: str = homes.get(name, module)
    return home if home == module else behind_door(home, name)


@cache
def is_module(name: str) -> bool:
    path = PACKAGE.parent / Path(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def modules() -> list[Path]:
    """All but the package itself, which offers what lies below it."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def too_high(module: str, imported: set[str]) -> set[str]:
    """What a module imports from its own layer or above; its own package may be imported."""
    package = package_of(module)
    beside = BASE if package in BASE else {package}
    return {
        name
        for name in imported
        if package_of(name) not in beside and HEIGHT[package_of(name)] >= HEIGHT[package]
    }


def test_every_package_has_its_layer() -> None:
    assert {package_of(module_name(path)) for path in modules()} | {"__init__"} == set(HEIGHT)


def test_layers_are_disjoint() -> None:
    assert len(HEIGHT) == sum(map(len, LAYERS))


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_imports_flow_one_way(path: Path) -> None:
    assert not too_high(module_name(path), imported_modules(path))


@cache
def other_packages_modules(path: Path) -> set[str]:
    """Private modules of other packages that a file imports from, past their door."""
    home = package_of(module_name(path))
    asked = {
        node.module
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
    return {
        module
        for module in asked
        if re.match(r"likeforlike\.\w+\._", module) and module.split(".")[1] != home
    }


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_other_packages_are_imported_through_their_door(path: Path) -> None:
    assert not other_packages_modules(path)


def test_no_module_imports_itself_by_a_detour() -> None:
    """Within a package too: each module can be read before those that import it."""
    graph = {
        module_name(path): imported_modules(path)
        for path in modules()
        if path.name != "__init__.py"
    }
    sorter = TopologicalSorter({name: parts & set(graph) for name, parts in graph.items()})
    sorter.prepare()


def test_the_layering_test_sees_a_violation(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def late() -> None:\n    from likeforlike.disparity import dd\n    dd\n")
    assert imported_modules(bad) == {"disparity._lp"}
    assert too_high("transport._line", imported_modules(bad)) == {"disparity._lp"}
    assert too_high("inference._random", {"penalties"}) == {"penalties"}
    assert not too_high("disparity._cells", imported_modules(bad))


def test_numba_has_one_home() -> None:
    asks = re.compile(r"import numba|from numba|import_module\(\"numba")
    users = {module_name(path) for path in PACKAGE.rglob("*.py") if asks.search(path.read_text())}
    assert users == {"transport._numba"}


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.process
def test_public_names_need_neither_torch_nor_scikit_learn() -> None:
    code = """
from importlib.machinery import PathFinder
real = PathFinder.find_spec
def hidden(name, path=None, target=None):
    return None if name.partition(".")[0] in {"torch", "sklearn"} else real(name, path, target)
PathFinder.find_spec = hidden
try:
    import torch
    raise SystemExit("torch should have been hidden")
except ModuleNotFoundError:
    pass
import likeforlike
lacking = {name for name in likeforlike.__all__ if not hasattr(likeforlike, name)}
kinds = {"LGBM": "boost", "XGB": "boost", "CatBoost": "catboost"}
trees = {f"Fair{kind}{task}": kinds[kind] for kind in kinds for task in ("Classifier", "Regressor")}
repairs = {"FairDecisions", "RepairedClassifier", "RepairedRegressor", "UnawareRepair"}
assert lacking == {"FairClassifier", "FairRegressor"} | repairs | set(trees), lacking
for name in lacking:
    try:
        exec(f"from likeforlike import {name}")
        raise SystemExit(f"{name} needs scikit-learn")
    except likeforlike.errors.MissingDependencyError as error:
        extra = trees.get(name, "train")
        assert f"pip install 'likeforlike[{extra}]'" in str(error), error
assert float(likeforlike.cdd_lp([0, 1], ["f", "m"])) == 1.0
assert likeforlike.cdd_wass([0, 1], ["f", "m"]).value == 1.0
from likeforlike.datasets import load_loans
found = likeforlike.audit(
    load_loans().frame, score="approved", sensitive="sex", legitimate="income", permutations=9
)
assert "<html" in found.to_html()
"""
    run(code)


@pytest.mark.process
def test_trees_need_no_torch() -> None:
    code = """
import sys
import likeforlike
rows, classes, groups = [[0.0], [1.0], [2.0], [3.0]] * 30, [0, 0, 1, 1] * 30, ["f", "m"] * 60
for kind in ("FairLGBMClassifier", "FairXGBClassifier", "FairCatBoostClassifier"):
    model = getattr(likeforlike, kind)(n_estimators=9, learning_rate=1.0)
    model.fit(rows, classes, sensitive_features=groups)
assert "torch" not in sys.modules
"""
    run(code)


@pytest.mark.process
def test_importing_loads_nothing_heavy_and_compiles_nothing() -> None:
    code = """
import sys
import likeforlike, likeforlike.auditing._audit, likeforlike.transport._entropic
heavy = {"torch", "sklearn", "ot", "numba", "scipy", "pandas", "pyarrow", "pyspark"}
heavy |= {"duckdb", "jinja2", "starlette", "uvicorn"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    run(code)


@pytest.mark.process
def test_help_waits_for_no_array_library() -> None:
    code = """
import sys
from likeforlike.cli import app
try:
    app(["--help"])
except SystemExit as done:
    assert done.code == 0
heavy = {"numpy", "polars", "narwhals", "numba", "jinja2", "starlette", "uvicorn"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    assert "audit" in run(code)


@pytest.mark.process
def test_an_audit_loads_no_scientific_stack() -> None:
    code = """
import sys
import likeforlike
from likeforlike.datasets import make_loans
found = likeforlike.audit(
    make_loans(400).frame, score="score", sensitive="sex", legitimate="income", permutations=9
)
found.to_html()
assert found.nested is not None
heavy = {"torch", "sklearn", "ot", "scipy.stats", "pandas", "pyarrow"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    run(code)


@pytest.mark.process
def test_our_own_part_of_the_import_is_small() -> None:
    """What likeforlike adds on top of the libraries it stands on, the best of three."""
    code = """
import narwhals, numpy, polars, time
begin = time.process_time()
import likeforlike.auditing._audit
print(time.process_time() - begin)
"""
    assert min(float(run(code)) for _ in range(3)) < 0.5


PACKAGES = sorted(
    ".".join(("likeforlike", *path.parent.relative_to(PACKAGE).parts))
    for path in PACKAGE.rglob("__init__.py")
    if "attach(__name__)" in path.read_text()
)


PRIVATE = {
    f"likeforlike.{name}" for name in ("app", "files", "payroll", "sensitivity", "smoothing")
}
# Modules without a package of their own.
MODULES = ["likeforlike.integrations", "likeforlike.teams.soft_groups", "likeforlike.testing"]


def imports_for_type_checkers(package: ModuleType) -> set[str]:
    """Names that type checkers see imported in a package."""
    tree = ast.parse(Path(package.__file__ or "").read_text())
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in blocks[0].body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_are_the_same_to_users_and_to_type_checkers(name: str) -> None:
    package = importlib.import_module(name)
    offered = set() if name in PRIVATE else imports_for_type_checkers(package)
    assert set(dir(package)) - {"__version__"} == offered
    for public in offered:
        assert getattr(package, public) is not None
    with pytest.raises(AttributeError, match="has no attribute 'fairness'"):
        package.fairness  # noqa: B018


def test_every_package_on_disk_is_reachable_from_the_root() -> None:
    on_disk = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    on_disk |= {path.stem for path in PACKAGE.glob("[!_]*.py")}
    private = {"app", "cli", "files", "payroll", "sensitivity", "smoothing"}
    assert {name for name in dir(likeforlike) if name in on_disk} == on_disk - private
    assert on_disk <= {package_of(module_name(path)) for path in modules()}


def test_public_names_are_few() -> None:
    """A name is counted once, however many packages offer it."""
    offered = {
        (getattr(value, "__module__", package), getattr(value, "__qualname__", name))
        for package in PACKAGES + MODULES
        for name in importlib.import_module(package).__all__
        if (value := getattr(importlib.import_module(package), name)) is not None
    }
    assert len(offered) <= 130


@pytest.mark.process
def test_public_packages_are_there_after_one_import() -> None:
    code = """
import sys
import likeforlike as lfl
packages = [name for name, home in lfl._homes.items() if home == "likeforlike"]
loaded = {name for name in packages if f"likeforlike.{name}" in sys.modules}
assert loaded <= {"errors"}, loaded
for name in packages:
    assert getattr(lfl, name) is sys.modules[f"likeforlike.{name}"]
print(lfl.datasets.load_loans().frame.height, lfl.repair.ConditionalBarycenter.__name__)
"""
    assert run(code).endswith("ConditionalBarycenter\n")


@pytest.mark.process
def test_experiments_are_imported_without_what_trains_them() -> None:
    code = """
import sys
import likeforlike.experiments.rivals, likeforlike.training, likeforlike.paper
from likeforlike.paper._dcfr_illustration import dcfr_illustration
from likeforlike.experiments import Frontier
heavy = {"torch", "sklearn", "numba", "scipy"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    run(code)


# What only an extra brings.
OPTIONAL = {"catboost", "duckdb", "lightgbm", "matplotlib", "pandas", "pyarrow", "pyspark"}
OPTIONAL |= {"sklearn", "torch", "uvicorn", "xgboost"}


def unguarded(path: Path) -> set[str]:
    """Optional libraries that a file imports other than in `with extra(...)` or for their types."""
    tree = ast.parse(path.read_text())
    guarded = {
        inner
        for node in ast.walk(tree)
        if (isinstance(node, ast.With) and "extra(" in ast.unparse(node.items[0]))
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    asked = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if node not in guarded
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    return asked & OPTIONAL


def test_optional_libraries_are_asked_for_in_one_way() -> None:
    assert not {module_name(path): found for path in modules() if (found := unguarded(path))}


def test_the_test_of_optional_libraries_sees_one(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("with extra('train'):\n    import torch\ndef f():\n    import sklearn.metrics\n")
    assert unguarded(bad) == {"sklearn"}


@pytest.mark.parametrize(
    "kind", [ImportError, likeforlike.errors.InputError, likeforlike.errors.MissingDependencyError]
)
def test_a_missing_extra_is_an_import_error_and_bad_input(kind: type[Exception]) -> None:
    message = r"nowhere is not installed; pip install 'likeforlike\[spark\]' brings it"
    with pytest.raises(kind, match=message) as caught, extra("spark"):
        importlib.import_module("nowhere.sql")
    assert getattr(caught.value, "name", None) == "nowhere"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.process
def test_nothing_imports_the_room_of_two_teams_unless_it_is_used() -> None:
    """But for the command line, which imports it inside its commands, no room knows of it."""
    users = {
        module_name(path)
        for path in modules()
        if any(package_of(name) == "teams" for name in imported_modules(path))
        and package_of(module_name(path)) not in {"teams", "cli"}
    }
    assert not users
    code = """
import sys
import likeforlike
from likeforlike.cli import app
from likeforlike.datasets import make_loans
likeforlike.audit(make_loans(200).frame, score="score", sensitive="sex", permutations=9)
likeforlike.FairLeap().value_and_grad([0.1, 0.2], ["f", "m"])
assert not [name for name in sys.modules if name.startswith("likeforlike.teams")]
"""
    run(code)
