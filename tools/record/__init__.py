"""What public calls of the library give, kept in a file, and held against what they give later.

    python -m tools.record --out tests/project/recorded.json

Make the file anew only when results are meant to change, and say in the changelog why they do.
Times, versions, fingerprints and sentences are left out: they may change while results stay.

- `library`: all names of the library that are called, by the paths that its documentation shows.
- `case`: what a case is, and the small tables that most of them read.
- `measuring`, `auditing`, `enforcing`: the cases.
- `values`: results as plain values, and where two of them differ.
"""

from tools.record.auditing import CASES as _AUDITING
from tools.record.case import Case
from tools.record.enforcing import CASES as _ENFORCING
from tools.record.measuring import CASES as _MEASURING
from tools.record.values import Plain, differences, plain, recorded_text

__all__ = ["CASES", "Case", "Plain", "differences", "plain", "recorded_text"]

CASES: dict[str, Case] = {**_MEASURING, **_AUDITING, **_ENFORCING}
"""All cases by name, in the order of the record."""
