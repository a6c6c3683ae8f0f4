"""Files and columns as people have them: locales, currencies, Excel, yes and no."""

from __future__ import annotations

import decimal
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing import Summary, summarize
from likeforlike.errors import InputError
from tests.support.command import call as run

RNG = np.random.default_rng(0)
N = 300
SEX, GRADE = RNG.choice(["f", "m"], N), RNG.choice(["x", "y"], N)
PAY = np.round(50_000 + 3_000 * (SEX == "m") + 5_000 * RNG.normal(size=N), 2)
ASKED: dict[str, Any] = {
    "score": "pay",
    "sensitive": "sex",
    "legitimate": "grade",
    "permutations": 19,
}


def _swapped(text: str) -> str:
    return text.translate(str.maketrans(",.", ".,"))


WRITTEN = {
    "points and a comma": [_swapped(f"{pay:,.2f}") for pay in PAY],
    "a decimal comma": [_swapped(f"{pay:.2f}") for pay in PAY],
    "spaces and EUR": [f"{pay:,.2f} EUR".replace(",", " ").replace(".", ",") for pay in PAY],
    "narrow spaces and a sign": [
        "€ " + f"{pay:,.2f}".replace(",", "\u202f").replace(".", ",") for pay in PAY
    ],
    "dollars": [f"${pay:,.2f}" for pay in PAY],
    "apostrophes": [f"{pay:,.2f}".replace(",", "'") for pay in PAY],
}


def _table(pay: Any) -> pl.DataFrame:
    return pl.DataFrame({"pay": pay, "sex": SEX, "grade": GRADE})


EXPECTED = lfl.audit(_table(PAY), **ASKED)


def _csv(path: Path, table: pl.DataFrame, separator: str = ";") -> Path:
    table.write_csv(path, separator=separator)
    return path


class TestNumbers:
    """Numbers are read as they are written, and the audit says how."""

    @pytest.mark.parametrize("way", list(WRITTEN))
    def test_locales_give_the_same_audit(self, way: str, tmp_path: Path) -> None:
        table = _table(WRITTEN[way])
        for source in (_csv(tmp_path / "pay.csv", table), table, table.to_pandas()):
            found = lfl.audit(source, **ASKED)
            assert (found.gap, found.interval) == (EXPECTED.gap, EXPECTED.interval)
            assert any("pay was read with" in line for line in str(found).splitlines())
        counted = summarize(table, score="pay", sensitive="sex", legitimate="grade").audit(
            permutations=19
        )
        assert counted.gap == pytest.approx(EXPECTED.gap)

    @pytest.mark.parametrize("texts", [["1.234", "5.678"], ["1,234", "2,345"], ["$51,964"]])
    def test_two_readings_are_refused_and_settled_by_decimal(self, texts: list[str]) -> None:
        table = _table((texts * N)[:N])
        with pytest.raises(InputError, match=r"can be read in two ways.*--decimal"):
            lfl.audit(table, **ASKED)
        point, comma = (
            lfl.audit(table, **ASKED, csv={"decimal": mark}).unconditional.gap
            for mark in (".", ",")
        )
        if len(texts) > 1:
            assert point != comma

    def test_percent_signs_stay_percent(self) -> None:
        found = lfl.audit(_table([f"{pay / 1000:.1f} %" for pay in PAY]), **ASKED)
        assert found.gap == pytest.approx(EXPECTED.gap / 1000, abs=0.05)
        assert "'12.5 %' is 12.5" in str(found)

    def test_negative_numbers_in_all_spellings(self) -> None:
        texts = ["(1,234.50)", "-1,234.50", "\u22121,234.50", "1,234.50-", "1,234.50"]
        table = pl.DataFrame({"s": texts * 20, "g": ["a", "b"] * 50})
        found = lfl.audit(table, score="s", sensitive="g", permutations=19)
        numbers = np.array([-1234.5] * 4 + [1234.5])
        expected = pl.DataFrame({"s": np.tile(numbers, 20), "g": ["a", "b"] * 50})
        assert found.gap == lfl.audit(expected, score="s", sensitive="g", permutations=19).gap

    def test_mixed_marks_and_units_are_refused(self) -> None:
        for texts, said in (
            (["1.234,50", "1,234.50"], "mixes decimal marks"),
            (["12 EUR", "12 USD"], "mixes units"),
            (["12 %", "12"], "mixes units"),
            (["52,301.00 (Anna)"], "must hold numbers"),
        ):
            with pytest.raises(InputError, match=said):
                lfl.audit(_table((texts * N)[:N]), **ASKED)

    def test_missing_value_hint_is_not_given_for_numbers(self, tmp_path: Path) -> None:
        texts = WRITTEN["points and a comma"]
        file = _csv(tmp_path / "pay.csv", _table([*texts[:-1], "1.2.3"]))
        with pytest.raises(InputError, match=r"'1\.2\.3'.*one number and nothing else"):
            lfl.audit(file, **ASKED)

    def test_objects_of_python(self) -> None:
        for pay in (
            [decimal.Decimal(str(each)) for each in PAY],
            [*map(float, PAY)],
            [str(each) for each in PAY],
        ):
            table = pd.DataFrame({"pay": pd.Series(pay, dtype=object), "sex": SEX, "grade": GRADE})
            assert lfl.audit(table, **ASKED).gap == EXPECTED.gap


