"""Audits in other programs: summaries and annotations on GitHub, JUnit files, runs in MLflow.

GitHub shows a summary of the step, and a line for every verdict. A JUnit file, which every build
server reads, has a suite for each verdict and a case for every two groups: "fail" is a failure;
"investigate" is neither passed nor failed, which JUnit calls skipped, and the message says what it
is. MLflow gets figures as metrics, what was asked as parameters, and the verdict as tags.

Labels come from data of any origin, so nothing in them is obeyed: neither Markdown nor the commands
that a runner reads in what is printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import ModuleType
from xml.etree import ElementTree as ET

from likeforlike._lazy import extra
from likeforlike._text import figure, visible
from likeforlike.auditing import Audit
from likeforlike.document import (
    AuditDocument,
    ContrastAudit,
    Judgment,
    Outcome,
    Verdict,
    as_document,
    json_text,
    name_groups,
    plain,
    verdict_meaning,
    verdict_origin,
    verdict_title,
)
from likeforlike.errors import InputError
from likeforlike.report import escape_markdown, page

__all__ = ["github_annotations", "github_summary", "junit", "log_to_mlflow"]

_COMMAND = {"pass": "notice", "fail": "error", "investigate": "warning"}
_SIGN = {"pass": "✅", "fail": "❌", "investigate": "⚠️"}
_SHOWN_CONTRASTS = 20


def github_summary(document: AuditDocument | Mapping[str, object]) -> str:
    r"""Write the finding, verdicts and contrasts as Markdown.

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
    ### No difference was found between women and men\.
    """
    named = name_groups(as_document(document))
    lines = [f"### {escape_markdown(named.finding.headline)}", ""]
    for part in named.verdicts:
        lines += [*_verdict(part), ""]
    lines += [f"- {escape_markdown(sentence)}" for sentence in named.finding.sentences]
    lines += [f"- ⚠️ {escape_markdown(caution)}" for caution in named.finding.cautions]
    lines += ["", "| groups | rows | gap | interval |", "|---|---|---|---|"]
    lines += [_row(contrast) for contrast in named.contrasts[:_SHOWN_CONTRASTS]]
    hidden = len(named.contrasts) - _SHOWN_CONTRASTS
    lines += ["", f"and {hidden:,} more contrasts"] if hidden > 0 else []
    return "\n".join(lines) + "\n"


def github_annotations(document: AuditDocument | Mapping[str, object]) -> list[str]:
    """Write a command of GitHub's runner for every verdict: an error, a warning or a notice.

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
    named = name_groups(as_document(document))
    about = f"{named.roles.score} by {named.roles.sensitive}"
    return [
        f"::{_COMMAND[part.verdict]} title={_property(about + ': ' + part.verdict)}::"
        + _data(" ".join([f"{verdict_title(part)}.", *part.reasons]))
        for part in named.verdicts
    ]


def _verdict(part: Verdict) -> list[str]:
    said = escape_markdown(verdict_title(part))
    title = f"{_SIGN[part.verdict]} **{said}** ({verdict_meaning(part)})"
    return [
        title,
        "",
        *(f"- {escape_markdown(each)}" for each in [*part.reasons, *verdict_origin(part)]),
    ]


def _row(contrast: ContrastAudit) -> str:
    gap = contrast.gap
    ends = "none" if gap.interval is None else " to ".join(map(figure, gap.interval))
    rows = " and ".join(f"{rows:,}" for rows in contrast.rows)
    names = escape_markdown(" and ".join(contrast.groups))
    return f"| {names} | {rows} | {figure(gap.value)} | {ends} |"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# Characters that XML cannot hold; others that steer what shows them are escaped already.
_NO_XML = re.compile("[\ufffe\uffff]")
_ELEMENT = {"fail": "failure", "investigate": "skipped"}


