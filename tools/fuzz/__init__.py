"""Calls with numbers, labels, tables and files that nobody would send on purpose.

    python -m tools.fuzz --minutes 30              # as many calls as fit, then counts and failures
    python -m tools.fuzz --case cdd_lp:1234        # one of them once more, with what it was called

A call may succeed or end in an `InputError`; an estimator may also end in a `ValueError` that
scikit-learn raises of itself. Everything else is a failure: another exception, a warning about
arithmetic, a number that is not finite although the input does not explain it, a figure outside of
its range. A call that never ends stops the run and says which it was. Every call has a number of
its own and is the same on every machine.

- `draw`: chance, with a memory of what was called.
- `columns`: scores, labels and weights in every container there is; among them such as are none.
- `settings`: orders, measures, thresholds and their like.
- `measuring`, `enforcing`, `auditing`, `saving`, `commands`: what is called.
- `runner`: calls, counts, failures.
"""

from tools.fuzz.auditing import TARGETS as _AUDITING
from tools.fuzz.commands import TARGETS as _COMMANDS
from tools.fuzz.enforcing import TARGETS as _ENFORCING
from tools.fuzz.measuring import TARGETS as _MEASURING
from tools.fuzz.runner import Target
from tools.fuzz.saving import TARGETS as _SAVING

__all__ = ["TARGETS", "Target"]

TARGETS: dict[str, Target] = {
    **_MEASURING,
    **_ENFORCING,
    **_AUDITING,
    **_SAVING,
    **_COMMANDS,
}
"""All that is called, by name."""
