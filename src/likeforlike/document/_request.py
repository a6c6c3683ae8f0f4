"""What was asked of an audit: the roles of columns, the settings, and thresholds.

A setting is declared once, as a field of `Settings`. The option of the command line, the document,
its schema, the page and policies follow from it; `audit` has a parameter of the same name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from operator import index
from typing import Annotated, Literal, get_args

from likeforlike._settings import MEASURES, Adjustment, Measure, MeasureName, is_one_of, real
from likeforlike.document._plain import (
    Amount,
    Count,
    Interval,
    Limits,
    Pair,
    Probability,
    Scalar,
    entry,
    plain_scalar,
)
from likeforlike.errors import InputError

# More would take forever, and say no more.
_MOST_PERMUTATIONS = 10_000_000

Panel = Literal[
    "Columns", "Who is equal", "Evidence", "Verdict", "Doubt", "Output", "Privacy", "Files"
]
"""A panel of the help on the command line: options by their use, in this order."""

Preset = Literal["ll144"]
"""Figures in addition to the audit: the summary of New York City's Local Law 144."""

ScoreKind = Literal["decision", "probability", "rating", "money", "other"]
"""What scores are, as sentences about them take it."""

Favorable = Literal["high", "low"]
"""Which end of the scores is the good one."""

ABOUT = (
    "model",
    "version",
    "owner",
    "purpose",
    "data",
    "date",
    "distributed",
    "measured_by",
    "accepted_by",
    "accepted_on",
)
"""What can be said about an audit, in the order of the page."""

ThresholdOf = Literal["distance", "gap"]
"""What a threshold is for: the distance among equals, or the size of the gap."""

# The lowest and the highest seed that streams of random numbers take.
_SEEDS = (-(2**63), 2**63 - 2)


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column plays which part.

    Attributes
    ----------
    score, sensitive : one column each.
    legitimate : columns whose combinations are the levels; none means one level.
    weight : column of sample weights, or `None`.
    cluster : column that says which rows belong together (a person with several rows), or `None`.
    also_sensitive : further sensitive columns; each is examined alone, and all of them crossed.
    """

    score: str
    sensitive: str
    legitimate: tuple[str, ...] = ()
    weight: str | None = None
    cluster: str | None = None
    also_sensitive: tuple[str, ...] = ()

    @property
    def all_sensitive(self) -> tuple[str, ...]:
        """The sensitive columns, in the order they were named."""
        return (self.sensitive, *self.also_sensitive)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns named, each once."""
        named = (self.score, *self.all_sensitive, *self.legitimate, self.weight, self.cluster)
        return tuple(dict.fromkeys(column for column in named if column is not None))


def _plain_measure(measure: Measure) -> str:
    return measure if isinstance(measure, str) else "given"


def _plain_reference(reference: object) -> Scalar | dict[str, Scalar] | None:
    if isinstance(reference, Mapping):
        return {column: plain_scalar(group) for column, group in reference.items()}
    return None if reference is None else plain_scalar(reference)


