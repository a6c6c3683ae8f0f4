"""`likeforlike audit --plan` and `--release`: the side of those who do not see A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from likeforlike.cli._terminal import Terminal
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike.files._csv import CsvOptions
    from likeforlike.teams import AuditPlan, PlanAudit


class Planned(NamedTuple):
    """What is said on the command line about an audit without A."""

    file: Path
    score: str
    sensitive: Sequence[str] | None
    legitimate: Sequence[str]
    id: str | None
    options: CsvOptions


def planned_of(
    files: Sequence[Path],
    asked: Mapping[str, object],
    sensitive: Sequence[str] | None,
    known_by: str | None,
) -> Planned:
    """What was said about an audit without A, which is made of one table."""
    from likeforlike.files._csv import CsvOptions

    if len(files) > 1:
        raise InputError("--plan and --release take one file of rows.")
    if "score" not in asked:
        raise InputError("--score must name the column of scores or decisions.")
    options = CsvOptions(
        cast("str | None", asked.get("separator")),
        cast("str | None", asked.get("encoding")),
        tuple(cast("Sequence[str]", asked.get("null_values", ()))),
        bool(asked.get("usual_nulls", True)),
    )
    legitimate = cast("Sequence[str]", asked.get("legitimate", ()))
    return Planned(files[0], str(asked["score"]), sensitive, legitimate, known_by, options)


def write_plan(planned: Planned, request: Path) -> None:
    """Write the request of a plan, for the custodian."""
    from likeforlike.files._writing import check_writable

    check_writable(request)
    plan = _plan(planned)
    plan.request.write(request)
    Terminal().print(
        f"Written: {request} ({len(plan.request.ids):,} rows in {plan.request.n_codes:,} bins). "
        "Send it to the custodian, and read the answer with --release."
    )


def read_plan(
    planned: Planned, release: Path, *, confidence: float, permutations: int, seed: int
) -> PlanAudit:
    """The audit that a release makes of a plan."""
    from likeforlike.teams import Release

    return _plan(planned).read(
        Release.read(release),
        confidence=confidence,
        permutations=permutations,
        random_state=seed,
    )


def refuse_others(given: dict[str, object]) -> None:
    """Complain about options that an audit without A cannot take."""
    named = next((name for name, value in given.items() if value), None)
    if named is not None:
        raise InputError(f"--{named} is not for --plan and --release; leave it out.")


def _plan(planned: Planned) -> AuditPlan:
    from likeforlike.teams import audit_plan
    from likeforlike.teams._named_columns import read_named

    if planned.id is None:
        raise InputError("--id must name the column by which the custodian knows the rows.")
    names = [planned.score, *planned.legitimate, planned.id]
    read = read_named(planned.file, names, number=planned.score, options=planned.options)
    levels = None
    if planned.legitimate:
        import polars as pl

        levels = pl.DataFrame([read[name].alias(name) for name in planned.legitimate])
    return audit_plan(
        read[planned.score],
        levels,
        read[planned.id],
        score=planned.score,
        sensitive=", ".join(planned.sensitive or ("group",)),
        legitimate=tuple(planned.legitimate),
    )
