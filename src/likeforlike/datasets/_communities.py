"""Communities and Crime: violent crime, by share of black residents, among equal incomes."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import polars as pl

from likeforlike.datasets._dataset import Dataset
from likeforlike.datasets._deciles import deciles
from likeforlike.datasets._source import source
from likeforlike.datasets._storage import read
from likeforlike.errors import InputError

SOURCE = source("communities")
"""The file as UCI publishes it; it has no header."""

_IDENTIFIERS = ("state", "county", "community", "communityname", "fold")
# Names as in communities.names, in the order of the file.
_PREDICTORS = """
    population householdsize racepctblack racePctWhite racePctAsian racePctHisp agePct12t21
    agePct12t29 agePct16t24 agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf
    pctWInvInc pctWSocSec pctWPubAsst pctWRetire medFamInc perCapInc whitePerCap blackPerCap
    indianPerCap AsianPerCap OtherPerCap HispPerCap NumUnderPov PctPopUnderPov PctLess9thGrade
    PctNotHSGrad PctBSorMore PctUnemployed PctEmploy PctEmplManu PctEmplProfServ PctOccupManu
    PctOccupMgmtProf MalePctDivorce MalePctNevMarr FemalePctDiv TotalPctDiv PersPerFam
    PctFam2Par PctKids2Par PctYoungKids2Par PctTeen2Par PctWorkMomYoungKids PctWorkMom NumIlleg
    PctIlleg NumImmig PctImmigRecent PctImmigRec5 PctImmigRec8 PctImmigRec10 PctRecentImmig
    PctRecImmig5 PctRecImmig8 PctRecImmig10 PctSpeakEnglOnly PctNotSpeakEnglWell PctLargHouseFam
    PctLargHouseOccup PersPerOccupHous PersPerOwnOccHous PersPerRentOccHous PctPersOwnOccup
    PctPersDenseHous PctHousLess3BR MedNumBR HousVacant PctHousOccup PctHousOwnOcc
    PctVacantBoarded PctVacMore6Mos MedYrHousBuilt PctHousNoPhone PctWOFullPlumb OwnOccLowQuart
    OwnOccMedVal OwnOccHiQuart RentLowQ RentMedian RentHighQ MedRent MedRentPctHousInc
    MedOwnCostPctInc MedOwnCostPctIncNoMtg NumInShelters NumStreet PctForeignBorn
    PctBornSameState PctSameHouse85 PctSameCity85 PctSameState85
    LemasSwornFT LemasSwFTPerPop LemasSwFTFieldOps LemasSwFTFieldPerPop LemasTotalReq
    LemasTotReqPerPop PolicReqPerOffic PolicPerPop RacialMatchCommPol PctPolicWhite
    PctPolicBlack PctPolicHisp PctPolicAsian PctPolicMinor OfficAssgnDrugUnits NumKindsDrugsSeiz
    PolicAveOTWorked LandArea PopDens PctUsePubTrans PolicCars PolicOperBudg LemasPctPolicOnPatr
    LemasGangUnitDeploy LemasPctOfficDrugUn PolicBudgPerPop
"""
_TARGET = "ViolentCrimesPerPop"
COLUMNS = (*_IDENTIFIERS, *_PREDICTORS.split(), _TARGET)
"""Names of the 128 columns of the file."""

# From LemasSwornFT on, all but these are missing outside the 319 places that a survey of police
# forces (LEMAS) covered.
_KNOWN_EVERYWHERE = {"LandArea", "PopDens", "PctUsePubTrans", "LemasPctOfficDrugUn", _TARGET}
_POLICE = tuple(
    name for name in COLUMNS[COLUMNS.index("LemasSwornFT") :] if name not in _KNOWN_EVERYWHERE
)
# What groups and levels are made of is no input.
_NOT_INPUTS = ("racepctblack", "medIncome", _TARGET)

FeatureSet = Literal["predictors", "paper"]
"""Which columns are features: those known everywhere, or the 124 of the paper."""


def load_communities(
    *,
    threshold: float | Literal["median", "mean"] = "median",
    features: FeatureSet = "predictors",
) -> Dataset:
    """Load Communities and Crime, US census of 1990: 1,994 places, 10 levels.

    Y = `ViolentCrimesPerPop`, scaled to 0..1; L = `medIncome_decile`, cut at 0.14, 0.18, 0.22,
    0.26, 0.32, 0.38, 0.44, 0.53 and 0.657, each edge belonging to the level below; A =
    `black_share`, `"upper"` where `racepctblack` (also scaled) exceeds the threshold and `"lower"`
    elsewhere. The paper does not say how it makes groups of that number. The median, 0.06, is a
    choice: it is the threshold of at least one published toolkit, and no cell has fewer than 42
    places.

    Missing features are filled with the median of their column. Columns that are no features stay
    in the frame as they are.

    Parameters
    ----------
    threshold : a number, or `"median"` (0.06) or `"mean"` (0.18) of the share over all places.
    features : `"predictors"`: the 98 that describe the place, without identifiers and the 22
        columns of the police survey, which are missing for 1,675 places; one value is filled.
        `"paper"`: 124 as the paper counts them, with the numeric identifiers (state, county,
        community, fold) and the survey, mostly filled. Neither has `racepctblack` or `medIncome`.

    References
    ----------
    Redmond (2002), doi:10.24432/C53W3X. Ghassemi et al. (2025), appendix.

    Examples
    --------
    >>> from likeforlike.datasets import load_communities
    >>> places = load_communities()
    >>> places.frame.height, len(places.features), int((places.groups == "upper").sum())
    (1994, 98, 970)
    """
    if features not in get_args(FeatureSet):
        raise InputError(f"features must be one of {get_args(FeatureSet)}, not {features!r}.")
    dropped = ("communityname",) if features == "paper" else (*_IDENTIFIERS, *_POLICE)
    used = tuple(name for name in COLUMNS if name not in {*dropped, *_NOT_INPUTS})
    kinds = dict.fromkeys(COLUMNS, pl.Float64) | {
        name: pl.String if name == "communityname" else pl.Int64 for name in _IDENTIFIERS
    }
    frame = pl.read_csv(read(SOURCE.files[0]), has_header=False, schema=kinds, null_values="?")
    frame = frame.with_columns(
        *(pl.col(name).cast(pl.Float64).fill_null(pl.col(name).median()) for name in used),
        deciles(frame["medIncome"]),
        _groups(frame["racepctblack"], threshold),
    )
    roles = used, _TARGET, "black_share", ("medIncome_decile",)
    return Dataset(frame, *roles, "regression", SOURCE.provenance)


def _groups(share: pl.Series, threshold: float | str) -> pl.Series:
    """Two groups of places: those above the threshold, and the rest."""
    values = share.to_numpy()
    named = {"median": float(np.median(values)), "mean": float(values.mean())}
    if isinstance(threshold, str) and threshold not in named:
        raise InputError(f"threshold must be a number or one of {tuple(named)}, not {threshold!r}.")
    limit = named[threshold] if isinstance(threshold, str) else threshold
    upper = values > limit
    if upper.all() or not upper.any():
        raise InputError(
            f"threshold {threshold} puts all places in one group; racepctblack lies in "
            f"[{values.min():g}, {values.max():g}], so choose a number from {values.min():g} to "
            f"below {values.max():g}."
        )
    return pl.Series("black_share", np.where(upper, "upper", "lower"))
