"""Equalized odds: the target is the level, so people with the same outcome are compared.

Gaps are those of the rates of men and women at a cut-off of one half, without a sign.

In what it prints, # stands for digits that may differ from machine to machine.

    $ python examples/equalized_odds.py
    strength 0: disparity 0.1## on 4000 unseen rows, gate at 0.05: fail
      gap of false positives 0.2##, of true positives 0.2##
    strength 10: disparity 0.0## on 4000 unseen rows, gate at 0.05: pass
      gap of false positives 0.0##, of true positives 0.0##
"""

import numpy as np
import polars as pl

import likeforlike as lfl
from likeforlike.datasets import make_loans

loans = make_loans(8000, gap=0.2, tilt=0.0)
X, sex, repaid = loans.inputs().matrix, loans.groups, loans.targets
mixed = np.random.default_rng(0).permutation(8000)
learn, unseen = mixed[:4000], mixed[4000:]

for strength in (0, 10):
    model = lfl.FairClassifier(
        strength=strength, max_epochs=30, learning_rate=0.003, random_state=0
    )
    # The outcome is needed to fit, as ever; it is neither known nor needed when predicting.
    model.fit(
        X[learn], repaid[learn], sensitive_features=sex[learn], legitimate_features=repaid[learn]
    )
    scores = model.predict_proba(X[unseen])[:, 1]
    table = pl.DataFrame({"score": scores, "sex": sex[unseen], "repaid": repaid[unseen]})
    found = lfl.audit(table, score="score", sensitive="sex", legitimate="repaid")
    print(
        f"strength {strength}: disparity {found.estimate:.3f} on {unseen.size} unseen rows, "
        f"gate at 0.05: {found.gate(0.05)}"
    )
    rates = (
        table.with_columns(accepted=pl.col("score") > 0.5)
        .pivot("sex", index="repaid", values="accepted", aggregate_function="mean")
        .sort("repaid")
    )
    false_gap, true_gap = (rates["male"] - rates["female"]).abs()
    print(f"  gap of false positives {false_gap:.3f}, of true positives {true_gap:.3f}")