def _option(
    panel: Panel, words: str, *, name: str | None = None, typed: type | None = None
) -> dict[str, object]:
    """How the command line asks for a setting: metadata of its field.

    `name` is that of the option, and `typed` the type of what is typed, where they do not follow
    from the setting.
    """
    return {"panel": panel, "help": words, "option": name, "typed": typed}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an audit; they are in its document, so that it can be repeated.

    Attributes
    ----------
    measure : Q, how much each level counts.
    min_cell : levels with fewer rows of a group are called thin.
    permutations : of the test; 0 leaves out everything that needs resampling.
    confidence : of intervals and certificate, in (0, 1).
    adjustment : of p-values of many levels, `"step-down"`, `"holm"` or `"bh"`.
    reference : the group that all others are compared with, or {sensitive column: its group};
        `None` compares every two, and with several sensitive columns all with the largest.
    random_state : seed.
    score_range : lowest and highest score there can be, for the certificate; `None` if unknown.
    suppress_below : the document shows nothing about fewer people than this; `None` shows all.
    unit : of the scores, such as "EUR"; `None` if they have none.
    preset : figures in addition to the audit: `"ll144"` or `None`.
    smooth : legitimate columns of numbers that people are compared along.
    windows : into how many windows at most; `None` leaves it to the rows.
    min_coverage : the share of each group that must be compared for a verdict of "pass".
    kind : what scores are; `None` reads it off the values and the unit.
    favorable : which end of the scores is the good one, "high" or "low"; `None` if neither.
    labels : how sentences and page call columns and values; "column=value" is for one column only.
    title : of the page.
    about : what else a record says, such as model, version, owner and who accepted the result.
    """

    measure: Measure = field(
        default="marginal",
        metadata={
            **entry(_plain_measure, MeasureName | Literal["given"]),
            **_option("Who is equal", f"How much each level counts: {', '.join(MEASURES)}."),
        },
    )
    min_cell: int = field(
        default=20, metadata=_option("Who is equal", "Mark levels with fewer rows of a group.")
    )
    permutations: Count = field(
        default=999, metadata=_option("Evidence", "Permutations of the test.")
    )
    confidence: Probability = field(
        default=0.95, metadata=_option("Evidence", "Of intervals and bounds.")
    )
    adjustment: Adjustment = field(
        default="step-down",
        metadata=_option("Evidence", "Of p-values of many levels: step-down, holm or bh."),
    )
    reference: Hashable | Mapping[str, Hashable] | None = field(
        default=None,
        metadata={
            **entry(_plain_reference, Scalar | dict[str, Scalar] | None),
            **_option(
                "Who is equal",
                "Compare all groups with this one only; of several columns, COLUMN=GROUP.",
                typed=list[str],
            ),
        },
    )
    random_state: int = field(
        default=0, metadata=_option("Evidence", "Seed of the permutations.", name="seed")
    )
    score_range: Interval | None = field(
        default=None,
        metadata=_option("Evidence", "LOW,HIGH: the scores there can be; gives a certificate."),
    )
    suppress_below: Annotated[int, Limits(2)] | None = field(
        default=None,
        metadata=_option("Privacy", "Show nothing about fewer people than this; 10 is usual."),
    )
    unit: str | None = field(
        default=None, metadata=_option("Output", "Of the scores, such as EUR.")
    )
    preset: Preset | None = field(
        default=None,
        metadata=_option("Output", "ll144: add the summary of New York City's Local Law 144."),
    )
    smooth: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            "Who is equal",
            "Column of numbers, legitimate too, to compare along without bins; may be repeated.",
        ),
    )
    windows: Count | None = field(
        default=None,
        metadata=_option("Who is equal", "Windows along --smooth, at most; by default n^(1/3)."),
    )
    min_coverage: Probability = field(
        default=0.5,
        metadata=_option("Verdict", "Share of each group that must be compared for a pass."),
    )
    kind: ScoreKind | None = field(
        default=None,
        metadata=_option("Output", f"What scores are: {', '.join(get_args(ScoreKind))}."),
    )
    favorable: Favorable | None = field(
        default=None, metadata=_option("Output", "Which scores are good: high or low.")
    )
    labels: dict[str, str] = field(
        default_factory=dict,
        metadata=_option(
            "Output",
            "NAME=WORDS: how the page calls a column or a value; may be repeated.",
            name="label",
            typed=list[str],
        ),
    )
    title: str | None = field(default=None, metadata=_option("Output", "Of the page."))
    about: dict[str, str] = field(
        default_factory=dict,
        metadata=_option(
            "Output", f"NAME=TEXT: {', '.join(ABOUT)}; may be repeated.", typed=list[str]
        ),
    )

    @property
    def measure_name(self) -> str:
        """The measure by its name; "given" for weights of the user's own."""
        return _plain_measure(self.measure)

    def __post_init__(self) -> None:
        # Numbers of numpy are taken for what they are; JSON would not know them.
        for name in ("min_cell", "permutations", "random_state"):
            object.__setattr__(self, name, _whole(getattr(self, name), name))
        if self.suppress_below is not None:
            limit = _whole(self.suppress_below, "suppress_below")
            if limit < 2:
                raise InputError(f"suppress_below must be 2 or more, or None, not {limit}.")
            object.__setattr__(self, "suppress_below", limit)
        if not 0 <= self.permutations <= _MOST_PERMUTATIONS:
            raise InputError(
                f"permutations must lie between 0 and {_MOST_PERMUTATIONS:,}, not "
                f"{self.permutations}."
            )
        if not _SEEDS[0] <= self.random_state <= _SEEDS[1]:
            raise InputError(f"random_state must fit into 64 bits, not {self.random_state}.")
        if not 0.0 < real(self.confidence) < 1.0:
            raise InputError(f"confidence must lie between 0 and 1, not {self.confidence!r}.")
        object.__setattr__(self, "confidence", real(self.confidence))
        object.__setattr__(self, "min_coverage", _share(self.min_coverage))
        if not is_one_of(self.adjustment, get_args(Adjustment)):
            raise InputError(
                f"adjustment must be one of {get_args(Adjustment)}, not {self.adjustment!r}."
            )
        _check_extras(self.unit, self.preset)
        self._check_words()
        if self.score_range is not None:
            object.__setattr__(self, "score_range", _range(self.score_range))
        if self.smooth:
            self._check_smooth()

    def _check_words(self) -> None:
        """Refuse words that no page could use, and turn numbers and dates among them into text."""
        choices: tuple[tuple[str, tuple[str, ...]], ...] = (
            ("kind", get_args(ScoreKind)),
            ("favorable", get_args(Favorable)),
        )
        for name, known in choices:
            value = getattr(self, name)
            if value is not None and not is_one_of(value, known):
                raise InputError(f"{name} must be one of {known}, not {value!r}.")
        if self.kind in ("decision", "probability") and self.unit is not None:
            raise InputError(f"scores of kind {self.kind!r} are in points; leave out unit.")
        if self.title is not None and not str(self.title).strip():
            raise InputError(f"title must be a text, not {self.title!r}.")
        for name in ("labels", "about"):
            object.__setattr__(self, name, _texts(getattr(self, name), name))
        for name in self.about:
            if name not in ABOUT:
                near = get_close_matches(name, ABOUT, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(ABOUT)}."
                raise InputError(f"about has no entry {name!r}; {hint}")

    def _check_smooth(self) -> None:
        """Refuse what has no meaning where scores were carried to windows."""
        if self.measure_name == "given":
            raise InputError(
                "measure cannot give weights to levels that smooth makes; name one, such as "
                "'marginal', or cut the numbers into bins."
            )
        if self.score_range is not None:
            raise InputError(
                "score_range gives a certificate that holds for every distribution of scores, and "
                "none does along a number; leave out score_range or smooth."
            )


