"""Audits in MLflow: figures as metrics, what was asked as parameters, the verdict as tags."""

from __future__ import annotations

import re
from types import ModuleType

from likeforlike._extras import extra
from likeforlike.auditing._audit import Audit
from likeforlike.document._names import named_groups
from likeforlike.document._plain import json_text, plain
from likeforlike.document._results import AuditDocument, ContrastAudit
from likeforlike.document._verdict_words import verdict_origin, verdict_title
from likeforlike.report import page

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
    named = named_groups(document)
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
