"""People from a table of staff: one line per person, whatever the table is like.

Rows of the same person are contracts: pay and hours are added up, and the category is that of the
contract with the largest base pay. Only base pay has to be there. Without variable pay a person
receives none; without hours there is no hourly pay, without a category or a gender no comparison,
and all of these are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likeforlike._text import plural, quote
from likeforlike.auditing import read_columns, read_text_columns
from likeforlike.errors import InputError
from likeforlike.files import TextTable, column_key, csv_options, open_file, readable
from likeforlike.payroll._results import PayRequest, Staff

if TYPE_CHECKING:
    import polars as pl

    from likeforlike._settings import Engine

# How files write the sexes, in lower case.
_SEXES = {
    "women": "f female females w woman women femme femmes fem weiblich frau frauen mujer mujeres "
    "femenino donna donne femmina vrouw vrouwen kvinna kvinde kvinne kobieta mulher feminino",
    "men": "m male males man men h homme hommes masc männlich mann männer hombre hombres masculino "
    "uomo uomini maschio mannen mand mężczyzna homem",
}
_HOURS = {"year": 1.0, "month": 12.0, "week": 52.0}


def read_staff(
    data: Any,  # noqa: ANN401
    request: PayRequest,
    *,
    engine: Engine = "auto",
    csv: Mapping[str, object] | None = None,
) -> tuple[pl.DataFrame, Staff, list[str]]:
    """Read people with pay: columns sex, category, base, variable, total, hours; and notes.

    `sex` is "women", "men", another gender as the file has it, or null.
    """
    columns = {
        role: name
        for role in ("base", "variable", "hours", "sensitive", "category", "id")
        if (name := getattr(request, role)) is not None
    }
    named = list(dict.fromkeys(columns.values()))
    if len(named) < len(columns):
        raise InputError(f"each column can have one role only, not {columns}.")
    amounts = [columns[role] for role in ("base", "variable", "hours") if role in columns]
    optional = [name for role, name in columns.items() if role != "base"]
    options = csv_options(csv)
    opened: AbstractContextManager[Any]
    if isinstance(data, str | Path):
        opened = open_file(data, engine, options, named=named, numbers=amounts)
    else:
        options.refuse(f"data is a {type(data).__name__}")
        opened = nullcontext(data)
    with opened as source, readable(data):
        if isinstance(source, TextTable):
            read = read_text_columns(source, named, amounts, optional=optional)
        else:
            read = read_columns(source, named, amounts, decimal=options.decimal, optional=optional)
        frame = read.frame.collect()
    contracts = {role: frame[column_key(name)].to_list() for role, name in columns.items()}
    people = _add_contracts(contracts, request)
    unpaid = read.missing[request.base]
    return *_count(people, request, len(frame), unpaid), list(read.notes)


def _add_contracts(contracts: dict[str, list[Any]], request: PayRequest) -> pl.DataFrame:
    """Add the contracts of every person up."""
    import polars as pl

    size = len(contracts["base"])
    for role in ("base", "variable", "hours"):
        low = [x for x in contracts.get(role, ()) if x is not None and not 0.0 <= x < float("inf")]
        if low:
            raise InputError(
                f"column {getattr(request, role)!r} must hold amounts of 0 or more, but "
                f"{plural(len(low), 'row')} do not, such as {quote(low[0])}."
            )
    texts = {role: _as_texts(contracts.get(role), size) for role in ("sensitive", "category")}
    person = _as_texts(contracts.get("id"), size)
    rows = pl.DataFrame(
        {
            "person": [f"row {k}" if who is None else f"id {who}" for k, who in enumerate(person)],
            "sex": texts["sensitive"],
            "category": texts["category"],
            "base": contracts["base"],
            "variable": contracts.get("variable") or [0.0] * size,
            "hours": contracts.get("hours") or [None] * size,
        },
        schema_overrides={"base": pl.Float64, "variable": pl.Float64, "hours": pl.Float64}
        | dict.fromkeys(("sex", "category"), pl.String),
    )
    rows = rows.with_columns(
        pl.when(pl.col("hours") > 0.0).then(pl.col("hours") * _hours_per_unit(request))
    )
    people = rows.group_by("person", maintain_order=True).agg(
        pl.col("sex").drop_nulls().first(),
        pl.col("sex").drop_nulls().n_unique().alias("sexes"),
        pl.col("category")
        .sort_by("base", descending=True, maintain_order=True)
        .drop_nulls()
        .first(),
        pl.col("base").sum(),
        pl.col("variable").sum(),
        pl.col("variable").is_null().all().alias("empty"),
        pl.when(pl.col("hours").is_null().any())
        .then(None)
        .otherwise(pl.col("hours").sum())
        .first()
        .alias("hours"),
    )
    if torn := int((people["sexes"] > 1).sum()):
        raise InputError(
            f"{torn:,} people of column {request.id!r} have contracts with different "
            f"values in {request.sensitive!r}; correct them first."
        )
    return people.with_columns((pl.col("base") + pl.col("variable")).alias("total"))


def _hours_per_unit(request: PayRequest) -> float:
    """Return hours per year for 1 in the column of hours."""
    return (
        request.full_time or 1.0
        if request.hours_unit == "full-time"
        else _HOURS[request.hours_unit]
    )


def _as_texts(values: list[Any] | None, size: int) -> list[str | None]:
    return [
        None if value is None or not str(value).strip() else str(value).strip()
        for value in values or [None] * size
    ]


def _count(
    people: pl.DataFrame, request: PayRequest, contracts: int, missing: int
) -> tuple[pl.DataFrame, Staff]:
    """Name women and men, leave out who has no pay, and count everything."""
    import polars as pl

    paid = people.filter(pl.col("total") > 0.0)
    women, men = find_sexes(people["sex"].drop_nulls().unique().to_list(), request)
    named = {**dict.fromkeys(women, "women"), **dict.fromkeys(men, "men")}
    paid = paid.with_columns(pl.col("sex").replace(named))
    sizes: dict[str, int] = dict(paid.drop_nulls("sex").group_by("sex").len().sort("sex").rows())
    for sex in ("women", "men"):
        if sex not in sizes:
            raise InputError(f"there are no {sex} with pay; nothing can be compared.")
        if request.hours and not paid.filter(pl.col("sex") == sex)["hours"].count():
            raise InputError(f"column {request.hours!r} has hours of none of the {sex}.")
    lacks = {name: int(paid[name].null_count()) for name in ("sex", "category", "hours")}
    staff = Staff(
        people=paid.height,
        contracts=contracts,
        women=sizes.pop("women"),
        men=sizes.pop("men"),
        others=sizes,
        unknown=lacks["sex"],
        unpaid=people.height - paid.height + missing,
        no_category=lacks["category"] if request.category else 0,
        no_hours=lacks["hours"] if request.hours else 0,
        no_variable=int(paid["empty"].sum()),
    )
    return paid.drop("person", "sexes", "empty"), staff


def find_sexes(values: list[str], request: PayRequest) -> tuple[list[str], list[str]]:
    """Find which values of a column stand for women, and which for men.

    Words are read in several languages; codes such as 1 and 2 have to be named.
    """
    if request.women is not None or request.men is not None:
        if request.women is None or request.men is None or request.women == request.men:
            raise InputError(
                "name both: women= and men=, two values of the column (--women, --men)."
            )
        for name in (request.women, request.men):
            if name not in values:
                raise InputError(
                    f"column {request.sensitive!r} has no {name!r}; it has {sorted(values)}."
                )
        return [request.women], [request.men]
    women, men = (
        [value for value in values if value.lower() in words.split()] for words in _SEXES.values()
    )
    # Spanish has m for mujer and h for hombre.
    if {"m", "h"} <= {value.lower() for value in men} and not women:
        women, men = [], []
    if not (women and men):
        raise InputError(
            f"column {request.sensitive!r} has {sorted(values)}, which does not say who is a woman "
            "and who a man; name both: women='1', men='2' (--women 1 --men 2)."
        )
    return women, men