class TestDecisions:
    """Words for yes and no are decisions."""

    @pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("True", "False"), ("t", "f")])
    def test_words_are_one_and_zero(self, words: tuple[str, str], tmp_path: Path) -> None:
        high = PAY > 52_000
        expected = lfl.audit(_table(high.astype(int)), **ASKED)
        table = _table([words[0] if each else words[1] for each in high])
        for source in (table, table.to_pandas(), _csv(tmp_path / "rows.csv", table, ",")):
            found = lfl.audit(source, **ASKED)
            assert (found.gap, found.contrasts[0].gap.method) == (expected.gap, "rates")
            assert f"{words[0].lower()!r} is 1" in str(found)

    def test_other_words_are_refused(self) -> None:
        with pytest.raises(InputError, match=r"'approved' and 'denied'.*1 and 0, yes and no"):
            lfl.audit(_table(["approved", "denied"] * (N // 2)), **ASKED)

    def test_truth_values_beside_nothing(self) -> None:
        column = pd.Series([True, False, None] * (N // 3), dtype=object)
        table = pd.DataFrame({"pay": column, "sex": SEX, "grade": GRADE})
        assert lfl.audit(table, **ASKED).to_dict()["data"]["used"] == 2 * N // 3


class TestColumns:
    """Names that are nearly right, and columns that are there twice."""

    def test_near_names_are_named(self, tmp_path: Path) -> None:
        file = _csv(tmp_path / "pay.csv", _table(PAY).rename({"sex": "Gender"}))
        done = run("audit", file, "--score", "pay", "--sensitive", "gender")
        assert done.returncode == 2
        assert "did you mean 'Gender'?" in " ".join(done.stderr.split())
        with pytest.raises(InputError, match="did you mean 'grade'"):
            lfl.audit(_table(PAY), score="pay", sensitive="sex", legitimate="grades")

    def test_identical_columns_are_one(self, tmp_path: Path) -> None:
        rows = [f"{p},{s},{g},{p}" for p, s, g in zip(PAY, SEX, GRADE, strict=True)]
        file = tmp_path / "pay.csv"
        file.write_text("\n".join(["pay,sex,grade,pay", *rows]))
        found = lfl.audit(file, **ASKED)
        assert found.gap == EXPECTED.gap
        assert "2 columns are called pay and hold the same values" in str(found)
        rows[6] = rows[6] + "1"
        file.write_text("\n".join(["pay,sex,grade,pay", *rows]))
        with pytest.raises(InputError, match=r"2 columns called 'pay'.*differ in 1 row.*row 7"):
            lfl.audit(file, **ASKED)
        twice = pd.concat([_table(PAY).to_pandas(), pd.Series(PAY, name="pay")], axis=1)
        assert lfl.audit(twice, **ASKED).gap == EXPECTED.gap


class TestExcel:
    """Sheets of Excel files."""

    def test_a_sheet_is_a_table(self, tmp_path: Path) -> None:
        file = tmp_path / "pay.xlsx"
        _table(PAY).write_excel(file, worksheet="staff")
        assert lfl.audit(file, **ASKED).gap == EXPECTED.gap
        assert lfl.audit(file, **ASKED, csv={"sheet": "staff"}).gap == EXPECTED.gap
        with pytest.raises(InputError, match=r"no sheet 'stafff'; did you mean 'staff'"):
            lfl.audit(file, **ASKED, csv={"sheet": "stafff"})
        _table(WRITTEN["points and a comma"]).write_excel(file)
        done = run(
            *("audit", file, "--score", "pay", "--sensitive", "sex", "--legitimate", "grade"),
            *("--permutations", "19", "--json", "-"),
        )
        document = json.loads(done.stdout)
        assert document["contrasts"][0]["gap"]["value"] == EXPECTED.contrasts[0].gap.value

    def test_other_formats_say_what_to_do(self, tmp_path: Path) -> None:
        for name, said in (("pay.xls", "save it as .xlsx"), ("pay.zip", "unpack it first")):
            (tmp_path / name).write_bytes(b"PK")
            with pytest.raises(InputError, match=said):
                lfl.audit(tmp_path / name, **ASKED)
        (tmp_path / "broken.xlsx").write_bytes(b"no workbook")
        done = run("audit", tmp_path / "broken.xlsx", "--score", "pay", "--sensitive", "sex")
        assert done.returncode == 2
        assert "cannot be read" in " ".join(done.stderr.split())


class TestPercentThresholds:
    """5% of a mean, or five points of a rate."""

    def test_scores_are_measured_by_the_mean(self) -> None:
        ruling = EXPECTED.verdict("5%")
        larger = max("f", "m", key=lambda group: np.count_nonzero(group == np.asarray(SEX)))
        reason = " ".join(ruling.reasons)
        assert f"5% of the mean of {larger}" in reason
        (judgment,) = ruling.judgments
        assert judgment.threshold is not None
        assert judgment.threshold == pytest.approx(0.05 * PAY[larger == SEX].mean(), rel=0.01)
        assert EXPECTED.verdict("90%").verdict == "pass"

    def test_decisions_are_measured_in_points(self, tmp_path: Path) -> None:
        table = _table((PAY > 52_000).astype(int))
        ruling = lfl.audit(table, **ASKED).verdict("5%", of="gap")
        assert "5% is 5 points: 0.05" in " ".join(ruling.reasons)
        file = _csv(tmp_path / "rows.csv", table, ",")
        line = ("audit", file, "--score", "pay", "--sensitive", "sex", "--permutations", "19")
        assert run(*line, "--threshold", "95%").returncode == 0
        assert run(*line, "--threshold", "0.95").returncode == 0
        wrong = run(*line, "--threshold", "five")
        assert wrong.returncode == 2
        assert "--threshold must be a number" in " ".join(wrong.stderr.split())

    def test_means_around_zero_have_no_percent(self) -> None:
        found = lfl.audit(_table(RNG.normal(size=N)), **ASKED)
        with pytest.raises(InputError, match="mean"):
            found.verdict("5%")


class TestExitCodes:
    """Wrong input ends with 2 and a line, and a reader that stops reading is no error."""

    def test_unreadable_files(self, tmp_path: Path) -> None:
        text = _table(PAY).write_csv().encode()
        broken = bytearray(gzip.compress(text))
        broken[len(broken) // 2] ^= 0xFF
        (tmp_path / "flipped.csv.gz").write_bytes(broken)
        (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(text)[:-20])
        (tmp_path / "rows.csv").write_bytes(text)
        for arguments in (
            (tmp_path / "flipped.csv.gz",),
            (tmp_path / "cut.csv.gz",),
            (tmp_path / "rows.csv", "--encoding", "undefined"),
            (tmp_path / "rows.csv", "--encoding", "punycode"),
        ):
            done = run("audit", *arguments, "--score", "pay", "--sensitive", "sex")
            assert (done.returncode, done.stdout) == (2, ""), arguments
            assert "Traceback" not in done.stderr

    def test_summaries_with_altered_notes_or_bits(self, tmp_path: Path) -> None:
        summary = summarize(_table(PAY), score="pay", sensitive="sex", legitimate="grade")
        summary.write(tmp_path / "rows.cells")
        whole = (tmp_path / "rows.cells").read_bytes()
        rng = np.random.default_rng(5)
        for _ in range(150):
            bits = bytearray(whole)
            bits[int(rng.integers(len(bits)))] ^= 1 << int(rng.integers(8))
            (tmp_path / "bits.cells").write_bytes(bits)
            try:
                found = Summary.read(tmp_path / "bits.cells")
            except InputError:
                continue
            assert found.audit(permutations=19).gap == pytest.approx(EXPECTED.gap)

    @pytest.mark.process
    def test_a_closed_pipe_is_no_error(self, tmp_path: Path) -> None:
        _csv(tmp_path / "rows.csv", _table(PAY), ",")
        program = (
            f"{sys.executable} -m likeforlike audit {tmp_path / 'rows.csv'} --score pay "
            "--sensitive sex --legitimate grade --permutations 19 "
            "; echo $? >&2"
        )
        line = f"({program}) | head -c 1 > /dev/null"
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.stderr.split() == ["0"]

    def test_suppression_quotes_no_values(self, tmp_path: Path) -> None:
        texts = [str(pay) for pay in PAY]
        texts[7] = "413,872.11 (Anna Schmidt)"
        file = _csv(tmp_path / "rows.csv", _table(texts))
        line = ("audit", file, "--score", "pay", "--sensitive", "sex")
        assert "Anna" in run(*line).stderr
        hidden = run(*line, "--suppress-below", "10")
        assert hidden.returncode == 2
        assert "Anna" not in hidden.stderr
        assert "413" not in hidden.stderr

    def test_compressed_files_leave_nothing_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        room = tmp_path / "temporary"
        room.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(room))
        file = tmp_path / "rows.csv.gz"
        file.write_bytes(gzip.compress(_table(PAY).write_csv().encode()))
        assert lfl.audit(file, **ASKED).gap == EXPECTED.gap
        with pytest.raises(InputError):
            lfl.audit(file, **{**ASKED, "score": "sex"})
        assert list(room.iterdir()) == []
