"""The document: its schema, its types, and that it and its contrasts are made once."""

from __future__ import annotations

import ast
import inspect
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from typer.main import get_command

import likeforlike as lfl
from likeforlike.auditing import _audit_table, _comparisons, _contrast_audit
from likeforlike.cli import app
from likeforlike.cli._options import OPTIONS, Declared, options_of
from likeforlike.datasets import load_loans
from likeforlike.disparity import Cells, Contrast
from likeforlike.document import Count, Settings, audit_schema, plain
from likeforlike.document._plain import restore
from likeforlike.document._request import _option
from likeforlike.teams import release_schema, request_schema
from tests.support.command import call
from tests.support.schema import Document, check
from tools.schema import AUDIT, RELEASE, REQUEST, Published, _of, schema_text

PACKAGE = Path(lfl.__file__).parent
SCHEMA: dict[str, Any] = json.loads(audit_schema())
ROLES: dict[str, Any] = {"score": "approved", "sensitive": "sex", "legitimate": "income"}


def made() -> Document:
    return lfl.audit(load_loans(1000).frame, **ROLES, permutations=19).to_dict()


# -- The schema -----------------------------------------------------------------------------------


PRINTED = {AUDIT: audit_schema, REQUEST: request_schema, RELEASE: release_schema}
published = pytest.mark.parametrize("published", PRINTED, ids=["audit", "request", "release"])


@published
def test_the_schema_in_the_package_is_what_the_types_make(published: Published) -> None:
    made = schema_text(published)
    assert published.target.read_text("utf-8") == made, "run python -m tools.schema"
    assert PRINTED[published]() == made


@published
def test_the_schema_is_one_and_says_where_it_lives(published: Published) -> None:
    schema = json.loads(schema_text(published))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(f"/{published.target.name}")


@published
def test_every_part_is_closed_whole_and_described(published: Published) -> None:
    for part in json.loads(schema_text(published))["$defs"].values():
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
        for told in (part, *part["properties"].values()):
            assert told["description"].endswith(".")
            assert told["description"][0].isupper()


