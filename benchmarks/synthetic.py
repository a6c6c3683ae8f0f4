"""Synthetic data from a generator with a penalty: its fidelity, its use, and its disparity.

    python -m benchmarks.synthetic           # runs all of it, about a quarter of an hour on a core
    python -m benchmarks.synthetic --read    # makes the page of the results that are kept

The generator is that of `examples/synthetic_data.py`. Each seed is a split of the rows, initial
weights, and the draws of the generator. A plain model is trained on synthetic rows, and on the real
rows that the generator learned from; both are measured on real rows that were held out. The same
penalty in a model that is trained on real rows is measured next to them. Results are kept in
`synthetic.json`, the page is `docs/synthetic.md`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from scipy.stats import ks_2samp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import likeforlike as lfl
from benchmarks.commands import write_json
from benchmarks.sections import table
from likeforlike.datasets import Dataset, load_adult, load_drug
from likeforlike.disparity import contrasts, level_weights
from likeforlike.inference import estimate_distance

HERE = Path(__file__).parent
KEPT = HERE / "synthetic.json"
PAGE = HERE.parent / "docs" / "synthetic.md"

STRENGTHS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
SEEDS = 10
EPOCHS = 150
DATA: dict[str, Callable[[], Dataset]] = {
    "Adult": lambda: load_adult(sample=5000),
    "Drug": load_drug,
}
INPUTS = {"without A": False, "with A": True}

Figures = dict[str, Any]
FloatArray = npt.NDArray[np.float64]


def load_example() -> ModuleType:
    """Import the script with the generator; scripts to copy are no package."""
    path = HERE.parent / "examples" / "synthetic_data.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load_example()


def split_rows(data: Dataset, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Three fifths of the rows to learn from, and the others, which are held out."""
    mixed = np.random.default_rng([seed, 3]).permutation(data.frame.height)
    learn, test = np.split(mixed, [int(0.6 * mixed.size)])
    return data.frame[learn], data.frame[test]


def measure_auc(targets: npt.ArrayLike, scores: FloatArray) -> float:
    """AUC of scores."""
    return round(float(roc_auc_score(targets, scores)), 8)


def measure_disparity(data: Dataset, frame: pl.DataFrame, scores: npt.ArrayLike) -> Figures:
    """Σ P(l) W_1²(l): its root as it is (plug-in), and its estimate without small-sample bias."""
    rows = replace(data, frame=frame)
    cells = lfl.Cells.from_rows(np.asarray(scores, np.float64), rows.groups, rows.levels)
    contrast = contrasts(cells, "pairwise")[0]
    estimate = estimate_distance(contrast, level_weights(contrast, "marginal"))
    plug_in = float(lfl.cdd_lp(cells, p=2))
    return {"plug_in": round(plug_in, 8), "squared": round(estimate.squared, 8)}


