"""The options of the commands that audit: each declared once, in a panel by its use.

Those of settings are made of the fields of `Settings`. A command names the options it takes;
`takes_options` makes its signature of them, which is what typer reads. Options that are text on the
command line are read here, too.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from likeforlike._settings import ENGINES, Engine
from likeforlike.document import Panel, Settings
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike.auditing import Calendar, Cut

Command = TypeVar("Command", bound=Callable[..., None])
_CALENDAR: tuple[Calendar, ...] = ("month", "quarter", "year")
CSV_OPTIONS = ("separator", "encoding", "null_value", "no_usual_nulls", "decimal", "sheet")
"""How a file is read; together they are the argument `csv` of an audit."""
_ARGUMENTS = ("score", "sensitive", "legitimate", "weight", "cluster", "bins", "resolution")
_MORE_ARGUMENTS = ("threshold", "of", "engine", "by")


def one_of(names: Sequence[str]) -> str:
    """Names to choose from, as a sentence lists them."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


class Declared(NamedTuple):
    """An option: its panel, type, default and help, and its name where it is another.

    `read` makes what the command gets of what was typed. `setting` is the name of the setting that
    it is for, if it is for one.
    """

    panel: Panel
    kind: Any
    default: object
    help: str
    flag: str | None = None
    metavar: str | None = None
    read: Callable[[Any], Any] | None = None
    setting: str | None = None


def options_of(settings: type) -> dict[str, Declared]:
    """Declare the options of all settings, by their names, from the fields of the class."""
    hints, options = get_type_hints(settings), {}
    for each in fields(settings):
        asked = each.metadata
        kind = asked["typed"] or _input_kind(hints[each.name])
        empty = each.default is MISSING or each.default in (None, ())
        options[asked["option"] or each.name] = Declared(
            panel=asked["panel"],
            kind=kind | None if empty else kind,
            default=None if empty else each.default,
            help=asked["help"],
            setting=each.name,
        )
    return options


def _input_kind(hint: Any) -> Any:  # noqa: ANN401
    """Return the type of what is typed for a setting: a number, several texts, or a text."""
    kinds = [each for each in get_args(hint) if each is not NoneType] or [hint]
    if get_origin(hint) is tuple:
        return list[str] if kinds[-1] is Ellipsis else str
    return kinds[0] if kinds[0] in (bool, int, float) else str


def _one_score(columns: list[str] | None) -> str | None:
    """Return the only column of scores; refuse several, of which the last would win unseen."""
    if not columns:
        return None
    if len(columns) > 1:
        raise InputError(
            f"--score takes one column, not {len(columns)}; audit each of them by itself."
        )
    return columns[0]


