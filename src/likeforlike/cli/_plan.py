"""`likeforlike audit --plan` and `--release`: the side of those who do not see A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from likeforlike.cli._pipelines import typed_options
from likeforlike.errors import InputError
from likeforlike.report._terminal import Terminal

if TYPE_CHECKING:
    import typer

    from likeforlike.auditing import Audit
    from likeforlike.document._request import ThresholdOf
    from likeforlike.document._results import Verdict
    from likeforlike.files._csv import CsvOptions
    from likeforlike.teams import AuditPlan, PlanAudit


# What an audit without A can be told on the command line.
_TAKEN = frozenset(
    [
        "files",
        "score",
        "sensitive",
        "legitimate",
        "separator",
        "encoding",
        "null_value",
        "no_usual_nulls",
        "decimal",
        "sheet",
        "known_by",
        "plan",
        "release",
        "confidence",
        "permutations",
        "seed",
        "threshold",
        "of",
        "report",
        "json",
        "junit",
    ]
)


class _Figures(TypedDict):
    """How sure intervals are, and how often labels are dealt anew."""

    confidence: float
    permutations: int
    seed: int


class Planned(NamedTuple):
    """What is said on the command line about an audit without A."""

    file: Path
    score: str | None
    sensitive: Sequence[str] | None
    legitimate: Sequence[str]
    id: str | None
    options: CsvOptions


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


def _read(planned: Planned, release: Path, figures: _Figures) -> PlanAudit:
    from likeforlike.teams import Release

    return _plan(planned).read(
        Release.read(release),
        confidence=figures["confidence"],
        permutations=figures["permutations"],
        random_state=figures["seed"],
    )


def judged_plan(
    planned: Planned, release: Path, asked: Mapping[str, object], figures: _Figures
) -> tuple[Audit, Verdict | None]:
    """The audit that a release makes of a plan, and what a threshold says of it."""
    audited = _read(planned, release, figures)
    if "threshold" not in asked:
        return audited, None
    of = cast("ThresholdOf", asked.get("of", "distance"))
    verdict = audited.verdict(cast("float | str", asked["threshold"]), of=of)
    return audited.with_verdict(verdict), verdict


def refuse_others(context: typer.Context) -> None:
    """Complain about options that an audit without A cannot take."""
    for option in typed_options(context):
        if option not in _TAKEN:
            name = option.replace("_", "-")
            raise InputError(f"--{name} is not for --plan and --release; leave it out.")


def _plan(planned: Planned) -> AuditPlan:
    from likeforlike.teams import audit_plan
    from likeforlike.teams._named_columns import read_named

    if planned.score is None:
        raise InputError("--score must name the column of scores or decisions.")
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
