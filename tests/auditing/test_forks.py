"""Audits and fits in forked processes: each is answered or refused, and none hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.process, pytest.mark.training]

PROGRAM = '''
import multiprocessing, os, signal, sys, warnings
import numpy as np, pandas as pd, polars as pl, pyarrow as pa
import joblib
import likeforlike as lfl

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
COLUMNS = {"s": rng.normal(size=3000)}
COLUMNS |= {"a": rng.choice(["f", "m"], 3000), "l": rng.choice(["x", "y"], 3000)}
ROLES = dict(score="s", sensitive="a", legitimate="l", permutations=49)
X, Y = COLUMNS["s"][:, None], (COLUMNS["s"] > 0) * 1
ARROW, PANDAS, POLARS = pa.table(COLUMNS), pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)
POLARS.write_csv(sys.argv[1])

def fit(model):
    return model.fit(X, Y, sensitive_features=COLUMNS["a"]).predict(X)

WORK = {
    "pandas": lambda: lfl.audit(PANDAS, **ROLES).to_html(),
    "arrow": lambda: lfl.audit(ARROW, **ROLES).to_html(),
    "polars": lambda: lfl.audit(POLARS, **ROLES),
    "csv": lambda: lfl.audit(sys.argv[1], **ROLES),
    "duckdb": lambda: lfl.audit(sys.argv[1], engine="duckdb", **ROLES),
    "cdd": lambda: lfl.cdd_lp(COLUMNS["s"], COLUMNS["a"], COLUMNS["l"]),
    "network": lambda: fit(lfl.FairClassifier(strength=1.0, max_epochs=2)),
    "lightgbm": lambda: fit(lfl.FairLGBMClassifier(strength=1.0, n_estimators=20)),
    "xgboost": lambda: fit(lfl.FairXGBClassifier(strength=1.0, n_estimators=20)),
    "catboost": lambda: fit(lfl.FairCatBoostClassifier(strength=1.0, n_estimators=20)),
}

def answer(kind):
    try:
        WORK[kind]()
        return "answered"
    except lfl.errors.InputError as error:
        return "refused" if "forked" in str(error) and "spawn" in str(error) else str(error)

def told(kind, pipe):
    pipe.send(answer(kind))

def by_multiprocessing(kind):
    near, far = multiprocessing.Pipe(False)
    child = multiprocessing.get_context("fork").Process(target=told, args=(kind, far))
    child.start()
    found = near.recv() if near.poll(30) else "hangs"
    child.kill() if found == "hangs" else child.join()
    return found

def by_prefork(kind):
    """As gunicorn and uWSGI do it: load, fork a worker, let it serve."""
    near, far = os.pipe()
    worker = os.fork()
    if not worker:
        os.write(far, answer(kind).encode())
        os._exit(0)
    os.close(far)
    found = os.read(near, 1000).decode() if multiprocessing.connection.wait([near], 30) else "hangs"
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    return found

import multiprocessing.connection
for kind in ("csv", "pandas", "duckdb", "network", "lightgbm", "xgboost", "catboost"):
    WORK[kind]()
for kind in WORK:
    print("multiprocessing", kind, by_multiprocessing(kind))
    print("prefork", kind, by_prefork(kind))
gap = joblib.delayed(lambda: lfl.audit(PANDAS, **ROLES).gap)
gaps = joblib.Parallel(2)(gap() for _ in range(2))
print("joblib loky", gaps == [lfl.audit(PANDAS, **ROLES).gap] * 2)
'''
SURE = ("pandas", "arrow", "duckdb", "cdd", "network", "lightgbm", "xgboost", "catboost")


@pytest.mark.timeout(400)
def test_forks_after_work_answer_or_refuse(tmp_path: Path) -> None:
    """polars is refused in words; all else is answered."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    line = [sys.executable, str(program), str(tmp_path / "rows.csv")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=360, check=True)
    found = dict(row.rsplit(" ", 1) for row in done.stdout.splitlines())
    for how in ("multiprocessing", "prefork"):
        assert [found[f"{how} {kind}"] for kind in SURE] == ["answered"] * len(SURE)
        assert [found[f"{how} {kind}"] for kind in ("polars", "csv")] == ["refused"] * 2
    assert found["joblib loky"] == "True"