OPTIONS: Mapping[str, Declared] = {
    "score": Declared(
        "Columns",
        list[str] | None,
        None,
        "Column of scores or decisions.",
        metavar="<str>",
        read=_one_score,
    ),
    "sensitive": Declared(
        "Columns", list[str] | None, None, "Column whose values are the groups; may be repeated."
    ),
    "legitimate": Declared(
        "Columns", list[str] | None, None, "Column that makes people equal; may be repeated."
    ),
    "weight": Declared("Columns", str | None, None, "Column of sample weights."),
    "cluster": Declared(
        "Columns", str | None, None, "Column that says which rows belong together."
    ),
    "by": Declared(
        "Columns",
        str | None,
        None,
        "Audit by period: COLUMN, or COLUMN=month, quarter or year of dates.",
    ),
    "id": Declared("Columns", str | None, None, "Column by which a custodian knows the rows."),
    "bins": Declared(
        "Who is equal",
        list[str] | None,
        None,
        "COLUMN=N: cut a legitimate column at N-quantiles; COLUMN=20,30: cut it there; "
        "COLUMN=month, quarter or year: cut dates by the calendar.",
    ),
    "resolution": Declared(
        "Evidence", float | None, None, "Round scores to bins of this width, in the engine."
    ),
    "threshold": Declared(
        "Verdict",
        str | None,
        None,
        "Largest disparity allowed, in units of the score, or as 5%: points of decisions and "
        "rates, else of the mean of the larger group or the reference; sets the exit code.",
        metavar="NUMBER|PERCENT",
    ),
    "of": Declared("Verdict", str, "distance", "What the threshold is for: distance or gap."),
    "policy": Declared(
        "Verdict",
        Path | None,
        None,
        "TOML file with roles, settings and thresholds, and who set them.",
    ),
    "sensitivity": Declared(
        "Doubt",
        bool,
        False,  # noqa: FBT003
        "Say how strong an omitted legitimate feature would have to be.",
        "--sensitivity",
    ),
    "candidate": Declared(
        "Doubt",
        list[str] | None,
        None,
        "Column that might be legitimate: compare with it and without; may be repeated.",
    ),
    "model": Declared(
        "Doubt",
        Path | None,
        None,
        "File of a LightGBM or XGBoost model: say which of its inputs carry the gap.",
    ),
    "contributions": Declared(
        "Doubt",
        Path | None,
        None,
        "The same by a file with a column for each input and a row for each row.",
    ),
    "report": Declared(
        "Output", Path | None, None, "Write a page here: HTML, or Markdown if it ends in .md."
    ),
    "public_summary": Declared(
        "Output", Path | None, None, "Write the public summary of --preset ll144 here."
    ),
    "json": Declared("Output", str | None, None, "Write JSON here; - prints it."),
    "junit": Declared(
        "Output", Path | None, None, "Write the verdict here, as JUnit XML for build servers."
    ),
    "pairs": Declared(
        "Output",
        Path | None,
        None,
        "Write people with low scores and their comparators here, as CSV.",
    ),
    "salt_file": Declared(
        "Privacy",
        Path | None,
        None,
        "File with the salt of the fingerprint, readable by its owner only; made if it is missing. "
        "Keep it private.",
    ),
    "engine": Declared("Files", str, "auto", f"{one_of(ENGINES)}."),
    "separator": Declared(
        "Files", str | None, None, "Between the values of a CSV file; by default what fits it."
    ),
    "encoding": Declared(
        "Files", str | None, None, "Of a CSV file, such as latin-1; UTF-8 by default."
    ),
    "null_value": Declared(
        "Files",
        list[str] | None,
        None,
        "What stands for a missing value in a CSV file, in addition to nothing, NA, N/A, ?, null, "
        "None and NaN; may be repeated.",
    ),
    "no_usual_nulls": Declared(
        "Files",
        bool,
        False,  # noqa: FBT003
        "Take NA, N/A, ?, null, None and NaN for values.",
        "--no-usual-nulls",
    ),
    "decimal": Declared(
        "Files",
        str | None,
        None,
        "Decimal mark of numbers in text, . or ,; by default the one that fits a column.",
    ),
    "sheet": Declared("Files", str | None, None, "Of an Excel file that has several."),
    **options_of(Settings),
}
SETTINGS = tuple(name for name, option in OPTIONS.items() if option.setting is not None)
"""The options that are settings of an audit."""


def takes_options(*names: str) -> Callable[[Command], Command]:
    """Give a command these options, for typer to read; it gets them as keyword arguments."""
    names = tuple(sorted(names, key=lambda name: get_args(Panel).index(OPTIONS[name].panel)))

    def decorate(command: Command) -> Command:
        own = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        options = [_parameter(name, OPTIONS[name]) for name in names]

        @functools.wraps(command)
        def reading(*given: Any, **asked: Any) -> None:  # noqa: ANN401
            for name in names:
                if (read := OPTIONS[name].read) is not None:
                    asked[name] = read(asked[name])
            command(*given, **asked)

        reading.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
        reading.__annotations__ = {each.name: each.annotation for each in [*own, *options]}
        return cast("Command", reading)

    return decorate


def _parameter(name: str, option: Declared) -> inspect.Parameter:
    flags = () if option.flag is None else (option.flag,)
    info = typer.Option(
        *flags,
        help=option.help,
        rich_help_panel=option.panel,
        metavar=option.metavar,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[option.kind, info],
    )


def collect_options(context: typer.Context) -> list[str]:
    """List the options that were typed, by the names of their parameters."""
    sources = {option: context.get_parameter_source(option) for option in context.params}
    return [
        option
        for option, source in sources.items()
        if source is not None and source.name != "DEFAULT"
    ]