def measure_fidelity(data: Dataset, made: pl.DataFrame, test: pl.DataFrame) -> Figures:
    """Distances between the marginals of modeled columns, and AUC of telling the tables apart."""
    variation, kolmogorov = [], []
    for name in example.TableGenerator(data).names:
        column = example.model_column(data.frame[name])
        if isinstance(column, example.Number):
            kolmogorov.append(ks_2samp(made[name], test[name], method="asymp").statistic)
        else:
            shares = [column.encode(frame[name]).double().mean(dim=0) for frame in (made, test)]
            variation.append(0.5 * float((shares[0] - shares[1]).abs().sum()))
    both = replace(data, frame=pl.concat([made, test.select(made.columns)]))
    inputs, names = both.inputs("integer", with_sensitive=True)
    inputs = np.column_stack([inputs, both.targets])
    nominal = [*(not both.frame[name].dtype.is_numeric() for name in names), False]
    real = np.arange(len(inputs)) >= made.height
    classifier = HistGradientBoostingClassifier(
        max_leaf_nodes=8, categorical_features=nominal, early_stopping=False, random_state=0
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(classifier, inputs, real, cv=folds, method="predict_proba")[:, 1]
    return {
        "variation": round(float(np.mean(variation)), 8),
        "kolmogorov": round(float(np.mean(kolmogorov)), 8),
        "detection": measure_auc(real, scores),
    }


def measure_models(
    data: Dataset, made: pl.DataFrame, test: pl.DataFrame, fresh: pl.DataFrame | None
) -> Figures:
    """Train plain models on a table; measure them on real rows, and on fresh synthetic ones."""
    found = {}
    rows = test if fresh is None else pl.concat([test.select(fresh.columns), fresh])
    for name, with_sensitive in INPUTS.items():
        scores = example.score_rows(data, made, rows, with_sensitive=with_sensitive)
        real = scores[: test.height]
        found[name] = {
            "auc": measure_auc(test[data.target], real),
            **measure_disparity(data, test, real),
        }
        if fresh is not None:
            synthetic = measure_disparity(data, fresh, scores[test.height :])
            found[name]["squared_synthetic"] = synthetic["squared"]
    return found


def measure_penalized_model(data: Dataset, seed: int, strength: float) -> Figures:
    """Train LightGBM with the penalty on real rows, without A as an input, and measure it."""
    learn, test = split_rows(data, seed)
    rows = replace(data, frame=pl.concat([learn, test]))
    inputs, first = rows.inputs().matrix, slice(0, learn.height)
    model = lfl.FairLGBMClassifier(strength=strength, num_leaves=8, random_state=seed)
    model.fit(
        inputs[first],
        rows.targets[first],
        sensitive_features=rows.groups[first],
        legitimate_features=rows.levels[first],
    )
    scores = model.predict_proba(inputs[learn.height :])[:, 1]
    auc = measure_auc(test[data.target], scores)
    return {"auc": auc, **measure_disparity(data, test, scores)}


def measure_table(
    data: Dataset, seed: int, strength: float | None, epochs: int = EPOCHS
) -> Figures:
    """Measure a synthetic table, or the real one it is learned from if `strength` is `None`."""
    learn, test = split_rows(data, seed)
    made, fresh = learn, None
    if strength is not None:
        rows = replace(data, frame=learn)
        generator = example.fit_generator(rows, strength, epochs=epochs, seed=seed)
        made, fresh = generator.sample(learn, seed), generator.sample(learn, seed + SEEDS)
    return {
        "fidelity": measure_fidelity(data, made, test),
        "target": measure_disparity(data, made, made[data.target]),
        "models": measure_models(data, made, test, fresh),
    }


def run(keep: Callable[[Figures], None]) -> Figures:
    """Run all strengths of all seeds and data sets; `keep` is called after every seed."""
    found: Figures = {"seconds": 0.0, "tables": [], "penalized": []}
    begin = time.perf_counter()
    for name, load in DATA.items():
        data = load()
        for seed in range(SEEDS):
            for strength in (None, *STRENGTHS):
                which = {"data": name, "seed": seed, "strength": strength}
                found["tables"].append(which | measure_table(data, seed, strength))
                if strength is not None:
                    model = measure_penalized_model(data, seed, strength)
                    found["penalized"].append(which | model)
            found["seconds"] = round(time.perf_counter() - begin, 1)
            keep(found)
    return found


def select_figures(
    runs: Sequence[Figures], data: str, strength: float | None, *keys: str
) -> FloatArray:
    """Figures of one data set and strength, in the order of seeds."""
    found = []
    for one in runs:
        if (one["data"], one["strength"]) == (data, strength):
            value: Any = one
            for key in keys:
                value = value[key]
            found.append(value)
    return np.array(found)


def standard_error(values: FloatArray) -> float:
    """Standard error of a mean over seeds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def print_mean(values: FloatArray) -> str:
    """Mean over seeds with its standard error."""
    return f"{np.mean(values):.3f} ± {standard_error(values):.3f}"


def print_root(squares: FloatArray, *, error: bool = True) -> str:
    """Root of the mean square with its standard error, or an upper end where chance explains it."""
    mean, spread = float(np.mean(squares)), standard_error(squares)
    if mean <= 2.0 * spread:
        return f"below {np.sqrt(max(mean + 2.0 * spread, 0.0)):.3f}"
    root = float(np.sqrt(mean))
    return f"{root:.3f} ± {spread / (2.0 * root):.3f}" if error else f"{root:.3f}"


_PAGE = """# Fair synthetic data

The paper leaves fair synthetic data to future work: a penalty in the training of a generator.
[`examples/synthetic_data.py`](../examples/synthetic_data.py) tries it with FairLeap. This page
reports what came out; `python -m benchmarks.synthetic` made it.

**In short.** The penalty makes the target of the synthetic table nearly independent of the group
among equals, at next to no cost in fidelity. A plain model trained on that table is less disparate
on real rows, but not at parity: compared with no penalty, {least:.0%} to {most:.0%} of its
disparity stays. The penalty costs it less AUC than training on synthetic rows costs as such. Where
the model itself can be trained on real rows with the penalty, that does more at a higher AUC.

{summary}

## The generator

A variational autoencoder learns the features and the target given the sensitive feature A and the
legitimate feature L, and minimizes

    -ELBO + strength × FairLeap(generated targets, A within L).

**Given A and L.** Synthetic rows take A and L from real rows. Their joint distribution is then
exact, levels and coverage are the real ones, and the penalty compares targets that are generated
for real cells. A generator of A and L as well would need soft groups and soft levels; the library
has `SoftGroups`, but no soft levels. The synthetic table therefore shows the size of every real
cell, and its numbers are drawn from the observed ones: it promises no privacy.

**What is penalized.** The probability of the target, decoded from draws of the prior, as in rows
that are generated. Each cell has the same number of draws, weighted by the rows of the cell, and
all cells share the latent draws. A decoder whose targets do not depend on A then has a penalty of
exactly 0. With separate draws, samples of equal distributions would differ by chance, and a
strong penalty would shrink that difference by making all probabilities alike.

**Why not an existing generator.** SDV and CTGAN are under the Business Source License, which is
not open source. synthcity (Apache 2.0) has the hook, `extra_loss_cbks` of its autoencoder, but
version 0.2.12 needs torch below 2.3 and NumPy below 2; probaforms (MIT) needs torch below 2. The
engine of MOSTLY AI (Apache 2.0) takes no loss from the caller. be-great and REaLTabFormer (MIT)
are language models, trained on tokens, without a differentiable target. TabSyn (Apache 2.0) is a
collection of scripts with the loss inside.

## What was measured

{data}. Each of {seeds} seeds is a split (three fifths of the rows to learn from, the others held
out), initial weights and draws; a synthetic table has as many rows as the real one it is learned
from. ± is the standard error over the seeds. Splits share their rows, so it covers chance in
splitting and training, not in who is in the data.

- *TV* and *KS*: total variation of the marginals of categorical columns and Kolmogorov distance of
  numeric ones, synthetic against held-out rows, averaged over the columns that are generated.
  Numbers with at most 20 values count as categories. *Detection AUC* is that of gradient boosting
  that separates synthetic from held-out rows, in cross-validation; 0.5 is best.
- *Disparity*: (Σ P(l) W₁²(l))^½; of 0/1 targets, the root mean square gap of the rates. *Plug-in*
  is `lfl.cdd_lp(..., p=2)` as it is. The *estimate* is that of an audit, without small-sample bias,
  averaged as a square over the seeds; *below* gives its upper end, two standard errors up, where
  the mean square is within two standard errors of 0.
- *A plain model* is scikit-learn's gradient boosting, trained on the table without any penalty. AUC
  and disparity of its scores are those on held-out real rows; the last column has the disparity on
  fresh synthetic rows.
- *The penalty in the model* is `FairLGBMClassifier`, trained on the real rows without A among its
  inputs.

Layers and latent units were chosen at strength 0 on other splits, by AUC and by detection; epochs
were then cut to keep the run short. Shared draws replaced separate ones after a trial on two other
splits, in which strong penalties cost much AUC with separate draws. Nothing but this generator, two
data sets and 0/1 targets was tried. The run took {minutes:.0f} minutes on one core.

{tables}
## Why models keep a disparity

**The target is fair, the features are not.** Among equals, generated features depend on A, as real
ones do, and the target depends on the features. A model predicts the target from them, so its
scores follow what they reveal about A. At strength {strongest:g} the scores of a model without A
still have a disparity of {synthetic} on fresh synthetic rows, where the target has next to none.

**Leaving A out does not help.** The target can be independent of A although the features are not
because, in the synthetic table, equal features come with different probabilities of the target in
the two groups. A model with A among its inputs can learn that; one without A averages over the
groups. Plug-in disparity on real rows, with A minus without A: {weak} at strength 0,
{strong} at strength {strongest:g}. Without a penalty, A among the inputs adds disparity; with
a strong one, it takes some away.

**Real features differ more between the groups.** The same model without A has a disparity of
{real} on real rows: what it reads in the features depends more on A there than in generated rows.
And no training table changes the features of the rows that are scored. Where scores have to be
alike, penalize the model, or repair its scores ([training and repairing](enforcing.md)); a fair
synthetic table is for uses of the target itself.
"""
_ROLES = {
    "Adult": "Adult (5,000 rows, sex among people of equal occupation)",
    "Drug": "Drug (1,885 rows, gender among people of equal education)",
}


_FIDELITY = {
    "TV": ("fidelity", "variation"),
    "KS": ("fidelity", "kolmogorov"),
    "detection AUC": ("fidelity", "detection"),
    "disparity of the target, plug-in": ("target", "plug_in"),
    "estimate": ("target", "squared"),
}
_PERFORMANCE = {"AUC": "auc", "disparity, plug-in": "plug_in", "estimate": "squared"}


def make_table(
    runs: Sequence[Figures],
    data: str,
    strengths: Sequence[float | None],
    columns: Mapping[str, tuple[str, ...]],
) -> str:
    """Make a table with one row per strength; of squares the root is printed."""

    def print_cell(strength: float | None, keys: tuple[str, ...]) -> str:
        if strength is None and keys[-1] == "squared_synthetic":
            return ""
        values = select_figures(runs, data, strength, *keys)
        return print_root(values) if keys[-1].startswith("squared") else print_mean(values)

    rows = [
        (
            "real rows" if strength is None else f"{strength:g}",
            *(print_cell(strength, keys) for keys in columns.values()),
        )
        for strength in strengths
    ]
    return table(("strength", *columns), rows)


def make_section(found: Figures, data: str) -> str:
    """Make the tables of one data set."""
    strengths = (None, *STRENGTHS)
    parts = [f"## {data}", "What is generated:"]
    parts.append(make_table(found["tables"], data, strengths, _FIDELITY))
    for name in INPUTS:
        columns = {title: ("models", name, key) for title, key in _PERFORMANCE.items()}
        columns["estimate, synthetic rows"] = ("models", name, "squared_synthetic")
        parts.append(f"A plain model {name} among its inputs:")
        parts.append(make_table(found["tables"], data, strengths, columns))
    parts.append("The penalty in the model:")
    performance = {title: (key,) for title, key in _PERFORMANCE.items()}
    parts.append(make_table(found["penalized"], data, STRENGTHS, performance))
    return "\n\n".join(parts) + "\n"


def summarize_data(found: Figures, data: str) -> str:
    """Say what the strongest penalty changes, compared with none, and what a model's would."""
    runs, last = found["tables"], STRENGTHS[-1]

    def root(strength: float | None, *keys: str) -> str:
        return print_root(select_figures(runs, data, strength, *keys), error=False)

    def auc(strength: float | None, name: str) -> str:
        return f"{select_figures(runs, data, strength, 'models', name, 'auc').mean():.3f}"

    models = "; ".join(
        f"{name}, from {root(0.0, 'models', name, 'squared')} to "
        f"{root(last, 'models', name, 'squared')} (AUC from {auc(0.0, name)} to {auc(last, name)})"
        for name in INPUTS
    )
    least = min(
        select_figures(runs, data, strength, "models", name, "squared").mean()
        for strength in STRENGTHS
        for name in INPUTS
    )
    penalized = {
        strength: select_figures(found["penalized"], data, strength, "squared").mean()
        for strength in STRENGTHS
    }
    first = next((strength for strength in STRENGTHS if penalized[strength] <= least), None)
    text = (
        f"- **{data}.** From strength 0 to {last:g} the disparity of the synthetic target goes "
        f"from {root(0.0, 'target', 'squared')} to {root(last, 'target', 'squared')}; that of a "
        f"plain model's scores on real rows, {models}. Trained on real rows, it has a disparity of "
        f"{root(None, 'models', 'without A', 'squared')} (AUC {auc(None, 'without A')}) without A. "
    )
    if first is None:
        return text + "The penalty in the model does not go lower."
    reached = select_figures(found["penalized"], data, first, "auc").mean()
    return text + (
        f"With the penalty in the model, {penalized[first] ** 0.5:.3f} comes with an AUC of "
        f"{reached:.3f}."
    )


def make_page(found: Figures) -> str:
    """Make the page of what was found."""
    runs, last = found["tables"], STRENGTHS[-1]

    def per_data(text: Callable[[str], str]) -> str:
        return " and ".join(f"{text(data)} ({data})" for data in DATA)

    def change(data: str, name: str) -> float:
        none, strong = (
            select_figures(runs, data, strength, "models", name, "squared").mean()
            for strength in (0.0, last)
        )
        return float(np.sqrt(strong / none))

    def with_minus_without(strength: float) -> str:
        def difference(data: str) -> str:
            with_sensitive, without = (
                select_figures(runs, data, strength, "models", name, "plug_in")
                for name in ("with A", "without A")
            )
            return print_mean(with_sensitive - without)

        return per_data(difference)

    def without_sensitive(key: str) -> str:
        return per_data(
            lambda data: print_root(
                select_figures(runs, data, last, "models", "without A", key), error=False
            )
        )

    shares = [change(data, name) for data in DATA for name in INPUTS]
    return _PAGE.format(
        least=min(shares),
        most=max(shares),
        summary="\n".join(summarize_data(found, data) for data in DATA),
        data=" and ".join(_ROLES[data] for data in DATA),
        seeds=len({one["seed"] for one in runs}),
        minutes=found["seconds"] / 60.0,
        tables="\n".join(make_section(found, data) for data in DATA),
        strongest=last,
        synthetic=without_sensitive("squared_synthetic"),
        real=without_sensitive("squared"),
        weak=with_minus_without(0.0),
        strong=with_minus_without(last),
    )


def main(arguments: list[str] | None = None) -> int:
    """Run, or read what is kept, and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic", description=__doc__)
    parser.add_argument("--read", action="store_true", help="run nothing, read what is kept")
    if not parser.parse_args(arguments).read:
        torch.set_num_threads(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trees may ask for more rounds than they have
            run(lambda found: write_json(KEPT, found))
    PAGE.write_text(make_page(json.loads(KEPT.read_text("utf-8"))), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