def junit(document: AuditDocument | Mapping[str, object]) -> str:
    """Write the verdicts of an audit as JUnit XML, as Jenkins' schema has it.

    Parameters
    ----------
    document : `Audit.document` or its plain values, with at least one verdict.

    Returns
    -------
    the file as text.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.integrations import junit
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> 'tests="1" failures="0"' in junit(audit.with_threshold(0.9).document)
    True
    """
    document = as_document(document)
    if not document.verdicts:
        raise InputError(
            "a JUnit file needs a verdict; give a threshold (--threshold), or a policy with one."
        )
    named = name_groups(document)
    suites = [_suite(named, part) for part in named.verdicts]
    root = ET.Element("testsuites", name="likeforlike")
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in suites)))
    root.extend(suites)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, "unicode")}\n'


def _suite(document: AuditDocument, part: Verdict) -> ET.Element:
    roles, made = document.roles, document.provenance
    counted = [judged.verdict for judged in part.judgments]
    suite = ET.Element(
        "testsuite",
        name=_text(f"{roles.score} by {roles.sensitive}: {verdict_title(part)}"),
        tests=str(len(counted)),
        failures=str(counted.count("fail")),
        errors="0",
        skipped=str(counted.count("investigate")),
        timestamp=made.created.partition("+")[0],
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("verdict", part.verdict),
        ("meaning", verdict_meaning(part)),
        ("thresholds", "; ".join([verdict_title(part), *verdict_origin(part)])),
        ("headline", document.finding.headline),
        ("rows", f"{document.data.used} used of {document.data.rows}"),
        ("fingerprint", made.fingerprint),
        *((f"version of {name}", value) for name, value in made.versions.items()),
    ):
        ET.SubElement(properties, "property", name=_text(name), value=_text(value))
    suite.extend(_case(document, judged) for judged in part.judgments)
    return suite


def _case(document: AuditDocument, judged: Judgment) -> ET.Element:
    case = ET.Element(
        "testcase",
        name=_text(" and ".join(judged.groups)),
        classname=_text(f"likeforlike.{document.roles.score}"),
    )
    element = _ELEMENT.get(judged.verdict)
    if element is not None:
        outcome = ET.SubElement(case, element, type=judged.verdict, message=_text(judged.reason))
        outcome.text = _text(document.finding.headline)
    else:
        ET.SubElement(case, "system-out").text = _text(judged.reason)
    return case


Case = tuple[str, Outcome, str]
"""What was judged, how, and why."""


def case_junit(title: str, cases: Sequence[Case]) -> str:
    """Write cases as JUnit XML: of comparisons and monitors, which have no audit's document."""
    counted = [outcome for _, outcome, _ in cases]
    root = ET.Element("testsuites", name="likeforlike")
    suite = ET.SubElement(root, "testsuite", name=_text(title))
    for element in (root, suite):
        element.set("tests", str(len(cases)))
        element.set("failures", str(counted.count("fail")))
        element.set("errors", "0")
    suite.set("skipped", str(counted.count("investigate")))
    for name, outcome, reason in cases:
        case = ET.SubElement(suite, "testcase", name=_text(name), classname="likeforlike")
        if outcome in _ELEMENT:
            ET.SubElement(case, _ELEMENT[outcome], type=outcome, message=_text(reason))
        else:
            ET.SubElement(case, "system-out").text = _text(reason)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, "unicode")}\n'


def case_summary(title: str, cases: Sequence[Case]) -> str:
    """Write cases as Markdown."""
    lines = [
        f"- {_SIGN[how]} {escape_markdown(name)}: {escape_markdown(why)}"
        for name, how, why in cases
    ]
    return "\n".join([f"### {escape_markdown(title)}", "", *lines]) + "\n"


def case_annotations(title: str, cases: Sequence[Case]) -> list[str]:
    """Write a command of GitHub's runner for every case."""
    return [
        f"::{_COMMAND[how]} title={_property(f'{title}: {name}')}::{_data(why)}"
        for name, how, why in cases
    ]


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", visible(text))


