"""The public data sets, and which of them are at hand, on what terms.

- Adult: who earns more than 50,000 dollars a year, by sex, among people of equal occupation.
- Communities and Crime: violent crime, by share of black residents, among equal incomes.
- Drug consumption: who ever used cannabis, by gender, among people of equal education.
- Law School: grades of the first year, by gender, among people of equal admission test.

A file is looked for in the folder that `LIKEFORLIKE_DATA` names, then among those that come with
the package, then in the user's cache, then fetched into the cache from the first public origin that
sends it exactly as it should be. What is used is what was checked: content is read once, compared
with its SHA-256 and handed on. `sources.toml` says which files a data set is made of, byte for
byte, and where they are public.

The files that come with the package are compressed and otherwise unchanged. Only files that may be
passed on freely are among them; `bundled/ATTRIBUTION.txt` names their owners and terms.
`python -m tools.bundle` packs them.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from importlib import resources
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from zipfile import BadZipFile, ZipFile

import numpy as np
import polars as pl

from likeforlike.datasets._dataset import DataProvenance, Dataset, deciles
from likeforlike.errors import InputError
from likeforlike.files import replace_whole


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file known by its content.

    Attributes
    ----------
    path : its place below a folder of data, with forward slashes.
    size : bytes.
    sha256 : checksum of the content.
    origins : addresses to fetch it from, tried in order; `archive.zip#member` is a file in a ZIP
        archive.
    """

    path: str
    size: int
    sha256: str
    origins: tuple[str, ...]

    def damage(self, content: bytes) -> str | None:
        """Say what is wrong with content that should be this file; `None` if nothing is."""
        digest = hashlib.sha256(content).hexdigest()
        if digest == self.sha256:
            return None
        size = "" if len(content) == self.size else f" ({len(content):,} bytes, not {self.size:,})"
        return f"its SHA-256 is {digest}, not {self.sha256}{size}"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a data set comes from.

    Attributes
    ----------
    name : as in `load_<name>`.
    rows : how many rows its loader returns by default.
    files : what it is made of.
    origin, license, citation : as in `DataProvenance`.
    """

    name: str
    rows: int
    files: tuple[DataFile, ...]
    origin: str
    license: str
    citation: str

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    @property
    def provenance(self) -> DataProvenance:
        """What a data set made of these files says about itself."""
        checksums = {file.path: file.sha256 for file in self.files}
        return DataProvenance(self.origin, self.license, self.citation, checksums)


def source(name: str) -> Source:
    """Return the source of a data set, as `sources.toml` has it."""
    entry = dict(_entries()[name])
    files = tuple(
        DataFile(**{**file, "origins": tuple(file["origins"])}) for file in entry["files"]
    )
    return Source(**{**entry, "name": name, "files": files})


@cache
def _entries() -> dict[str, Any]:
    path = resources.files("likeforlike.datasets") / "sources.toml"
    return tomllib.loads(path.read_text("utf-8"))


def bundle_folder() -> Traversable:
    """Where the files that come with the package are."""
    return files("likeforlike.datasets").joinpath("bundled")


def read_bundle(file: DataFile) -> bytes | None:
    """Read and check a file that comes with the package; `None` if it does not come with it.

    Damage means that the installation is broken. That is said and not mended behind anybody's
    back, for other parts of it may be broken too.
    """
    try:
        import lzma
    except ImportError:
        # Some Pythons are built without it; their files are found elsewhere or fetched.
        return None
    place = bundle_folder().joinpath(f"{file.path}.xz")
    try:
        content = lzma.decompress(place.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, lzma.LZMAError) as error:
        damage: str | None = f"it cannot be unpacked ({error})"
    else:
        damage = file.damage(content)
        if damage is None:
            return content
    raise InputError(
        f"{place} came with likeforlike and is not the file that was published: {damage}. Install "
        f"likeforlike again, or set LIKEFORLIKE_DATA to a folder that holds {file.path}."
    )


_TIMEOUT = 30.0
_PART = 1 << 16
# No origin has anything near this size; whatever has is not what was asked for.
_LARGEST = 1 << 26
# What servers, networks and archives do wrong. A KeyError is a member that an archive lacks, a
# RuntimeError one that is encrypted or packed in an unknown way.
_FAILURES = (OSError, HTTPException, BadZipFile, zlib.error, EOFError, KeyError, RuntimeError)


def download(file: DataFile) -> bytes:
    """Fetch a file from the first of its origins that sends it unharmed.

    Nothing is written. A bar is shown if standard error is a terminal.
    """
    reasons = []
    for origin in file.origins:
        address, _, member = origin.partition("#")
        try:
            content = _receive(address, file.path)
            if member:
                content = _extract(content, member, file.size)
        except _FAILURES as error:
            reasons.append(f"{origin}: {str(error).strip() or type(error).__name__}")
            continue
        damage = file.damage(content)
        if damage is None:
            return content
        reasons.append(f"{origin}: {damage}")
    raise InputError(
        f"{file.path} could not be fetched: {'; '.join(reasons) or 'it has no public origin'}."
    )


def _receive(address: str, name: str) -> bytes:
    """All that an address sends, which may be less than it promised."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    request = Request(address, headers={"User-Agent": "likeforlike"})
    try:
        response = urlopen(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        raise
    content = bytearray()
    with response, _bar(name, response.headers.get("Content-Length")) as advance:
        while len(content) <= _LARGEST and (part := response.read(_PART)):
            content += part
            advance(len(part))
    return bytes(content)


def _extract(archive: bytes, member: str, size: int) -> bytes:
    """Extract a member of a ZIP archive; cut one that is too long, so that its checksum fails."""
    with ZipFile(io.BytesIO(archive)) as zipped, zipped.open(member) as inside:
        return inside.read(size + 1)


@contextmanager
def _bar(name: str, promised: str | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on the terminal, and nothing where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        total = int(promised) if promised and promised.isdecimal() else None
        task = progress.add_task(f"fetching {name}", total=total)
        yield lambda size: progress.update(task, advance=size)


State = Literal[
    "in LIKEFORLIKE_DATA", "with the package", "in the cache", "to be fetched", "damaged"
]
"""Where a file is, or that it is not what it should be."""


def data_folder() -> Path | None:
    """Return the folder that `LIKEFORLIKE_DATA` names, or `None`."""
    named = os.environ.get("LIKEFORLIKE_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Where fetched files are kept; it need not exist yet.

    `LIKEFORLIKE_CACHE`, else `likeforlike` in `XDG_CACHE_HOME`, else in the folder for caches of
    the system: `~/.cache`, `~/Library/Caches` on macOS, `LOCALAPPDATA` on Windows.
    """
    named = os.environ.get("LIKEFORLIKE_CACHE")
    if named:
        return Path(named).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared:
        return Path(shared).expanduser() / "likeforlike"
    system = platform.system()
    local = os.environ.get("LOCALAPPDATA")
    if system == "Windows" and local:
        return Path(local) / "likeforlike" / "Cache"
    return _home() / ("Library/Caches" if system == "Darwin" else ".cache") / "likeforlike"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise InputError(
            "this user has no home folder to keep data in; set LIKEFORLIKE_CACHE to a folder."
        ) from error


def read(file: DataFile) -> bytes:
    """Read and check the content of a file; fetch and keep it if there is no good copy yet.

    A damaged copy in `LIKEFORLIKE_DATA` is refused, since it was put there on purpose, and
    so is one that came with the package, since the installation is then broken. A damaged copy in
    the cache is replaced, once the whole file has arrived and passed its check.
    """
    for reader in (_read_folder, read_bundle):
        content = reader(file)
        if content is not None:
            return content
    kept = cache_folder() / file.path
    content = _content(kept)
    if content is not None and file.damage(content) is None:
        return content
    try:
        fetched = download(file)
    except InputError as error:
        damaged = "" if content is None else f" The copy at {kept} is damaged and was not used."
        raise InputError(
            f"{error}{damaged} Try again later, or put the file at {kept} yourself, or set "
            f"LIKEFORLIKE_DATA to a folder that holds {file.path}."
        ) from error
    _keep(kept, file, fetched)
    return fetched


def state(file: DataFile) -> State:
    """Where `read` would find a file, without fetching it."""
    try:
        if _read_folder(file) is not None:
            return "in LIKEFORLIKE_DATA"
        if read_bundle(file) is not None:
            return "with the package"
        content = _content(cache_folder() / file.path)
    except InputError:
        return "damaged"
    if content is None:
        return "to be fetched"
    return "in the cache" if file.damage(content) is None else "damaged"


def _read_folder(file: DataFile) -> bytes | None:
    """Content of a file in the folder that `LIKEFORLIKE_DATA` names, or `None` if it has none."""
    folder = data_folder()
    if folder is None:
        return None
    place = folder / file.path
    content = _content(place)
    damage = None if content is None else file.damage(content)
    if damage is None:
        return content
    raise InputError(
        f"{place} is not the file that was published: {damage}. Restore it, or remove it so that "
        "another copy is found or fetched."
    )


def _content(path: Path) -> bytes | None:
    """Content of a file, or `None` if there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _keep(path: Path, file: DataFile, content: bytes) -> None:
    """Put checked content in the cache, whole or not at all.

    Two processes that fetch the same file at the same time put the same good content there one
    after the other.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, content)
    except OSError as error:
        # Windows refuses to replace a file that another process, quicker than this, has open.
        there = _content(path)
        if there is not None and file.damage(there) is None:
            return
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}. Set LIKEFORLIKE_CACHE to a "
            "folder that can be."
        ) from error


ADULT = source("adult")
"""The two files as UCI publishes them; the paper uses them together."""

_SCHEMA = {
    "age": pl.Int64,
    "workclass": pl.String,
    "fnlwgt": pl.Int64,
    "education": pl.String,
    "education-num": pl.Int64,
    "marital-status": pl.String,
    "occupation": pl.String,
    "relationship": pl.String,
    "race": pl.String,
    "sex": pl.String,
    "capital-gain": pl.Int64,
    "capital-loss": pl.Int64,
    "hours-per-week": pl.Int64,
    "native-country": pl.String,
    "income": pl.String,
}
_NOT_FEATURES = ("sex", "occupation", "income")
# The paper joins the two rarest occupations to a third, since some of their cells are empty.
_MERGED = {"Armed-Forces": "Protective-serv", "Priv-house-serv": "Protective-serv"}


def load_adult(
    *,
    sample: int | None = None,
    complete: bool = False,
    merge: bool = True,
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Load Adult, the US census of 1994: 46,033 people, 12 occupations.

    Y = `over_50k`, 1 if the income exceeds 50,000 dollars; A = `sex`; L = `occupation`, by name;
    X = the 12 other columns and the occupation. Both published files are read as one; rows whose
    occupation is unknown are dropped, for they belong to no level. An unknown country (or class of
    work) is the value `"unknown"`, a category of its own, so that inputs have no gaps.

    Parameters
    ----------
    sample : draw this many rows uniformly without replacement, kept in the order of the file;
        the paper draws 5,000. `None` keeps all.
    complete : keep only the 45,222 rows where nothing is unknown.
    merge : join Armed-Forces and Priv-house-serv to Protective-serv, as the paper does; `False`
        keeps 14 occupations.
    random_state : seed or generator of the draw.

    References
    ----------
    Becker & Kohavi (1996), doi:10.24432/C5XW20. Ghassemi et al. (2025), appendix.

    Examples
    --------
    >>> from likeforlike.datasets import load_adult
    >>> adult = load_adult(sample=5000)
    >>> adult.frame.height, adult.frame["occupation"].n_unique(), adult.inputs("integer").names[-1]
    (5000, 12, 'occupation')
    """
    whole = pl.concat([_rows(read(file)) for file in ADULT.files])
    frame = whole.drop_nulls(None if complete else "occupation").with_columns(
        pl.col("workclass", "native-country").fill_null("unknown"),
        (pl.col("income") == ">50K").cast(pl.Int64),
    )
    frame = frame.rename({"income": "over_50k"})
    if merge:
        frame = frame.with_columns(pl.col("occupation").replace(_MERGED))
    if sample is not None:
        frame = _draw_sample(frame, sample, random_state)
    features = (*(name for name in _SCHEMA if name not in _NOT_FEATURES), "occupation")
    roles = features, "over_50k", "sex", ("occupation",)
    return Dataset(frame, *roles, "classification", ADULT.provenance)


def _rows(content: bytes) -> pl.DataFrame:
    """Rows of one file. The second opens with a line that is no row and ends labels with a stop."""
    lines = content.strip().replace(b", ", b",")
    frame = pl.read_csv(
        lines,
        has_header=False,
        schema=_SCHEMA,
        null_values="?",
        skip_rows=int(lines.startswith(b"|")),
    )
    return frame.with_columns(pl.col("income").str.strip_chars_end("."))


def _draw_sample(
    frame: pl.DataFrame, sample: int, random_state: int | np.random.Generator | None
) -> pl.DataFrame:
    if not (1 <= sample <= frame.height and sample == int(sample)):
        raise InputError(
            f"sample must be a whole number from 1 to {frame.height:,}, the rows there are, not "
            f"{sample}."
        )
    rng = np.random.default_rng(random_state)
    return frame[np.sort(rng.choice(frame.height, int(sample), replace=False))]


COMMUNITIES = source("communities")
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
    frame = pl.read_csv(read(COMMUNITIES.files[0]), has_header=False, schema=kinds, null_values="?")
    frame = frame.with_columns(
        *(pl.col(name).cast(pl.Float64).fill_null(pl.col(name).median()) for name in used),
        deciles(frame["medIncome"]),
        _groups(frame["racepctblack"], threshold),
    )
    roles = used, _TARGET, "black_share", ("medIncome_decile",)
    return Dataset(frame, *roles, "regression", COMMUNITIES.provenance)


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


DRUG = source("drug")
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
    frame = pl.read_csv(read(DRUG.files[0]), has_header=False, schema=kinds)
    female = pl.col("Gender") > 0.0
    frame = frame.with_columns(
        pl.when(female).then(pl.lit("female")).otherwise(pl.lit("male")).alias("Gender"),
        (pl.col("Education").rank("dense").cast(pl.Int64) - 1).alias("education_rank"),
        (pl.col("Cannabis") != "CL0").cast(pl.Int64).alias("used_cannabis"),
    )
    roles = ("Education", "Country", *_TRAITS), "used_cannabis", "Gender", ("education_rank",)
    return Dataset(frame, *roles, "classification", DRUG.provenance)


LAW_SCHOOL = source("law_school")
"""The study was never published as a file; this copy has circulated for years."""

_INPUTS = ("ugpa", "fam_inc", "fulltime", "tier")


def load_law_school() -> Dataset:
    """Load Law School, the LSAC bar passage study of 1991: 21,027 students, 10 levels.

    Y = `zfygpa`, the standardized grade average of the first year; A = `gender`; L =
    `lsat_decile`, decile of the admission test; X = `ugpa` (grade average before), `fam_inc`
    (income bracket of the family), `fulltime` (1 or 2: part-time), `tier` of the school, and L.
    Rows that lack one of these values are dropped first, which leaves the paper's number of rows;
    deciles are cut after that at 30, 32.5, 34, 36, 37, 38, 40, 41 and 44, each edge belonging to
    the level below. The test itself, `lsat`, and all other columns stay in the frame;
    `dnn_bar_pass_prediction` among them is the output of another model.

    References
    ----------
    Wightman & Ramsey (1998). Ghassemi et al. (2025), appendix.

    Examples
    --------
    >>> from likeforlike.datasets import load_law_school
    >>> grades = load_law_school()
    >>> grades.frame.height, grades.features
    (21027, ('ugpa', 'fam_inc', 'fulltime', 'tier', 'lsat_decile'))
    """
    # Types are inferred from all rows: some columns hold nothing for thousands of rows.
    whole = pl.read_csv(read(LAW_SCHOOL.files[0]), infer_schema_length=None)
    frame = whole.drop_nulls([*_INPUTS, "lsat", "gender", "zfygpa"])
    frame = frame.with_columns(deciles(frame["lsat"]))
    roles = (*_INPUTS, "lsat_decile"), "zfygpa", "gender", ("lsat_decile",)
    return Dataset(frame, *roles, "regression", LAW_SCHOOL.provenance)


SOURCES = (ADULT, DRUG, LAW_SCHOOL, COMMUNITIES)
"""The public data sets, in the order of the paper."""

# A data set is where the worst placed of its files is.
_WORST_FIRST: tuple[State, ...] = (
    "damaged",
    "to be fetched",
    "in the cache",
    "with the package",
    "in LIKEFORLIKE_DATA",
)


class Availability(NamedTuple):
    """A public data set and where its files are.

    Attributes
    ----------
    name : as in `load_<name>`.
    rows : how many rows its loader returns by default.
    size : bytes of its files.
    state : where they are; `"damaged"` files are never used.
    license : on what terms they may be used.

    Examples
    --------
    >>> from likeforlike.datasets import available
    >>> drug = available()[1]
    >>> drug.name, drug.rows, drug.license
    ('drug', 1885, 'CC BY 4.0')
    """

    name: str
    rows: int
    size: int
    state: State
    license: str


def available() -> tuple[Availability, ...]:
    """List the public data sets; nothing is fetched.

    Examples
    --------
    >>> from likeforlike.datasets import available
    >>> [(dataset.name, dataset.rows) for dataset in available()]
    [('adult', 46033), ('drug', 1885), ('law_school', 21027), ('communities', 1994)]
    """
    listed = []
    for known in SOURCES:
        states = [state(file) for file in known.files]
        worst = min(states, key=_WORST_FIRST.index)
        listed.append(Availability(known.name, known.rows, known.size, worst, known.license))
    return tuple(listed)
