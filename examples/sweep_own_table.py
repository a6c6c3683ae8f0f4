"""A sweep over a table of your own: what several methods trade, on test rows of several splits.

Two splits and few epochs keep the script short. The command `likeforlike sweep` does the same for
a file.

In what it prints, # stands for digits that may differ from machine to machine.

    $ python examples/sweep_own_table.py
    classification, 3000 rows, 0 left out
    no regularization at 0: AUC 0.6## ± 0.0##, conditional disparity 0.1## ± 0.0##
    legitimate only at 0: AUC 0.6## ± 0.0##, conditional disparity 0.0## ± 0.0##
    FairLeap at 1: AUC 0.6## ± 0.0##, conditional disparity 0.0## ± 0.0##
    FairLeap at 10: AUC 0.6## ± 0.0##, conditional disparity 0.0## ± 0.0##
    a second call read 8 finished runs from the journal
"""

import tempfile
from pathlib import Path

from likeforlike.datasets import dataset_of_table, make_loans
from likeforlike.experiments import Task, named_methods, sweep

# Any table with a target, a sensitive column and legitimate columns; all others are inputs.
table = make_loans(3000, gap=0.15).frame.drop("score")
data, left_out = dataset_of_table(table, target="approved", sensitive="sex", legitimate=["income"])
print(f"{data.task}, {data.frame.height} rows, {left_out} left out")

task = Task(data, max_epochs=20, patience=10)
methods = named_methods(["none", "legitimate-only", "fairleap"], [1.0, 10.0])
with tempfile.TemporaryDirectory() as folder:
    journal = Path(folder) / "journal.jsonl"
    # Without `workers=0` every core trains, in a process of its own.
    found = sweep(task, methods, seeds=2, journal=journal, workers=0)
    again = sweep(task, methods, seeds=2, journal=journal, workers=0)

for run in found.means().iter_rows(named=True):
    print(
        f"{run['method']} at {run['strength']:g}: "
        f"AUC {run['performance']:.3f} ± {run['performance_sd']:.3f}, "
        f"conditional disparity {run['cdd_marginal']:.3f} ± {run['cdd_marginal_sd']:.3f}"
    )
assert again.runs.equals(found.runs)
print(f"a second call read {again.runs.height} finished runs from the journal")
