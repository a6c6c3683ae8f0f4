"""Audits in pipelines: by a policy, for build servers, next to a run on GitHub."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike.auditing import Audit, Policy, Summary
    from likeforlike.document._request import ThresholdOf
    from likeforlike.document._results import AuditDocument, Verdict
    from likeforlike.report._terminal import Terminal

_SUMMARY, _ACTIONS = "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"


def policy_for(
    file: Path | None, asked: Mapping[str, object], *, needs_verdict: bool
) -> Policy | None:
    """The policy in a file, if there is one; options that contradict each other are refused."""
    from likeforlike.auditing import Policy

    policy = None if file is None else Policy.read(file)
    if policy is not None:
        policy.refuse(asked)
    if "of" in asked and "threshold" not in asked:
        raise InputError("--of says what --threshold is for; give one.")
    judged = "threshold" in asked or (policy is not None and policy.thresholds)
    if needs_verdict and not judged:
        raise InputError("--junit needs a verdict; give --threshold, or a --policy with one.")
    return policy


def judged_audit(
    source: Path | Summary,
    policy: Policy | None,
    asked: Mapping[str, object],
    progress: Callable[[int], None] | None,
) -> tuple[Audit, Verdict | None]:
    """Audit by a policy or by options, and say what the thresholds of either say."""
    from likeforlike.auditing import Policy

    for role in ("score", "sensitive"):
        if policy is None and isinstance(source, Path) and role not in asked:
            raise InputError(f"--{role} must name a column; a policy can do so, too (--policy).")
    gate = {name: asked[name] for name in ("threshold", "of") if name in asked}
    arguments = {name: asked[name] for name in asked.keys() - gate.keys()}
    # Without a policy everything is said by options: that of a policy that says nothing.
    audited = (policy or Policy("none", {}, ())).audit(source, **arguments, progress=progress)
    if gate:
        audited = audited.with_threshold(
            cast("float | str", gate["threshold"]),
            of=cast("ThresholdOf", gate.get("of", "distance")),
        )
    return audited, audited.verdicts[-1] if audited.verdicts else None


def deliver_verdict(document: AuditDocument, junit: Path | None) -> None:
    """Write the JUnit file that was asked for, and add to the summary of a step on GitHub."""
    from likeforlike.files._writing import write_whole
    from likeforlike.integrations import github_summary
    from likeforlike.integrations import junit as junit_text

    if junit is not None:
        write_whole(junit, junit_text(document))
    target = os.environ.get(_SUMMARY)
    if target:
        try:
            with open(target, "a", encoding="utf-8") as file:
                file.write(github_summary(document))
        except OSError as error:
            raise InputError(
                f"{target} ({_SUMMARY}) cannot be written: {error.strerror or error}."
            ) from error


def deliver_pairs(audit: Audit, file: Path | None) -> None:
    """Write the pairs furthest apart, of every level of every contrast."""
    from likeforlike.auditing._pairs import pairs_csv
    from likeforlike.files._writing import write_whole

    if file is not None:
        found = (
            pair
            for place, contrast in enumerate(audit.contrasts)
            for level in contrast.levels
            for pair in audit.pairs(level.level, contrast=place)
        )
        write_whole(file, pairs_csv(found))


def tell_pipeline(
    document: AuditDocument, files: Sequence[Path | None], terminal: Terminal
) -> None:
    """Name the files, and tell GitHub what the verdict is."""
    from likeforlike.integrations import github_annotations

    for file in files:
        if file is not None:
            terminal.print(f"Written: {file}")
    if os.environ.get(_ACTIONS) == "true":
        for command in github_annotations(document):
            # Neither wrapped nor styled: a runner reads whole lines.
            terminal.file.write(f"{command}\n")
