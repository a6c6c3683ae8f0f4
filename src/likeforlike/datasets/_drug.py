"""Drug consumption: who ever used cannabis, by gender, among people of equal education."""

from __future__ import annotations

import polars as pl

from likeforlike.datasets._dataset import Dataset
from likeforlike.datasets._source import source
from likeforlike.datasets._storage import read

SOURCE = source("drug")
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
    as numbers they are inputs. No row is dropped, not even the 8 who claim to have used a drug that
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