def objects(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the named entries of a document are, one example of each kind."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from objects(inner, (*path, key))
    elif isinstance(value, list) and value:
        yield from objects(value[0], (*path, 0))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


# Entries named by the data: columns, groups, levels, libraries. Any of them may be missing.
FREE = {"missing", "edges", "rows", "coverage", "thin_share", "excluded", "shares", "versions"}
FREE |= {"components", "mean", "median"}


def test_an_entry_that_is_missing_is_seen_wherever_it_is() -> None:
    whole = made()
    named = [path for path in objects(whole) if not FREE & set(path[:-1])]
    assert len(named) > 60
    for path in named:
        document = json.loads(json.dumps(whole))
        del at(document, path[:-1])[path[-1]]
        with pytest.raises(AssertionError):
            check(document)


WRONG: list[Callable[[Any], object]] = [
    lambda document: document.update(extra=1),
    lambda document: document.update(schema="likeforlike.sweep"),
    lambda document: document.update(schema_version=1),
    lambda document: document.update(contrasts=[]),
    lambda document: document["contrasts"][0].update(p_value=1.5),
    lambda document: document["contrasts"][0].update(groups=["a", "b", "c"]),
    lambda document: document["contrasts"][0].update(paradox="reverted"),
    lambda document: document["contrasts"][0]["levels"][0].update(thin="no"),
    lambda document: document["contrasts"][0]["levels"][0].update(rows={"female": -1}),
    lambda document: document["settings"].update(random_state="7"),
]


@pytest.mark.parametrize("break_it", WRONG)
def test_a_wrong_value_is_seen(break_it: Callable[[Any], object]) -> None:
    document = made()
    check(document)
    break_it(document)
    with pytest.raises(AssertionError):
        check(document)


def test_what_is_not_strict_json_is_seen() -> None:
    document = made()
    document["contrasts"][0]["levels"][0]["gap"] = math.nan
    with pytest.raises(ValueError, match="not JSON compliant"):
        check(document)


def test_the_command_prints_the_schema() -> None:
    done = call("schema")
    assert (done.returncode, done.stdout, done.stderr) == (0, audit_schema(), "")
    for name, printed in {"request": request_schema, "release": release_schema}.items():
        assert call("schema", name).stdout == printed()


# -- Plain values ---------------------------------------------------------------------------------

LEVELS = [
    [math.inf, 1.5],
    [date(2024, 1, 31), date(2024, 2, 29)],
    [True, False],
    ["low", "high"],
    [3, 4],
]


@pytest.mark.parametrize("levels", LEVELS, ids=lambda levels: type(levels[1]).__name__)
def test_levels_of_every_kind_are_plain(levels: list[Any]) -> None:
    frame = pl.DataFrame(
        {
            "f": np.arange(80) / 80.0,
            "a": ["x", "x", "y", "y"] * 20,
            "l": levels * 40,
            "m": [1] * 40 + [2] * 40,
        }
    )
    for legitimate in ("l", ["l", "m"]):
        found = lfl.audit(frame, score="f", sensitive="a", legitimate=legitimate, permutations=9)
        check(found.to_dict())
        assert json.loads(found.to_json()) == found.to_dict()


def test_settings_from_numpy_are_numbers_in_the_document() -> None:
    given: dict[str, Any] = {"permutations": 9, "random_state": 7, "min_cell": 5}
    given = {name: np.int64(value) for name, value in given.items()}
    found = lfl.audit(load_loans(1000).frame, **ROLES, **given)
    assert found.to_dict()["settings"] == {
        "measure": "marginal",
        "min_cell": 5,
        "min_coverage": 0.5,
        "permutations": 9,
        "confidence": 0.95,
        "adjustment": "step-down",
        "reference": None,
        "random_state": 7,
        "score_range": None,
        "smooth": [],
        "windows": None,
        "suppress_below": None,
        "unit": None,
        "preset": None,
        "kind": None,
        "favorable": None,
        "labels": {},
        "title": None,
        "about": {},
    }


@pytest.mark.parametrize("name", ["permutations", "random_state", "min_cell"])
def test_settings_that_count_are_whole_numbers(name: str) -> None:
    given: dict[str, Any] = {name: 9.5}
    with pytest.raises(lfl.errors.InputError, match=f"{name} must be a whole number, not 9.5"):
        Settings(**given)


def test_a_measure_of_ones_own_is_kept_and_called_given() -> None:
    weights: dict[Hashable, float] = {"low": 1.0, "medium": 2.0, "high": 1.0}
    found = lfl.audit(load_loans(1000).frame, **ROLES, measure=weights, permutations=0)
    assert found.settings.measure == weights
    assert found.to_dict()["settings"]["measure"] == "given"


def test_settings_cannot_be_changed_afterwards() -> None:
    settings = lfl.audit(load_loans(1000).frame, **ROLES, permutations=0).settings
    assert settings == Settings(permutations=0)
    with pytest.raises(FrozenInstanceError):
        settings.permutations = 999  # type: ignore[misc]


@pytest.mark.parametrize("name", [each.name for each in fields(Settings)])
def test_a_setting_reaches_python_the_command_the_schema_and_the_reference(name: str) -> None:
    (field,) = (each for each in fields(Settings) if each.name == name)
    default = None if field.default is MISSING else field.default
    parameter = inspect.signature(lfl.audit).parameters[name]
    assert parameter.default == (default if default != () else None)
    assert re.search(rf"^{name} : ", inspect.getdoc(lfl.audit) or "", re.M)
    described = SCHEMA["$defs"]["Settings"]["properties"][name]
    assert described["description"]
    (option,) = (each for each in typer_options("audit") if each.name == option_name(name))
    assert option.help
    assert option.default == (default if default != () else None)


def typer_options(command: str) -> list[Any]:
    commands: Any = get_command(app)
    return [each for each in commands.commands[command].params if each.name != "help"]


def option_name(setting: str) -> str:
    return next(name for name, option in OPTIONS.items() if option.setting == setting)


def test_a_new_setting_needs_its_declaration_and_its_use_only() -> None:
    @dataclass(frozen=True)
    class Longer(Settings):
        __doc__ = f"{Settings.__doc__ or ''}draws : how many are taken."
        draws: Count | None = field(default=None, metadata=_option("Evidence", "Draws to take."))

    asked = options_of(Longer)["draws"]
    assert asked == Declared("Evidence", int | None, None, "Draws to take.", setting="draws")
    assert restore(Longer, plain(Longer(draws=3))) == Longer(draws=3)
    definitions: dict[str, Any] = {}
    _of(Longer, definitions)
    assert definitions["Longer"]["properties"]["draws"] == {
        "anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}],
        "description": "How many are taken.",
    }


def test_a_document_is_the_readers_own() -> None:
    found = lfl.audit(load_loans(1000).frame, **ROLES, permutations=9)
    before = json.dumps(found.to_dict())
    changed = found.to_dict()
    changed["contrasts"][0]["coverage"]["female"] = 0.0
    changed["contrasts"][0]["levels"][0]["rows"].clear()
    changed["data"]["missing"].clear()
    changed["provenance"]["versions"].clear()
    assert json.dumps(found.to_dict()) == before


# -- Work is done once ----------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often contrasts and documents are made while a test runs."""
    counted: Counter[str] = Counter()

    def count(owner: object, name: str) -> None:
        whole = getattr(owner, name)

        def counting(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return whole(*given, **named)

        monkeypatch.setattr(owner, name, counting)

    count(_comparisons, "contrasts")
    count(Contrast, "__init__")
    count(Cells, "regroup")
    count(Cells, "pool_levels")
    count(_contrast_audit, "contrast_cdd_lp")
    count(_audit_table, "audit_document")
    count(_audit_table, "contrast_figures")
    count(_audit_table, "finding")
    return counted


def test_two_groups_are_one_contrast_and_one_without_levels(calls: Counter[str]) -> None:
    lfl.audit(load_loans(1000).frame, **ROLES, permutations=9)
    once = {"audit_document": 1, "contrast_figures": 1, "finding": 1}
    parts = {"contrasts": 1, "__init__": 2, "pool_levels": 1, "contrast_cdd_lp": 2}
    assert calls == {**parts, **once}


def test_three_groups_are_three_contrasts_with_cells_of_their_own(calls: Counter[str]) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"f": rng.random(600), "a": rng.choice(["x", "y", "z"], 600), "l": rng.integers(0, 3, 600)}
    )
    lfl.audit(frame, score="f", sensitive="a", legitimate="l", permutations=9)
    assert calls == {
        "contrasts": 1,
        # As chosen, with nobody else in the cells, and without levels; and all groups at once.
        "__init__": 3 * 3 + 1,
        "regroup": 3,
        "pool_levels": 3,
        "contrast_cdd_lp": 3 * 2,
        "audit_document": 1,
        "contrast_figures": 3,
        "finding": 1,
    }


