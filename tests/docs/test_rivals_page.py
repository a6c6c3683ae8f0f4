"""The frontier beside rivals: what the tables say follows from what was found."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairret.loss import NormLoss
from fairret.statistic import PositiveRate

from benchmarks.rivals import _QUICK, _case, _cells, _fairret_loss, run
from benchmarks.rivals_page import SECTION, cuts, least_at, section
from benchmarks.sections import with_section

ROOT = Path(__file__).parents[2]


FOUND: dict[str, Any] = json.loads((ROOT / "benchmarks" / "rivals.json").read_text("utf-8"))


def test_the_page_says_what_was_found() -> None:
    page = (ROOT / "docs" / "rivals.md").read_text("utf-8")
    assert with_section(page, SECTION, section(FOUND)) == page


@pytest.mark.parametrize("figure", ["squared", "squared_of_ranks"])
@pytest.mark.parametrize("rival", ["fairret", "fairlearn"])
def test_nobody_is_ahead_of_our_best_beyond_error(rival: str, figure: str) -> None:
    assert len(FOUND) == 6
    for name, of_data in FOUND.items():
        assert all(len(splits) >= 5 for splits in of_data["methods"].values())
        assert all(cut.verdict(rival) != "behind" for cut in cuts(of_data["methods"], figure)), name


def test_the_least_at_an_auc_is_that_of_every_mixture_of_neighbors() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 7):
        path = rng.random((size, 2))
        between = np.linspace(0.0, 1.0, 20_001)[:, None]
        mixtures = [path, *(a + between * (b - a) for a, b in pairwise(path))]
        every = np.concatenate(mixtures)
        for auc in (0.1, 0.5, 0.8):
            reached = every[every[:, 0] >= auc, 1]
            found = least_at(path, auc)
            if reached.size == 0:
                assert found is None
            else:
                assert found == pytest.approx(reached.min(), abs=1e-3)


def made(methods: dict[str, list[tuple[float, float]]], noise: float = 0.0) -> dict[str, Any]:
    """Five splits of methods with given AUC and squares; splits differ by noise all share."""
    rng = np.random.default_rng(1)
    shifts, own = rng.standard_normal(5), rng.standard_normal((len(methods), 5))
    return {
        name: {
            str(split): [
                {"auc": auc + 0.01 * shifts[split], "squared": square + noise * own[k, split]}
                for auc, square in settings
            ]
            for split in range(5)
        }
        for k, (name, settings) in enumerate(methods.items())
    }


def verdicts(rival: list[tuple[float, float]], noise: float) -> list[str]:
    ours = [(0.8, 0.01), (0.75, 0.001)]
    methods = {"LightGBM, FairLeap": ours, "fairret": rival}
    return [cut.verdict("fairret") for cut in cuts(made(methods, noise), "squared")]


def test_a_rival_is_told_ahead_behind_or_level() -> None:
    far, near = [(0.8, 0.02), (0.75, 0.01)], [(0.8, 0.005), (0.75, 0.0005)]
    assert set(verdicts(far, 1e-6)) == {"ahead"}
    assert set(verdicts(near, 1e-6)) == {"behind"}
    assert set(verdicts(far, 0.1)) == {"level"}
    assert verdicts([(0.77, 0.0)], 1e-6)[:3] == ["not reached"] * 3
    assert verdicts([(0.83, 0.1)], 1e-6) == ["behind"] * 4 + ["ahead"]


@pytest.mark.training
def test_what_was_found_is_kept_as_it_comes_and_not_repeated() -> None:
    kept: list[str] = []
    found = run(_QUICK, range(1), {}, lambda known: kept.append(json.dumps(known)), ["LightGBM"])
    settings = found["Loans"]["methods"]["LightGBM, FairLeap"]["0"]
    assert settings[-1]["squared"] < 0.2 * settings[0]["squared"]
    assert len(kept) == 1
    run(_QUICK, range(1), found, lambda known: kept.append(json.dumps(known)), ["LightGBM"])
    assert len(kept) == 1


def test_fairret_of_all_levels_at_once_is_the_sum_of_its_levels() -> None:
    case = _case(_QUICK["Loans"](), 0)
    torch.manual_seed(0)
    logits, targets = torch.randn(case.train.size, 1), case.parts.train.targets[0]
    cells = _cells(case, case.train)
    extra = _fairret_loss(logits, targets, cells, 1.0) - _fairret_loss(logits, targets, cells, 0.0)
    expected = 0.0
    groups, levels = map(torch.tensor, case.who(case.train))
    for level in range(int(levels.max()) + 1):
        inside = levels == level
        sensitive = torch.nn.functional.one_hot(groups[inside], 2).float()
        own = NormLoss(PositiveRate())(logits[inside], sensitive)
        expected += float(inside.float().mean()) * float(own)
    assert float(extra) == pytest.approx(expected, rel=1e-4)
