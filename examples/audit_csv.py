"""Audit a CSV file: the finding, the levels, a gate, and a page to read.

The embedded loan example stands in for a file of your own: put its path and the names of its
columns in place of these. Everything is written into a temporary folder.

    $ python examples/audit_csv.py
    Women are approved less often than men with the same income: 20 points.
    estimate 0.197, 95% interval 0.112 to 0.274, p = 0.001
    overall 0.000 apart: Simpson's paradox (masked)
    income high: 300 female, 50 male, gap +0.20
    income low: 50 female, 300 male, gap +0.20
    income medium: 150 female, 150 male, gap +0.20
    threshold 0.05: fail
    written: page.html
"""

import tempfile
from pathlib import Path

import likeforlike as lfl
from likeforlike.datasets import load_loans

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "loans.csv"
    load_loans(1000).frame.write_csv(path)

    found = lfl.audit(path, score="approved", sensitive="sex", legitimate="income")

    # For people; `to_json` writes the same for machines.
    page = Path(folder) / "page.html"
    found.to_html(page)

print(found.to_dict()["finding"]["headline"])
# There is an interval because permutations were asked for, which is the default.
assert found.interval is not None
low, high = found.interval
print(f"estimate {found.estimate:.3f}, 95% interval {low:.3f} to {high:.3f}, p = {found.p_value}")
contrast = found.contrasts[0]
print(f"overall {found.unconditional.value:.3f} apart: Simpson's paradox ({contrast.paradox})")
for level in found.levels:
    sizes = ", ".join(f"{rows} {group}" for group, rows in level.rows.items())
    print(f"{level.name}: {sizes}, gap {level.gap:+.2f}")
print(f"threshold 0.05: {found.gate(0.05)}")
print(f"written: {page.name}")
