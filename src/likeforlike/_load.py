"""Read what was saved: a model, a repair or an audit.

Every file is JSON that says what it holds. It is read without torch and without scikit-learn's
pickles, and nothing in it is executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from likeforlike.errors import InputError

# Ten times the largest network that one would write as text.
_LARGEST_FILE = 200_000_000


def load(path: Path | str) -> Any:  # noqa: ANN401
    """Read a model, a repair or an audit, whatever was saved at `path`.

    Parameters
    ----------
    path : of a file that `save` of a `SavedModel`, an `UnawareRepair`, a `FairDecisions` or an
        `Audit` has written.

    Returns
    -------
    The object that was saved. A repair repairs as the one that was saved; its `record_` is what
    that one did when it was fitted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(1000, gap=0.2)
    >>> X, score = loans.inputs(with_sensitive=True).matrix, loans.frame["score"]
    >>> repair = lfl.UnawareRepair().fit(score, X, sensitive_features=loans.groups)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     repair.save(Path(folder) / "repair.json")
    ...     again = lfl.load(Path(folder) / "repair.json")
    >>> bool(abs(again.transform(score, X) - repair.transform(score, X)).max() < 1e-9)
    True
    """
    document, text = _read(Path(path))
    if document.get("schema") == "likeforlike.audit":
        from likeforlike.auditing import Audit

        return Audit.from_json(text)
    kind, read = _reader(document.get("format"), path)
    try:
        return read(document)
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise InputError(f"{path} is not a {kind}: {reason}.") from error


def _reader(says: object, path: Path | str) -> tuple[str, Callable[[dict[str, Any]], Any]]:
    """Choose what reads a document that says what it is."""
    if says == "likeforlike model 1":
        from likeforlike.training import model_from_document

        return "model", model_from_document
    if says == "likeforlike repair 1":
        return "repair", _repair
    raise _no_document(path, f"its format is {says!r}")


def _repair(document: dict[str, Any]) -> Any:  # noqa: ANN401
    """Make the repair that a document describes."""
    from likeforlike.repair import FairDecisions, UnawareRepair

    for kind in (UnawareRepair, FairDecisions):
        if document["kind"] == kind.__name__:
            return kind.from_document(document)
    raise InputError(f"kind must be 'UnawareRepair' or 'FairDecisions', not {document['kind']!r}")


def _read(path: Path) -> tuple[dict[str, Any], str]:
    """Read the JSON object in a file, and its text."""
    try:
        if not path.is_file() and path.exists():
            raise _no_document(path, "it is not a file")
        if path.stat().st_size > _LARGEST_FILE:
            raise _no_document(path, f"it has more than {_LARGEST_FILE:,} bytes")
        text = path.read_text(encoding="utf-8")
        document = json.loads(text, parse_float=_finite, parse_constant=_finite)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except RecursionError as error:
        raise _no_document(path, "its parts are nested too deeply") from error
    except InputError:
        raise
    except ValueError as error:
        raise _no_document(path, f"it is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise _no_document(path, "it has no named parts")
    return document, text


def _no_document(path: Path | str, reason: str) -> InputError:
    return InputError(f"{path} is not a saved model, repair or audit: {reason}.")


def _finite(text: str) -> float:
    """Read a number of a document; what JSON cannot hold could not be written again."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value
