"""Fair synthetic data: the page says what was measured, and the generator does what it says."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from benchmarks.synthetic import (
    DATA,
    INPUTS,
    KEPT,
    PAGE,
    SEEDS,
    STRENGTHS,
    example,
    make_page,
    measure_penalized_model,
    measure_table,
    print_root,
    select_figures,
)
from likeforlike.datasets import Dataset, load_drug, make_loans

FOUND: dict[str, Any] = json.loads(KEPT.read_text("utf-8"))
LAST = STRENGTHS[-1]


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """Small networks gain nothing from more threads, and lose much where cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def means(data: str, strength: float | None, *keys: str) -> float:
    return float(select_figures(FOUND["tables"], data, strength, *keys).mean())


def test_page_equals_kept_results() -> None:
    assert PAGE.read_text("utf-8") == make_page(FOUND)
    runs = {(one["data"], one["seed"], one["strength"]) for one in FOUND["tables"]}
    assert len(runs) == len(DATA) * SEEDS * (1 + len(STRENGTHS))
    assert FOUND["seconds"] <= 20 * 60


@pytest.mark.parametrize("data", DATA)
def test_kept_results_support_the_summary(data: str) -> None:
    target = select_figures(FOUND["tables"], data, LAST, "target", "squared")
    assert print_root(target).startswith("below")
    for figure in ("variation", "kolmogorov", "detection"):
        assert means(data, LAST, "fidelity", figure) < means(data, 0.0, "fidelity", figure) + 0.01
    for name in INPUTS:
        none, strong = (
            select_figures(FOUND["tables"], data, strength, "models", name, "squared")
            for strength in (0.0, LAST)
        )
        change = strong - none
        assert change.mean() < -2.0 * change.std(ddof=1) / np.sqrt(SEEDS)
        assert not print_root(strong).startswith("below")
        auc = [means(data, strength, "models", name, "auc") for strength in (None, 0.0, LAST)]
        assert auc[1] - auc[2] < auc[0] - auc[1]


@pytest.mark.parametrize("data", DATA)
def test_kept_results_support_the_reasons(data: str) -> None:
    figures = {
        (strength, name): select_figures(FOUND["tables"], data, strength, "models", name, "plug_in")
        for strength in (0.0, LAST)
        for name in INPUTS
    }
    weak, strong = (
        figures[strength, "with A"] - figures[strength, "without A"] for strength in (0.0, LAST)
    )
    assert weak.mean() > 2.0 * weak.std(ddof=1) / np.sqrt(SEEDS)
    assert strong.mean() < -2.0 * strong.std(ddof=1) / np.sqrt(SEEDS)
    model = "models", "without A"
    assert means(data, LAST, *model, "squared_synthetic") < means(data, LAST, *model, "squared")


@pytest.mark.parametrize("data", DATA)
def test_penalized_model_has_less_disparity_at_higher_auc(data: str) -> None:
    settings = [(strength, name) for strength in STRENGTHS for name in INPUTS]
    least = min(settings, key=lambda one: means(data, one[0], "models", one[1], "squared"))
    penalized = [
        [float(select_figures(FOUND["penalized"], data, strength, key).mean()) for key in keys]
        for strength in STRENGTHS
        for keys in [("squared", "auc")]
    ]
    disparity, auc = (means(data, least[0], "models", least[1], key) for key in ("squared", "auc"))
    assert any(square < disparity and better > auc for square, better in penalized)


@pytest.fixture(scope="module")
def loans() -> Dataset:
    return make_loans(500, gap=0.3)


def target_disparity(data: Dataset, strength: float) -> float:
    generator = example.fit_generator(data, strength, epochs=25)
    penalty: torch.Tensor = example.TargetPenalty(generator, data, draws=500, seed=1)()
    return math.sqrt(penalty.item())


@pytest.mark.training
def test_penalty_lowers_disparity_of_generated_targets(loans: Dataset) -> None:
    plain, weak, strong = (target_disparity(loans, strength) for strength in (0.0, 1.0, 30.0))
    assert plain > 0.1
    assert weak < 0.8 * plain
    assert strong < 0.3 * plain


@pytest.mark.training
def test_zero_strength_equals_no_penalty(loans: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    def weights(strength: float) -> list[torch.Tensor]:
        return list(example.fit_generator(loans, strength, epochs=3).parameters())

    none = weights(0.0)
    assert not all(map(torch.equal, none, weights(1.0)))
    monkeypatch.setattr(example, "TargetPenalty", lambda *_, **__: lambda: torch.zeros(()))
    assert all(map(torch.equal, none, weights(0.0)))
    assert all(map(torch.equal, none, weights(1.0)))


def test_penalty_is_zero_where_targets_ignore_the_group(loans: Dataset) -> None:
    torch.manual_seed(0)
    generator = example.TableGenerator(loans)
    penalty = example.TargetPenalty(generator, loans)
    assert penalty().item() > 0.0
    groups = slice(generator.latent, generator.latent + 2)
    with torch.no_grad():
        generator.decoder[0].weight[:, groups] = 0.0
    assert penalty().item() == 0.0


@pytest.mark.training
@pytest.mark.parametrize("data", [make_loans(300), load_drug()], ids=["loans", "drug"])
def test_generated_rows_have_columns_types_and_levels_of_real_ones(data: Dataset) -> None:
    generator = example.fit_generator(data, 1.0, epochs=1)
    made = generator.sample(data.frame, seed=3)
    roles = {*data.features, data.target, data.sensitive, *data.legitimate}
    real = data.frame.select(name for name in data.frame.columns if name in roles)
    assert made.schema == real.schema
    assert made.height == real.height
    given = [data.sensitive, *data.legitimate]
    assert made.select(given).equals(real.select(given))
    for name in made.columns:
        assert set(made[name]) <= set(real[name])
    assert not made.equals(real)
    assert made.equals(generator.sample(data.frame, seed=3))
    assert replace(data, frame=made).inputs().matrix.shape == data.inputs().matrix.shape


def test_features_that_the_conditions_determine_are_copied() -> None:
    drug = load_drug()
    generator = example.TableGenerator(drug)
    assert "Education" in generator.copied
    made = generator.sample(drug.frame)
    assert made["Education"].equals(drug.frame["Education"])


def test_numbers_keep_their_distribution() -> None:
    column = pl.Series(np.random.default_rng(0).exponential(size=400))
    number = example.Number(column)
    encoded = number.encode(column)
    assert float(encoded.mean()) == pytest.approx(0.0, abs=1e-6)
    assert float(encoded.std()) == pytest.approx(1.0, abs=0.02)
    with torch.no_grad():
        number.log_scale.fill_(-20.0)
    assert number.draw(encoded, torch.Generator()).equals(column)


@pytest.mark.training
def test_benchmark_measures_real_and_synthetic_tables(loans: Dataset) -> None:
    real, synthetic = (measure_table(loans, 0, strength, epochs=2) for strength in (None, 1.0))
    penalized = measure_penalized_model(loans, 0, 1.0)
    assert real.keys() == synthetic.keys()
    assert real["fidelity"]["detection"] < synthetic["fidelity"]["detection"]
    assert 0.0 <= synthetic["fidelity"]["kolmogorov"] <= 1.0
    assert "squared_synthetic" in synthetic["models"]["with A"]
    assert set(penalized) == {"auc", "plug_in", "squared"}
