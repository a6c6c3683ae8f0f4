"""A policy: roles, levels and thresholds in a file, with who set them and when.

It gives the same verdict on the same data in Python, on the command line, in tests and in a
pipeline: what a policy says cannot be said otherwise in the same call.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any, cast

from likeforlike.auditing._audit import Audit
from likeforlike.auditing._audit_table import audit
from likeforlike.auditing._summary import Summary
from likeforlike.document import Threshold, ThresholdOf, Verdict
from likeforlike.errors import InputError

_LONGEST = 1_000_000
_SECTION = ("tool", "likeforlike")
_THRESHOLD = ("threshold", "of", "set_by", "set_on")
# What `audit` takes with the data, what shows how far it is, and what must stay secret.
_NOT_SAID = ("data", "progress", "salt")
# How the page says it changes no figure.
_WORDS = ("kind", "favorable", "labels", "title", "about")
_ARGUMENTS = tuple(name for name in signature(audit).parameters if name not in _NOT_SAID)


@dataclass(frozen=True, slots=True)
class Policy:
    """What is audited, at which thresholds, and who set them.

    Attributes
    ----------
    name : of the file.
    arguments : of `audit`, as the file has them: roles, levels, bins, confidence and the rest.
    thresholds : one for all contrasts, some for two groups each, or both; none gives no verdict.

    Notes
    -----
    The file is `likeforlike.toml`, or `pyproject.toml` with a section `[tool.likeforlike]`. Entries
    are called like the arguments of `audit`; `threshold`, `of`, `set_by` and `set_on` make the
    threshold of all contrasts, and every `[[thresholds]]` with `groups` one for two groups.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likeforlike.auditing import Policy
    >>> from likeforlike.datasets import load_loans
    >>> file = Path(tempfile.mkdtemp()) / "likeforlike.toml"
    >>> written = file.write_text('''
    ... score = "approved"
    ... sensitive = "sex"
    ... legitimate = ["income"]
    ... threshold = 0.05
    ... set_by = "credit committee"
    ... set_on = 2026-01-31
    ... ''')
    >>> audit = Policy.read(file).audit(load_loans(1000).frame)
    >>> audit.verdicts[0].verdict, audit.verdicts[0].policy
    ('fail', 'likeforlike.toml')
    """

    name: str
    arguments: Mapping[str, object]
    thresholds: tuple[Threshold, ...]

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Read a policy; every complaint names the file and the entry.

        Parameters
        ----------
        path : of a TOML file.
        """
        file = Path(path)
        entries = _section(file)
        unknown = entries.keys() - {*_ARGUMENTS, *_THRESHOLD, "thresholds"}
        if unknown:
            name = sorted(unknown)[0]
            near = get_close_matches(name, [*_ARGUMENTS, *_THRESHOLD, "thresholds"], 1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise InputError(f"{file}: there is no entry {name!r}{hint}")
        try:
            thresholds = _thresholds(entries)
        except InputError as error:
            raise InputError(f"{file}: {error}") from error
        arguments = {name: entries[name] for name in _ARGUMENTS if name in entries}
        return cls(file.name, arguments, thresholds)

    def audit(self, data: object, **more: object) -> Audit:
        """Audit by this policy, and keep its verdict.

        Parameters
        ----------
        data : as for `audit`, or a `Summary`.
        more : arguments of `audit` that the policy does not have, such as `engine`.
        """
        self.refuse(more)
        audited = audit_any(data, **{**self.arguments, **more})
        return audited.with_verdict(self.judge(audited)) if self.thresholds else audited

    def judge(self, audited: Audit) -> Verdict:
        """Give the verdict on an audit made by the roles and settings of this policy.

        An audit of other roles or settings is refused.

        Parameters
        ----------
        audited : the audit.
        """
        if not self.thresholds:
            raise InputError(f"the policy {self.name} has no threshold; give it one.")
        for name, wanted in self.arguments.items():
            if name in _WORDS:
                continue
            found = _audit_value(audited, name, wanted)
            if _plain(found) != _plain(wanted):
                raise InputError(
                    f"the policy {self.name} says {name} = {wanted!r}, but the audit has "
                    f"{found!r}; audit by the policy."
                )
        return audited.judge(self.thresholds, policy=self.name)

    def refuse(self, given: Mapping[str, object]) -> None:
        """Refuse arguments that the policy has already.

        Parameters
        ----------
        given : {argument of `audit`, or "threshold": its value}.
        """
        for name in given:
            if name in self.arguments or (name == "threshold" and self.thresholds):
                raise InputError(f"{name} is set by the policy {self.name}; leave it out.")


def audit_any(data: object, **arguments: Any) -> Audit:  # noqa: ANN401
    """Audit a table or a path, or a summary, which knows its roles."""
    if isinstance(data, Summary):
        return data.audit(**arguments)
    for role in ("score", "sensitive"):
        if arguments.get(role) is None:
            raise InputError(f"{role} is missing: name the column ({role}=..., --{role}).")
    return audit(data, **arguments)


def _section(file: Path) -> Mapping[str, object]:
    """Read the entries of a policy from a file."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_LONGEST + 1)
        if len(text) > _LONGEST:  # a device may never end
            raise InputError(f"{file} is too large for a policy; was another file meant?")
        content = tomllib.loads(text.decode("utf-8").replace("\r\n", "\n"))
    except OSError as error:
        raise InputError(f"policy {file} cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not TOML: {error}.") from error
    if file.name != "pyproject.toml":
        return content
    section: Any = content
    for name in _SECTION:
        section = section.get(name) if isinstance(section, Mapping) else None
    if not isinstance(section, Mapping):
        raise InputError(f"{file} has no section [{'.'.join(_SECTION)}].")
    return section


def _thresholds(entries: Mapping[str, object]) -> tuple[Threshold, ...]:
    """Read the threshold of all contrasts, then those of two groups."""
    common = {name: entries[name] for name in _THRESHOLD if name in entries}
    own = entries.get("thresholds", [])
    if not isinstance(own, list) or not all(isinstance(each, Mapping) for each in own):
        raise InputError("thresholds must be tables, as [[thresholds]] makes them.")
    if common and "threshold" not in common and not own:
        raise InputError(f"{next(iter(common))!r} is there, but no threshold.")
    overall = [_threshold(common)] if "threshold" in common else []
    # Who set the policy set its parts, unless they say otherwise.
    inherited = {name: value for name, value in common.items() if name != "threshold"}
    pairs = [_threshold({**inherited, **each}, for_groups=True) for each in own]
    named = [frozenset(each.groups or ()) for each in pairs]
    if len(set(named)) < len(named):
        raise InputError("two of [[thresholds]] are for the same groups; keep one.")
    return (*overall, *pairs)


def _threshold(entries: Mapping[str, object], *, for_groups: bool = False) -> Threshold:
    """Read one threshold."""
    allowed = {*_THRESHOLD, "groups"} if for_groups else {*_THRESHOLD}
    unknown = entries.keys() - allowed
    if unknown:
        raise InputError(f"a threshold has no entry {sorted(unknown)[0]!r}.")
    if "threshold" not in entries:
        raise InputError("one of [[thresholds]] has no threshold.")
    groups, set_by, set_on = (entries.get(name) for name in ("groups", "set_by", "set_on"))
    pair: tuple[str, str] | None = None
    if for_groups:
        if not isinstance(groups, list) or len({str(group) for group in groups}) != 2:
            raise InputError(f"groups of a threshold must be two different ones, not {groups!r}.")
        first, second = (str(group) for group in groups)
        pair = first, second
    if set_by is not None and not isinstance(set_by, str):
        raise InputError(f"set_by must be text, not {set_by!r}.")
    return Threshold(
        cast("float", entries["threshold"]),  # it is checked there
        cast("ThresholdOf", entries.get("of", "distance")),
        pair,
        set_by,
        None if set_on is None else _read_day(set_on),
    )


def _read_day(value: object) -> str:
    """Read a day, as TOML has it or as text in the same form."""
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        raise InputError(f"set_on must be a day, as 2026-01-31, not {value!r}.") from error


def _audit_value(audited: Audit, name: str, wanted: object) -> object:
    """Find what an audit has in place of an argument, or what is wanted where it does not say."""
    if name == "resolution":
        return audited.data.resolution
    if name == "sensitive":
        return audited.roles.all_sensitive
    if name == "bins" and isinstance(wanted, Mapping):
        calendar = {column: cut for column, cut in audited.data.calendar.items() if cut != "day"}
        edges = {**audited.data.edges, **calendar}
        # How many quantiles were asked for is not kept, only where they cut.
        return {
            column: cut if isinstance(cut := wanted.get(column), int) else edges[column]
            for column in edges
        }
    for part in (audited.roles, audited.settings):
        if hasattr(part, name):
            found: object = getattr(part, name)
            return found
    return wanted


def _plain(value: object) -> object:
    """Convert a value so that it can be compared: one name to a list of one, a tuple to a list."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return list(value)
    return [value]
