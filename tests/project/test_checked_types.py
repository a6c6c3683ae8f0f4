"""Types of the whole project agree: what `make check` runs, beside the other tests."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.types
@pytest.mark.timeout(900)  # without a cache of an earlier run
def test_types_agree() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
