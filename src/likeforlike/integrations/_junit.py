"""A verdict as a JUnit file, which every build server reads.

A suite for each verdict, a case for every two groups. "fail" is a failure. "investigate" is
neither passed nor failed: JUnit calls that skipped, and the message says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

from likeforlike._text import visible
from likeforlike.document._names import named_groups
from likeforlike.document._results import AuditDocument, Judgment, Verdict, as_document
from likeforlike.document._verdict_words import verdict_meaning, verdict_origin, verdict_title
from likeforlike.errors import InputError

# Characters that XML cannot hold; others that steer what shows them are escaped already.
_NO_XML = re.compile("[\ufffe\uffff]")
_ELEMENT = {"fail": "failure", "investigate": "skipped"}


def junit(document: AuditDocument | Mapping[str, object]) -> str:
    """The verdicts of an audit as JUnit XML, as Jenkins' schema has it.

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
    named = named_groups(document)
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


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", visible(text))
