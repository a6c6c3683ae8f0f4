"""`likeforlike audit-plan` and `audit-release`: the side of those who do not see A."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from likeforlike.errors import InputError
from likeforlike.report._terminal import Terminal

if TYPE_CHECKING:
    from likeforlike.auditing import Audit
    from likeforlike.document._request import ThresholdOf
    from likeforlike.document._results import Verdict
    from likeforlike.teams import AuditPlan


def write_plan(
    file: Path, options: Mapping[str, Any], csv: Mapping[str, object], request: Path
) -> None:
    """Write the request of a plan, for the custodian."""
    from likeforlike.files._writing import check_writable

    check_writable(request, "--out")
    plan = _plan(file, options, csv)
    plan.request.write(request)
    Terminal().print(
        f"Written: {request} ({len(plan.request.ids):,} rows in {plan.request.n_codes:,} bins). "
        "Send it to the custodian, and read the answer with likeforlike audit-release."
    )


def judged_plan(
    file: Path,
    options: Mapping[str, Any],
    csv: Mapping[str, object],
    release: Path,
    asked: Mapping[str, object],
) -> tuple[Audit, Verdict | None]:
    """The audit that a release makes of a plan, and the verdict at a threshold."""
    from likeforlike.teams import Release

    audited = _plan(file, options, csv).read(
        Release.read(release),
        confidence=options["confidence"],
        permutations=options["permutations"],
        random_state=options["seed"],
    )
    if "threshold" not in asked:
        return audited, None
    of = cast("ThresholdOf", options["of"])
    verdict = audited.verdict(cast("float | str", asked["threshold"]), of=of)
    return audited.with_verdict(verdict), verdict


def _plan(file: Path, options: Mapping[str, Any], csv: Mapping[str, object]) -> AuditPlan:
    from likeforlike.files._csv import csv_options
    from likeforlike.teams import audit_plan
    from likeforlike.teams._named_columns import read_named

    score, legitimate, known_by = options["score"], options["legitimate"] or [], options["id"]
    if score is None:
        raise InputError("--score must name the column of scores or decisions.")
    if known_by is None:
        raise InputError("--id must name the column by which the custodian knows the rows.")
    read = read_named(file, [score, *legitimate, known_by], number=score, options=csv_options(csv))
    levels = None
    if legitimate:
        import polars as pl

        levels = pl.DataFrame([read[name].alias(name) for name in legitimate])
    return audit_plan(
        read[score],
        levels,
        read[known_by],
        score=score,
        sensitive=", ".join(options["sensitive"] or ("group",)),
        legitimate=tuple(legitimate),
    )
