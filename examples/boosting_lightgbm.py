"""LightGBM with a penalty, stopped early by loss and penalty together.

In what it prints, # stands for digits that may differ from machine to machine.

    $ python examples/boosting_lightgbm.py
    strength 0: AUC 0.6##, disparity 0.0## on 3000 unseen rows, gate at 0.05: fail
    strength 10: AUC 0.6##, disparity 0.0## on 3000 unseen rows, gate at 0.05: pass
"""

import lightgbm
import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.training import lightgbm_metric, lightgbm_objective, probabilities

loans = make_loans(9000, gap=0.15)
X, y, sex, income = loans.inputs().matrix, loans.targets, loans.groups, loans.levels
mixed = np.random.default_rng(0).permutation(9000)
learn, stop, unseen = mixed[:4000], mixed[4000:6000], mixed[6000:]

for strength in (0, 10):
    train = lightgbm.Dataset(X[learn], y[learn])
    booster = lightgbm.train(
        {
            "objective": lightgbm_objective(lfl.FairLeap(), strength, sex[learn], income[learn]),
            # Its own metric knows no penalty.
            "metric": "None",
            "max_depth": 3,
            "num_threads": 1,
            "verbose": -1,
        },
        train,
        num_boost_round=300,
        valid_sets=[lightgbm.Dataset(X[stop], y[stop], reference=train)],
        feval=lightgbm_metric(lfl.FairLeap(), strength, sex[stop], income[stop]),
        callbacks=[lightgbm.early_stopping(20, verbose=False)],
    )
    # An objective of one's own leaves predictions raw.
    scores = probabilities(booster.predict(X[unseen]))
    table = pl.DataFrame({"score": scores, "sex": sex[unseen], "income": income[unseen]})
    found = lfl.audit(table, score="score", sensitive="sex", legitimate="income")
    print(
        f"strength {strength}: AUC {roc_auc_score(y[unseen], scores):.3f}, disparity "
        f"{found.estimate:.3f} on {unseen.size} unseen rows, gate at 0.05: {found.gate(0.05)}"
    )