def audit_arguments(
    context: typer.Context, options: Mapping[str, Any], sensitive: Sequence[str] = ()
) -> dict[str, object]:
    """Return the audit arguments that were typed; all others have the defaults of the library.

    `sensitive` are the columns that are known before anything is read.
    """
    typed = set(collect_options(context))
    read: dict[str, Callable[[Any], object]] = {
        "bins": bins_of,
        "by": _period,
        "engine": engine_of,
        "reference": lambda given: _reference(given, options.get("sensitive") or sensitive),
        "score_range": _score_range,
        "threshold": _threshold,
        "label": lambda given: _texts(given, "label"),
        "about": lambda given: _texts(given, "about"),
    }
    arguments: dict[str, object] = {
        OPTIONS[name].setting or name: read[name](options[name]) if name in read else options[name]
        for name in (*_ARGUMENTS, *SETTINGS, *_MORE_ARGUMENTS)
        if name in typed
    }
    csv = csv_of({name: options[name] for name in CSV_OPTIONS if name in typed})
    return {**arguments, "csv": csv} if csv else arguments


def csv_of(typed: Mapping[str, Any]) -> dict[str, object]:
    """Make the argument `csv` of an audit from the options that were typed."""
    from likeforlike.files import check_decimal

    named = {"null_value": "null_values", "no_usual_nulls": "usual_nulls"}
    csv: dict[str, object] = {named.get(name, name): value for name, value in typed.items()}
    if "usual_nulls" in csv:
        csv["usual_nulls"] = not csv["usual_nulls"]
    if "decimal" in csv:
        csv["decimal"] = check_decimal(typed["decimal"])
    return csv


def engine_of(name: str) -> Engine:
    """Return the engine of this name; refuse any other name."""
    for engine in ENGINES:
        if name == engine:
            return engine
    raise InputError(f"--engine must be {one_of(ENGINES)}, not {name!r}.")


def bins_of(given: Sequence[str]) -> dict[str, Cut]:
    """Where columns are cut."""
    bins: dict[str, Cut] = {}
    for text in given:
        column, separator, cut = text.rpartition("=")
        words: list[Calendar] = [part for part in _CALENDAR if part == cut]
        try:
            if words:
                bins[column] = words[0]
            elif cut.isdecimal():
                bins[column] = int(cut)
            else:
                bins[column] = [float(edge) for edge in cut.split(",")]
        except ValueError:
            separator = ""
        if not separator:
            raise InputError(
                f"--bins must look like COLUMN=10, COLUMN=20000,40000 or, for dates, COLUMN=month, "
                f"not {text!r}."
            )
    return bins


def _period(text: str) -> str | dict[str, str]:
    """Return the column of periods, with the part of the calendar that its dates are cut by."""
    column, separator, part = text.rpartition("=")
    return {column: part} if separator and part in _CALENDAR else text


def _reference(given: Sequence[str], columns: Sequence[str]) -> str | dict[str, str]:
    """One group, or {column: group} where groups are named with their column."""
    parts = [text.partition("=") for text in given]
    if all(separator and column in columns for column, separator, _ in parts):
        return {column: group for column, _, group in parts}
    if len(given) > 1 or len(columns) > 1:
        raise InputError(
            f"--reference must look like COLUMN=GROUP, once for each sensitive column, not "
            f"{given[0]!r}."
        )
    return given[0]


def _texts(given: Sequence[str], name: str) -> dict[str, str]:
    """Read NAME=TEXT; a name may hold a = of its own, as column=value does."""
    parts = [text.rpartition("=") for text in given]
    for text, (key, _, words) in zip(given, parts, strict=True):
        if not key.strip() or not words.strip():
            raise InputError(f"--{name} must look like NAME=TEXT, not {text!r}.")
    return {key.strip(): words.strip() for key, _, words in parts}


def _threshold(text: str) -> float | str:
    """Read a threshold: a number, or a percentage, which is kept as it is written."""
    if text.strip().endswith("%"):
        return text
    try:
        return float(text)
    except ValueError as error:
        raise InputError(
            f"--threshold must be a number such as 0.05, or a percentage such as 5%, not {text!r}."
        ) from error


def _score_range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"--score-range must look like 0,1, not {text!r}.") from error
    return low, high
