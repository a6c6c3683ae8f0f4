"""The layering, the public surface and the cost of importing."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import likeforlike

PACKAGE = Path(likeforlike.__file__).parent

# Each room imports only from rooms above it. A package is one room for those outside it, and its
# own modules are listed in their order.
ROOMS = [
    "errors",
    "transport.compiled",
    "transport.threads",
    "transport.sorting",
    "transport.atoms",
    "transport.pairs",
    "transport.quantiles",
    "transport.outer",
    "transport.rows",
    "transport.line",
    "transport.level_cost",
    "transport.nested",
    "transport.entropic",
    "columns",
    "cells",
    "contrasts",
    "distances",
    "measures",
    "disparity",
    "nested_disparity",
    "penalties.layout",
    "penalties.penalty",
    "penalties.group_mass",
    "penalties.fairleap",
    "penalties.wasserstein",
    "penalties.fairbit",
    "penalties.field",
    "penalties",
    "boosting.losses",
    "boosting.penalised",
    "boosting.objective",
    "boosting.lightgbm",
    "boosting.xgboost",
    "boosting",
    "inference.draws",
    "inference.multiplicity",
    "inference.pooling",
    "inference.replicates",
    "inference.spread",
    "inference.permutation",
    "inference.halves",
    "inference.estimation",
    "inference.certificates",
    "inference",
    "files",
    "saved_model",
    "level_maps",
    "postprocess",
    "progress",
    "nn.threads",
    "nn.batches",
    "nn.stacked",
    "nn.objectives",
    "nn.data",
    "nn.keeper",
    "nn.slopes",
    "nn.training",
    "nn.path",
    "nn.fit",
    "nn.loss",
    "nn",
    "network_estimator",
    "estimators",
    "scoring",
    "tables",
    "provenance",
    "examination",
    "findings",
    "report.format",
    "report.scale",
    "report.svg",
    "report.figures",
    "report.gaps",
    "report.comparison",
    "report.distributions",
    "report.coverage",
    "report.split",
    "report.tables",
    "report.labels",
    "report.outcome",
    "report.markers",
    "report.frontiers",
    "report.tradeoff",
    "report.beside",
    "report.training",
    "report.page",
    "report",
    "auditing",
    "datasets.inputs",
    "datasets.dataset",
    "datasets.deciles",
    "datasets.source",
    "datasets.bundle",
    "datasets.download",
    "datasets.storage",
    "datasets.loans",
    "datasets.own",
    "datasets.adult",
    "datasets.drug",
    "datasets.law_school",
    "datasets.communities",
    "datasets.availability",
    "datasets",
    "baselines.selection",
    "baselines.medians",
    "baselines.repair",
    "baselines.legitimate_only",
    "baselines.illustration",
    "baselines.adversary",
    "baselines.contest",
    "baselines.projection",
    "baselines.estimator",
    "baselines.dcfr",
    "baselines.adversarial",
    "baselines",
    "experiments.journal",
    "experiments.frontier",
    "experiments.measuring",
    "experiments.split",
    "experiments.task",
    "experiments.barycentre",
    "experiments.tradeoff",
    "experiments.methods",
    "experiments.repairing",
    "experiments.saving",
    "experiments.named",
    "experiments.pool",
    "experiments.sweep",
    "experiments.paper",
    "experiments.reproduction",
    "experiments.figures",
    "experiments",
    "claims.published",
    "claims.comparison",
    "claims.resampled",
    "claims.hypervolumes",
    "claims.evidence",
    "claims.appendix",
    "claims.results",
    "claims.page",
    "claims.publishing",
    "claims",
    "demonstration",
    "terminal",
    "cli.shared",
    "cli.audit",
    "cli.experiments",
    "cli.demo",
    "cli",
    "cli.__main__",
    "__main__",
]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported_rooms(path: Path) -> set[str]:
    """Modules of the package that a file imports, wherever in the file it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relative to itself"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                found.add(inner if is_module(inner) else module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    prefix = "likeforlike."
    found = {name.removeprefix(prefix) for name in found if name.startswith(prefix)}
    # Inside a package its own name stands for the module that is imported from it.
    return {name for name in found if not path.is_relative_to(PACKAGE / name.replace(".", "/"))}


def is_module(name: str) -> bool:
    path = PACKAGE.parent / Path(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def modules() -> list[Path]:
    inits_without_code = {PACKAGE / "__init__.py", PACKAGE / "transport" / "__init__.py"}
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path not in inits_without_code]


def test_every_module_has_its_place() -> None:
    assert sorted(module_name(path) for path in modules()) == sorted(ROOMS)


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_imports_flow_one_way(path: Path) -> None:
    above = ROOMS[: ROOMS.index(module_name(path))]
    assert imported_rooms(path) <= set(above)


def test_the_layering_test_sees_a_violation(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def late() -> None:\n    from likeforlike.disparity import dd\n    dd\n")
    assert imported_rooms(bad) == {"disparity"}


def test_numba_has_one_home() -> None:
    asks = re.compile(r"import numba|from numba|import_module\(\"numba")
    users = {module_name(path) for path in PACKAGE.rglob("*.py") if asks.search(path.read_text())}
    assert users == {"transport.compiled"}


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
for name in likeforlike.__all__:
    try:
        getattr(likeforlike, name)
    except likeforlike.InputError as error:
        assert name in {"FairClassifier", "FairRegressor"}, name
        assert "pip install 'likeforlike[train]'" in str(error)
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
def test_importing_loads_nothing_heavy_and_compiles_nothing() -> None:
    code = """
import sys
import likeforlike, likeforlike.auditing, likeforlike.transport.entropic
heavy = {"torch", "sklearn", "ot", "numba", "scipy", "pandas", "pyarrow", "pyspark"}
heavy |= {"duckdb", "jinja2"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    run(code)


def test_help_waits_for_no_array_library() -> None:
    code = """
import sys
from likeforlike.cli import app
try:
    app(["--help"])
except SystemExit as done:
    assert done.code == 0
heavy = {"numpy", "polars", "narwhals", "numba", "jinja2"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    assert "audit" in run(code)


def test_an_audit_loads_neither_pot_nor_what_it_brings() -> None:
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
import likeforlike.auditing
print(time.process_time() - begin)
"""
    assert min(float(run(code)) for _ in range(3)) < 0.5


def told_to_type_checkers() -> dict[str, str]:
    """Public names and their homes, as the block for type checkers imports them."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (node.module or "").removeprefix("likeforlike.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_public_names_are_the_same_to_users_and_to_type_checkers() -> None:
    assert told_to_type_checkers() == likeforlike._HOMES
    assert sorted([*likeforlike._HOMES, "__version__"]) == likeforlike.__all__
    assert set(likeforlike.__all__) <= set(dir(likeforlike))


def test_every_public_name_is_found_and_no_other() -> None:
    for name, home in likeforlike._HOMES.items():
        there = importlib.import_module(f"likeforlike.{home}")
        assert getattr(likeforlike, name) is getattr(there, name)
    with pytest.raises(AttributeError, match="has no attribute 'fairness'"):
        likeforlike.fairness  # noqa: B018