# MLflow takes these in names, and texts up to this length.
_NO_NAME = re.compile(r"[^\w\-. :/]", re.ASCII)
_LONGEST = 4000


def log_to_mlflow(audit: Audit, *, prefix: str = "likeforlike", files: bool = True) -> str:
    """Log an audit to MLflow: to the run that is active, or to a new one.

    Metrics are the gap and the distance with the ends of their intervals, the p-value and the rows;
    with several contrasts each has its own, too. An end that does not exist is left out. Tags hold
    the last verdict that was kept, its reasons, the headline and the fingerprint;
    parameters hold roles and settings. Needs the extra `mlflow`, with a tracking URI set.

    Parameters
    ----------
    audit : with or without verdicts.
    prefix : of all names; two audits in one run need two.
    files : whether JSON and page are stored with the run.

    Returns
    -------
    the id of the run.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.integrations import log_to_mlflow
    >>> def nightly(table, run):  # with a model that MLflow knows
    ...     audit = lfl.audit(table, score="score", sensitive="sex", legitimate="income")
    ...     return log_to_mlflow(audit.with_threshold(0.05))
    """
    with extra("mlflow"):
        import mlflow

    document = audit.document
    active = mlflow.active_run()
    if active is None:
        with mlflow.start_run() as run:
            _log(mlflow, document, prefix, files=files)
            return str(run.info.run_id)
    _log(mlflow, document, prefix, files=files)
    return str(active.info.run_id)


def _log(mlflow: ModuleType, document: AuditDocument, prefix: str, *, files: bool) -> None:
    named = name_groups(document)
    mlflow.log_metrics({f"{prefix}.{name}": value for name, value in _metrics(named).items()})
    mlflow.log_params({f"{prefix}.{name}": value for name, value in _params(named).items()})
    mlflow.set_tags({f"{prefix}.{name}": value for name, value in _tags(named).items()})
    if files:
        mlflow.log_text(json_text(plain(document)), f"{prefix}/audit.json")
        mlflow.log_text(page(document), f"{prefix}/audit.html")


def _metrics(document: AuditDocument) -> dict[str, float]:
    """Figures of the first contrast; with several, those of every contrast by its name, too."""
    contrasts = document.contrasts
    metrics = _figures(contrasts[0])
    metrics["rows"] = float(document.data.used)
    if len(contrasts) > 1:
        for number, contrast in enumerate(contrasts, 1):
            # Numbered, since names may be the same without the letters that MLflow refuses.
            name = _NO_NAME.sub("_", " and ".join(contrast.groups))[:150]
            metrics |= {
                f"{number} {name}.{key}": value for key, value in _figures(contrast).items()
            }
    return metrics


def _figures(contrast: ContrastAudit) -> dict[str, float]:
    gap, estimate = contrast.gap, contrast.estimate
    gap_low, gap_high = gap.interval or (None, None)
    low, high = (None, None) if estimate is None else estimate.interval
    figures = {
        "gap": gap.value,
        "gap_low": gap_low,
        "gap_high": gap_high,
        "distance": None if estimate is None else estimate.value,
        "distance_low": low,
        "distance_high": high,
        "p_value": contrast.p_value,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _params(document: AuditDocument) -> dict[str, str]:
    asked = {**plain(document.roles), **plain(document.settings)}
    return {name: str(value)[:_LONGEST] for name, value in asked.items()}


def _tags(document: AuditDocument) -> dict[str, str]:
    tags = {
        "headline": document.finding.headline,
        "fingerprint": document.provenance.fingerprint,
    }
    for part in document.verdicts[-1:]:
        tags |= {
            "verdict": part.verdict,
            "threshold": verdict_title(part),
            "reasons": " ".join([*part.reasons, *verdict_origin(part)]),
        }
    return {name: value[:_LONGEST] for name, value in tags.items()}
