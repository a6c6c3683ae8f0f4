"""Drug consumption: who ever used cannabis, by gender, among people of equal education."""

from __future__ import annotations

import polars as pl

from likeforlike.datasets.dataset import Dataset
from likeforlike.datasets.source import DataFile, Source
from likeforlike.datasets.storage import read

__all__ = ["SOURCE", "load_drug"]

_UCI = "https://archive.ics.uci.edu/static/public/373/drug+consumption+quantified.zip"
_COPY = "https://raw.githubusercontent.com/ameyer95/antidote-1/e59154d5cda9/data/raw_data"
SOURCE = Source(
    name="drug",
    rows=1_885,
    files=(
        DataFile(
            "drug/drug_consumption.data",
            346_695,
            "90b8cf500b07ad455baf9fe1dc519998c75a1df6d87f6bd7069176f0826ea8c1",
            (f"{_UCI}#drug_consumption.data", f"{_COPY}/drug_consumption.data"),
        ),
    ),
    origin="https://archive.ics.uci.edu/dataset/373/drug+consumption+quantified",
    licence="CC BY 4.0",
    citation="Fehrman, Egan & Mirkes (2015), Drug Consumption (Quantified), UCI Machine Learning "
    "Repository, doi:10.24432/C5TC7S",
)
"""The file as UCI publishes it."""

_PERSON = ("ID", "Age", "Gender", "Education", "Country", "Ethnicity")
_TRAITS = ("Nscore", "Escore", "Oscore", "Ascore", "Cscore", "Impulsive", "SS")
_DRUGS = (
    *("Alcohol", "Amphet", "Amyl", "Benzos", "Caff", "Cannabis", "Choc", "Coke", "Crack"),
    *("Ecstasy", "Heroin", "Ketamine", "Legalh", "LSD", "Meth", "Mushrooms", "Nicotine"),
    *("Semer", "VSA"),
)


def load_drug() -> Dataset:
    """Load Drug consumption (quantified): 1,885 people, 9 levels of education.

    Y = `used_cannabis`, 1 unless the answer is "never" (CL0); A = `Gender`, female or male; L =
    `education_rank`, 0 (left school before 16) to 8 (doctorate); X = `Education`, `Country`, five
    scores of personality, `Impulsive` and `SS`. The authors published categories as numbers, and
    as numbers they are inputs. Nobody is dropped, not even the 8 who claim to have used a drug that
    does not exist. `Age`, `Ethnicity` and the answers for all 19 drugs stay in the frame.

    References
    ----------
    Fehrman, Egan & Mirkes (2015), doi:10.24432/C5TC7S. Ghassemi et al. (2025), appendix.

    Examples
    --------
    >>> from likeforlike.datasets import load_drug
    >>> drug = load_drug()
    >>> drug.frame.height, int(drug.targets.sum()), drug.inputs().matrix.shape
    (1885, 1472, (1885, 9))
    """
    kinds = {
        "ID": pl.Int64,
        **dict.fromkeys((*_PERSON[1:], *_TRAITS), pl.Float64),
        **dict.fromkeys(_DRUGS, pl.String),
    }
    frame = pl.read_csv(read(SOURCE.files[0]), has_header=False, schema=kinds)
    female = pl.col("Gender") > 0.0
    frame = frame.with_columns(
        pl.when(female).then(pl.lit("female")).otherwise(pl.lit("male")).alias("Gender"),
        (pl.col("Education").rank("dense").cast(pl.Int64) - 1).alias("education_rank"),
        (pl.col("Cannabis") != "CL0").cast(pl.Int64).alias("used_cannabis"),
    )
    roles = ("Education", "Country", *_TRAITS), "used_cannabis", "Gender", ("education_rank",)
    return Dataset(frame, *roles, "classification", SOURCE.provenance)
