from typer.testing import CliRunner

from likeforlike.cli import app


def test_demo_measures_the_loan_data() -> None:
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    assert "among equals" in result.output
    rows = {line.split("│")[1].strip(): line for line in result.output.splitlines() if "│" in line}
    assert "0.200" in rows["among equals"]
    assert "+0.200" in rows["among equals"]
    assert "0.000" in rows["everybody"]
    assert "50% of the mass" in " ".join(result.output.split())