def _check_extras(unit: str | None, preset: Preset | None) -> None:
    if unit is not None and not str(unit).strip():
        raise InputError(f"unit must be a word such as 'EUR', not {unit!r}.")
    if preset is not None and not is_one_of(preset, get_args(Preset)):
        raise InputError(f"preset must be one of {get_args(Preset)}, not {preset!r}.")


def _texts(given: object, name: str) -> dict[str, str]:
    """Check a mapping of names to texts; numbers and dates are written out."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be a mapping of names to texts, not {given!r}.")
    for key, text in given.items():
        if isinstance(text, Mapping | list | tuple) or not str(text).strip():
            raise InputError(f"{name} must have a text for {key!r}, not {text!r}.")
    return {str(key): str(text).strip() for key, text in given.items()}


def _share(value: float) -> float:
    if isinstance(value, bool) or not 0.0 <= real(value) <= 1.0:
        raise InputError(f"min_coverage must lie between 0 and 1, not {value!r}.")
    return real(value)


def _whole(value: int, name: str) -> int:
    try:
        return index(value)
    except TypeError as error:
        raise InputError(f"{name} must be a whole number, not {value!r}.") from error


def _range(ends: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError) as error:
        raise InputError(f"score_range must be two numbers, not {ends!r}.") from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"score_range must be a lower and a higher number, not {ends!r}.")
    return low, high


@dataclass(frozen=True, slots=True)
class Threshold:
    """The largest disparity that is allowed, for whom, and who said so.

    Attributes
    ----------
    value : in units of the score, or text such as "5%". Of decisions and rates that is 5 points, of
        other scores 5% of the mean of the reference group, or of the larger group without one.
    of : what may not be larger, "distance" or "gap".
    groups : the two groups it is for; `None` for all that have none of their own.
    set_by, set_on : who set it, and on which day; `None` if not given.
    percent : whether the value is a percentage; text says so itself.

    Examples
    --------
    >>> from likeforlike.auditing import Threshold
    >>> Threshold(0.05, groups=("female", "male"), set_by="credit committee").of
    'distance'
    >>> Threshold("5%").value, Threshold("5%").percent
    (5.0, True)
    """

    value: Amount
    of: ThresholdOf = "distance"
    groups: Pair | None = None
    set_by: str | None = None
    set_on: str | None = None
    percent: bool = False

    def __post_init__(self) -> None:
        given: object = self.value
        if isinstance(given, str):
            object.__setattr__(self, "value", _percentage(given))
            object.__setattr__(self, "percent", True)
        if isinstance(self.value, bool) or not 0.0 <= real(self.value) < math.inf:
            raise InputError(f"threshold must be a finite number of 0 or more, not {self.value!r}.")
        if not is_one_of(self.of, get_args(ThresholdOf)):
            raise InputError(f"of must be one of {get_args(ThresholdOf)}, not {self.of!r}.")
        object.__setattr__(self, "value", real(self.value))


def _percentage(text: str) -> float:
    found = re.fullmatch(r"\s*([0-9]+(?:[.,][0-9]+)?)\s*%\s*", text)
    if found is None:
        raise InputError(
            f"threshold must be a number such as 0.05, or a percentage such as '5%', not {text!r}."
        )
    return float(found[1].replace(",", "."))
