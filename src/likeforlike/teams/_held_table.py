"""The table of a custodian: which file holds A, remembered in the ledger and held to it."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from likeforlike.errors import InputError
from likeforlike.files._csv import CsvOptions
from likeforlike.teams._custodian import Custodian, encode_rows
from likeforlike.teams._ledger import Ledger, check_groups
from likeforlike.teams._named_columns import read_named


class HeldTable(NamedTuple):
    """A file and its columns: ids of rows, groups, and people if they have several rows."""

    file: Path
    id: str
    sensitive: str
    person: str | None = None


def open_ledger(
    held: HeldTable,
    path: Path,
    epsilon: float,
    delta: float,
    groups: Sequence[str],
    options: CsvOptions | None = None,
) -> Custodian:
    """Make a ledger for a table, after the table has been read and found in order.

    Groups are declared, and not taken from the table: a release names all of them, so that a name
    must not be there only because one person has it.
    """
    if path.exists():
        raise InputError(f"{path} exists; a ledger is opened once. Choose another name.")
    columns = _columns(held, options)
    if not groups:
        found = sorted(set(columns[1]))
        repeated = " ".join(f"--group {shlex.quote(group)}" for group in found)
        raise InputError(
            f"--group must declare the groups that answers may name. {held.sensitive} holds "
            f"{', '.join(found)}: repeat them as {repeated}, and add those that might have been "
            "there."
        )
    declared = check_groups(groups)
    encode_rows(columns[0], columns[1], columns[2] if held.person else None, declared)
    salt = secrets.token_hex(16)
    about = {
        "table": str(held.file.resolve()),
        "id": held.id,
        "sensitive": held.sensitive,
        "person": held.person,
        "salt": salt,
        "digest": _digest(columns, salt),
    }
    return _custodian(columns, Ledger(path, epsilon, delta, groups=declared, about=about))


def reopen(ledger: Ledger, table: Path | None, options: CsvOptions | None = None) -> Custodian:
    """The custodian of a ledger, with the table that it was opened for."""
    about = ledger.about
    if not _names_a_table(about):
        raise InputError(f"the ledger {ledger.path} does not say which table it is for.")
    file = Path(about["table"]) if table is None else table
    columns = _columns(HeldTable(file, about["id"], about["sensitive"], about["person"]), options)
    if _digest(columns, about["salt"]) != about["digest"]:
        raise InputError(
            f"{file} is not the table that the ledger {ledger.path} was opened for: rows, groups "
            "or people have changed. Answers about both would tell what has changed; open a new "
            "ledger, and count what was answered before."
        )
    return _custodian(columns, ledger)


def _columns(held: HeldTable, options: CsvOptions | None) -> list[list[str]]:
    names = [name for name in (held.id, held.sensitive, held.person) if name is not None]
    return [
        list(map(str, column)) for column in read_named(held.file, names, options=options).values()
    ]


def _names_a_table(about: dict[str, Any]) -> bool:
    named = ("table", "id", "sensitive", "salt", "digest")
    whole = all(isinstance(about.get(name), str) for name in named)
    return whole and isinstance(about.get("person", 0), str | None)


def _custodian(columns: list[list[str]], ledger: Ledger) -> Custodian:
    people = columns[2] if len(columns) > 2 else None
    return Custodian.of_columns(columns[0], columns[1], ledger, people)


def _digest(columns: list[list[str]], salt: str) -> str:
    """Whatever the order of the rows; the salt keeps anybody from finding rows by trying."""
    rows = sorted(zip(*columns, strict=True))
    return sha256(json.dumps([salt, rows]).encode()).hexdigest()
