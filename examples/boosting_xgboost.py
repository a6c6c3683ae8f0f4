"""XGBoost with a penalty, stopped early by loss and penalty together.

In what it prints, # stands for digits that may differ from machine to machine.

    $ python examples/boosting_xgboost.py
    strength 0: AUC 0.6##, disparity 0.0## on 3000 unseen rows, gate at 0.05: fail
    strength 10: AUC 0.6##, disparity 0.0## on 3000 unseen rows, gate at 0.05: pass
"""

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score
from xgboost import XGBClassifier

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.training import xgboost_metric, xgboost_objective

RATE = 0.1

loans = make_loans(9000, gap=0.15)
X, y, sex, income = loans.inputs().matrix, loans.targets, loans.groups, loans.levels
mixed = np.random.default_rng(0).permutation(9000)
learn, stop, unseen = mixed[:4000], mixed[4000:6000], mixed[6000:]

for strength in (0, 10):
    model = XGBClassifier(
        # The objective is told the learning rate of the model where it is not the library's own.
        objective=xgboost_objective(
            lfl.FairLeap(), strength, sex[learn], income[learn], learning_rate=RATE
        ),
        eval_metric=xgboost_metric(lfl.FairLeap(), strength, sex[stop], income[stop]),
        learning_rate=RATE,
        n_estimators=300,
        max_depth=3,
        n_jobs=1,
        early_stopping_rounds=20,
    )
    model.fit(X[learn], y[learn], eval_set=[(X[stop], y[stop])], verbose=False)
    scores = model.predict_proba(X[unseen])[:, 1]
    table = pl.DataFrame({"score": scores, "sex": sex[unseen], "income": income[unseen]})
    found = lfl.audit(table, score="score", sensitive="sex", legitimate="income")
    print(
        f"strength {strength}: AUC {roc_auc_score(y[unseen], scores):.3f}, disparity "
        f"{found.estimate:.3f} on {unseen.size} unseen rows, gate at 0.05: {found.gate(0.05)}"
    )
