"""What GitHub shows of a run: a summary of the step, and a line for every verdict.

Labels come from data that anybody may have written, so nothing in them is obeyed: neither Markdown
nor the commands that a runner reads in what is printed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from likeforlike._text import figure, visible
from likeforlike.document._names import named_groups
from likeforlike.document._results import AuditDocument, ContrastAudit, Verdict, as_document
from likeforlike.document._verdict_words import verdict_meaning, verdict_origin, verdict_title

_MARK = re.compile(r"([\\`*_{}\[\]()#+\-.!|~@:])")
_COMMAND = {"pass": "notice", "fail": "error", "investigate": "warning"}
_SIGN = {"pass": "✅", "fail": "❌", "investigate": "⚠️"}
_SHOWN_CONTRASTS = 20


def github_summary(document: AuditDocument | Mapping[str, object]) -> str:
    r"""The finding, verdicts and contrasts as Markdown.

    Parameters
    ----------
    document : `Audit.document` or its plain values.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.integrations import github_summary
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> print(github_summary(audit.document).splitlines()[0])
    ### Overall, no difference in the rate of approved between women and men was detected\.
    """
    named = named_groups(as_document(document))
    lines = [f"### {_plain(named.finding.headline)}", ""]
    for part in named.verdicts:
        lines += [*_verdict(part), ""]
    lines += [f"- {_plain(sentence)}" for sentence in named.finding.sentences]
    lines += [f"- ⚠️ {_plain(caution)}" for caution in named.finding.cautions]
    lines += ["", "| groups | rows | gap | interval |", "|---|---|---|---|"]
    lines += [_row(contrast) for contrast in named.contrasts[:_SHOWN_CONTRASTS]]
    hidden = len(named.contrasts) - _SHOWN_CONTRASTS
    lines += ["", f"and {hidden:,} more contrasts"] if hidden > 0 else []
    return "\n".join(lines) + "\n"


def github_annotations(document: AuditDocument | Mapping[str, object]) -> list[str]:
    """A command of GitHub's runner for every verdict: an error, a warning or a notice.

    Parameters
    ----------
    document : `Audit.document` or its plain values.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.integrations import github_annotations
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> github_annotations(audit.with_threshold(0.9).document)[0].split("::")[1]
    'notice title=approved by sex%3A pass'
    """
    named = named_groups(as_document(document))
    about = f"{named.roles.score} by {named.roles.sensitive}"
    return [
        f"::{_COMMAND[part.verdict]} title={_property(about + ': ' + part.verdict)}::"
        + _data(" ".join([f"{verdict_title(part)}.", *part.reasons]))
        for part in named.verdicts
    ]


def _verdict(part: Verdict) -> list[str]:
    title = f"{_SIGN[part.verdict]} **{_plain(verdict_title(part))}** ({verdict_meaning(part)})"
    return [title, "", *(f"- {_plain(each)}" for each in [*part.reasons, *verdict_origin(part)])]


def _row(contrast: ContrastAudit) -> str:
    gap = contrast.gap
    ends = "none" if gap.interval is None else " to ".join(map(figure, gap.interval))
    rows = " and ".join(f"{rows:,}" for rows in contrast.rows)
    names = _plain(" and ".join(contrast.groups))
    return f"| {names} | {rows} | {figure(gap.value)} | {ends} |"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARK.sub(r"\\\1", html.escape(visible(text), quote=False))


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
