"""The eight tables: our figures and the paper's, matched and in the same unit."""

from pathlib import Path

import polars as pl
import pytest

from likeforlike.experiments._vocabulary import PAPER_DATASETS
from likeforlike.paper._comparison import (
    comparison_tables,
    halving_table,
    performance_agreement,
    table_markdown,
    write_tables,
)
from likeforlike.paper._published import published_rows
from likeforlike.paper._reproduction import Reproduction
from tests.paper.synthetic_reproductions import AS_CLAIMED, SETTING, reproduction

FOUND = reproduction(AS_CLAIMED, runs=3)


def as_printed(scale: float) -> Reproduction:
    """Runs that are exactly what the paper prints, their l_p disparities in another unit."""
    rows = published_rows().with_columns(pl.col("cdd_uniform") * scale).to_dicts()
    runs = [
        {
            "dataset": row["dataset"],
            "method": row["method"],
            "strength": row["strength"],
            "seed": seed,
            "rows": 9,
            "performance": row["performance"],
            **{name: row[name] for name in ("cdd_wass", "cdd_uniform")},
            **{name: row[name] for name in ("cdd_average", "cdd_marginal")},
            **dict.fromkeys(("diagonal", "off_diagonal", "dd", "squared"), 0.0),
        }
        for row in rows
        for seed in range(2)
    ]
    return Reproduction(pl.DataFrame(runs, infer_schema_length=None), pl.DataFrame(), SETTING)


def test_there_are_two_tables_for_each_data_set() -> None:
    tables = comparison_tables(FOUND)
    assert list(tables) == [(d, kind) for d in PAPER_DATASETS for kind in ("fairleap", "rest")]
    for (dataset, kind), table in tables.items():
        assert table.height == (30 if kind == "fairleap" else 46)
        assert set(table["dataset"]) == {dataset}
        assert table["method"].str.starts_with("FairLeap").all() == (kind == "fairleap")
    order = list(dict.fromkeys(tables["drug", "rest"]["method"]))
    assert order[:3] == ["DCFR", "FairBiT", "adversarial, CDP"]


def test_figures_of_both_stand_side_by_side() -> None:
    row = comparison_tables(FOUND)["law_school", "rest"].filter(
        pl.col("method") == "FairBiT", pl.col("strength") == 10.0
    )
    found = row.row(0, named=True)
    assert found["runs"] == 3
    assert found["performance"] == pytest.approx(0.1 + 0.2 * 0.6 + 0.01)
    assert (found["paper_performance"], found["paper_performance_sd"]) == (0.8, 0.01)
    assert found["cdd_uniform"] == pytest.approx(0.2 * 0.05)
    assert found["cdd_uniform_relative"] == pytest.approx(0.05)
    assert found["paper_cdd_uniform_relative"] == pytest.approx(5.0967 / 14.133)


def test_what_is_printed_agrees_with_itself_in_any_unit() -> None:
    same = as_printed(0.37)
    for table in comparison_tables(same).values():
        ours, papers = table["cdd_uniform_relative"], table["paper_cdd_uniform_relative"]
        assert ours.null_count() == papers.null_count() == table["cdd_uniform"].null_count()
        assert (ours - papers).abs().max() < 1e-12  # type: ignore[operator]
    agreement = performance_agreement(same)
    assert agreement["agreeing"].equals(agreement["settings"])
    assert agreement["largest"].max() == 0.0
    halves = halving_table(same)
    assert halves["strength"].equals(halves["paper_strength"].rename("strength"))


def test_adult_is_relative_to_repair() -> None:
    table = comparison_tables(FOUND)["adult", "rest"]
    start = table.filter(pl.col("method") == "repair", pl.col("strength") == 0.0)
    assert start["paper_cdd_marginal_relative"].item() == 1.0
    free = table.filter(pl.col("method") == "no regularisation")
    assert free["paper_cdd_marginal_relative"].item() is None


def test_a_power_that_differs_does_not_agree() -> None:
    agreement = performance_agreement(FOUND).filter(
        pl.col("dataset") == "communities", pl.col("method") == "no regularisation"
    )
    found = agreement.row(0, named=True)
    assert (found["settings"], found["agreeing"]) == (1, 0)
    assert found["difference"] == pytest.approx(0.11 - 0.02)


def test_one_run_has_no_spread_and_still_agrees_or_not() -> None:
    one = reproduction(AS_CLAIMED, runs=1, datasets=["drug"])
    table = comparison_tables(one)["drug", "rest"]
    assert table["performance_sd"].null_count() == table.height
    assert "±" not in table_markdown(table).splitlines()[2].split("|")[3]
    agreement = performance_agreement(one)
    assert agreement["settings"].sum() == 76
    # Ours is 0.1 above the paper's 0.60 ± 0.02: more than 0.005 + 3 * 0.02 * sqrt(1.1).
    legit = agreement.filter(pl.col("method") == "legitimate only").row(0, named=True)
    assert legit["difference"] == pytest.approx(0.1)
    assert legit["agreeing"] == 0
    free = agreement.filter(pl.col("method") == "no regularisation").row(0, named=True)
    assert free["difference"] == pytest.approx(0.05)
    assert free["agreeing"] == 1


def test_the_weakest_strength_that_halves() -> None:
    halves = halving_table(FOUND)
    assert halves.height == 4 * 6
    bit = halves.filter(pl.col("dataset") == "law_school", pl.col("method") == "FairBiT")
    found = bit.row(0, named=True)
    # The cut is 0.95 t with ten strengths: half is passed at the sixth.
    assert found["strength"] == pytest.approx(0.0599, abs=1e-4)
    assert found["paper_strength"] == pytest.approx(0.2154, abs=1e-4)
    assert found["paper_relative"] == pytest.approx(6.5246 / 14.133)
    never = halves.filter(pl.col("dataset") == "drug", pl.col("method") == "DCFR")
    assert never["strength"].item() is None


def test_parts_of_the_protocol_are_enough() -> None:
    part = reproduction(AS_CLAIMED, runs=2, datasets=["drug"], every=5)
    tables = comparison_tables(part)
    assert list(tables) == [("drug", "fairleap"), ("drug", "rest")]
    assert sum(table.height for table in tables.values()) == 20


def test_markdown_has_a_line_for_each_row() -> None:
    table = comparison_tables(FOUND)["drug", "fairleap"]
    lines = table_markdown(table).splitlines()
    assert len(lines) == 2 + table.height
    assert {line.count("|") for line in lines} == {9}
    assert "<br>100% / 84%" in lines[2]


def test_tables_are_written(tmp_path: Path) -> None:
    written = write_tables(FOUND, tmp_path / "new")
    assert len(written) == 8
    table = comparison_tables(FOUND)["drug", "rest"]
    again = pl.read_csv(tmp_path / "new" / "drug_rest.csv", infer_schema_length=None)
    assert again.columns == table.columns
    assert again["performance"].equals(table["performance"])