@pytest.mark.parametrize("text", ["[]", "{", "null", '{"schema": "likeforlike.audit"}'])
def test_what_is_no_audit_is_refused(text: str) -> None:
    with pytest.raises(lfl.errors.InputError):
        lfl.Audit.from_json(text)


@pytest.mark.parametrize("wrong", [None, [], {}, "x"])
def test_an_audit_without_its_contrasts_is_refused(wrong: object) -> None:
    with pytest.raises(lfl.errors.InputError, match="expected"):
        lfl.Audit.from_json(json.dumps({**made(), "contrasts": wrong}))


def test_everything_an_audit_shows_comes_of_one_document(calls: Counter[str]) -> None:
    audit = lfl.audit(load_loans(1000).frame, **ROLES, permutations=9)
    shown = [str(audit), audit.headline, audit.to_html(), audit.to_frame(), repr(audit)]
    again = lfl.Audit.from_json(audit.to_json())
    assert again == audit
    assert again.to_html() == shown[2]
    once = ("audit_document", "contrast_figures", "finding")
    assert [calls[name] for name in once] == [1, 1, 1]


def test_a_command_makes_one_document_for_all_it_delivers(
    calls: Counter[str], tmp_path: Path
) -> None:
    table, page, data = (tmp_path / name for name in ("loans.csv", "page.html", "audit.json"))
    load_loans(1000).frame.write_csv(table)
    roles = ("--score", "approved", "--sensitive", "sex", "--legitimate", "income")
    done = call("audit", table, *roles, "--permutations", 9, "--report", page, "--json", data)
    assert done.returncode == 0, done.stderr
    assert page.exists()
    assert data.exists()
    assert {name: calls[name] for name in ("audit_document", "contrast_figures", "finding")} == {
        "audit_document": 1,
        "contrast_figures": 1,
        "finding": 1,
    }


# -- Types ----------------------------------------------------------------------------------------

BY_NAME = {"document._plain", "cli._audit", "cli._monitoring", "cli._options", "cli._plan"}
TYPED = [
    path
    for package in ("auditing", "cli", "document", "report")
    for path in sorted((PACKAGE / package).glob("*.py"))
    # Where plain values are made of results, and where typer hands over what was typed.
    if f"{package}.{path.stem}" not in BY_NAME
]
LOOSE = ("Mapping[str, Any]", "dict[str, Any]")


def loose(source: str) -> list[str]:
    """Annotations and names of types that say no more than "some dictionary"."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            said = [
                node.returns,
                *(one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg)),
            ]
        elif isinstance(node, ast.AnnAssign):
            said = [node.annotation]
        elif isinstance(node, ast.Assign):
            said = [node.value]
        else:
            continue
        texts = [ast.unparse(one) for one in said if one is not None]
        found += [text for text in texts if any(one in text for one in LOOSE)]
    return found


@pytest.mark.parametrize("path", TYPED, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_no_part_of_the_document_is_just_a_dictionary(path: Path) -> None:
    assert loose(path.read_text("utf-8")) == []


def test_the_look_sees_a_loose_signature() -> None:
    assert loose("Part = Mapping[str, Any]\ndef f(x: Sequence[dict[str, Any]]) -> int: ...") == [
        "Mapping[str, Any]",
        "Sequence[dict[str, Any]]",
    ]
