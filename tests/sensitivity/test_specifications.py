"""Specifications against audits of the rows that all of them compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from likeforlike import audit
from likeforlike.errors import InputError
from likeforlike.sensitivity._specifications import choose_candidates


def rows(size: int = 400, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    income, tenure, region = (rng.integers(0, k, size) for k in (3, 4, 5))
    group = np.where(rng.random(size) < 0.1 + 0.2 * tenure, "m", "f")
    score = 0.2 * income + 0.3 * tenure + rng.normal(size=size)
    return pl.DataFrame(
        {"score": score, "group": group, "income": income, "tenure": tenure, "region": region}
    )


ASKED: dict[str, Any] = {"score": "score", "sensitive": "group", "legitimate": "income"}


def test_candidates_are_tried_in_all_subsets_of_up_to_five() -> None:
    assert choose_candidates(["a", "b"]) == [(), ("a",), ("b",), ("a", "b")]
    assert len(choose_candidates("abcde")) == 32
    assert len(choose_candidates("abcdef")) == 8


def test_each_specification_is_the_audit_of_the_common_rows() -> None:
    data = rows()
    found = audit(data, **ASKED, permutations=49).specifications(["tenure", "region"])
    levels = ["income", "tenure", "region"]
    common = data.filter(pl.col("group").n_unique().over(levels) == 2)
    assert sum(found.rows) == common.height < data.height
    for each in found.entries:
        same = audit(
            common,
            score="score",
            sensitive="group",
            legitimate=["income", *each.added],
            permutations=49,
        )
        own = audit(
            data,
            score="score",
            sensitive="group",
            legitimate=["income", *each.added],
            permutations=0,
        )
        assert each.gap == pytest.approx(same.gap)
        assert each.distance == pytest.approx(same.estimate, abs=1e-9)
        assert each.coverage == pytest.approx(own.coverage)
        assert each.levels == len(same.levels)
    assert found.entries[-1].levels > found.entries[0].levels


def test_change_is_paired_and_zero_for_the_base() -> None:
    found = audit(rows(), **ASKED, permutations=0).specifications(["tenure"])
    base, other = found.entries
    assert (base.change, base.change_interval) == (0.0, (0.0, 0.0))
    assert other.change == pytest.approx(other.gap - base.gap)
    low, high = other.change_interval or (0.0, 0.0)
    start, end = other.gap_interval or (0.0, 0.0)
    assert high - low < end - start


@pytest.mark.simulation
def test_interval_of_the_change_covers_what_many_rows_show() -> None:
    large = audit(rows(400_000), **ASKED, permutations=0).specifications(["tenure"])
    true, held = large.entries[1].change, 0
    for seed in range(120):
        found = audit(rows(400, seed), **ASKED, permutations=0).specifications(["tenure"])
        low, high = found.entries[1].change_interval or (0.0, 0.0)
        held += low <= true <= high
    assert held >= 108


def test_p_values_are_adjusted_over_all_specifications() -> None:
    data = rows().with_columns(score=pl.col("score") + 2.0 * (pl.col("group") == "m"))
    found = audit(data, **ASKED, permutations=99).specifications(["tenure", "region"])
    p_values = [each.p_value for each in found.entries]
    assert all(p is not None and p < 0.05 for p in p_values)
    assert "has the same sign" in str(found)


def test_rows_without_a_candidate_are_in_no_specification() -> None:
    data = rows().with_columns(
        tenure=pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise("tenure")
    )
    found = audit(data, **ASKED, permutations=0).specifications(["tenure"])
    assert found.missing == 30


@pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")
def test_numbers_among_candidates_are_cut() -> None:
    rng = np.random.default_rng(0)
    data = rows().with_columns(age=pl.Series(rng.normal(40.0, 9.0, 400)))
    found = audit(data, **ASKED, permutations=0).specifications(["age"], bins={"age": 3})
    assert found.entries[1].levels == 9


@pytest.mark.parametrize(
    ("candidates", "says"),
    [([], "one column"), (["income"], "other columns"), (["region"] * 2, "each once")],
)
def test_unusable_candidates_are_refused(candidates: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        audit(rows(), **ASKED, permutations=0).specifications(candidates)


def test_given_measure_is_refused() -> None:
    audited = audit(rows(), **ASKED, permutations=0, measure={0: 1.0, 1: 1.0, 2: 1.0})
    with pytest.raises(InputError, match="name of a measure"):
        audited.specifications(["region"])
