"""Requests and releases as JSON: the type of every entry, of which their schemas are made.

In Parquet files a request has its entries but `ids` and `columns` in the notes, and these two as
columns of the table.
"""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Literal, TypedDict

from likeforlike.document._plain import Amount, Count, Limits
from likeforlike.teams._ledger import Receipt

REQUEST_FILE, RELEASE_FILE = "likeforlike.request.schema.json", "likeforlike.release.schema.json"
"""Their names in the package; `tools/schema.py` writes them."""


Ids = Annotated[list[str], Limits(1)]
Names = Annotated[list[str], Limits(2)]
Positive = Annotated[int, Limits(1)]


class CodeColumn(TypedDict):
    """What is asked about every row of a request of counts.

    code : of every row, from 0 to n_codes - 1.
    """

    code: list[Count]


class CountsRequestDocument(TypedDict):
    """How many rows of each group have each code.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : how many rows of each group have each code.
    n_codes : how many codes there are.
    ids : of the rows, as text, each once.
    columns : what is asked about every row, in the order of the ids.
    """

    schema: Literal["likeforlike.request"]
    schema_version: Literal[1]
    kind: Literal["counts"]
    n_codes: Positive
    ids: Ids
    columns: CodeColumn


class SumsRequestDocument(TypedDict):
    """Sums of public features over the rows of each group.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : sums of features over the rows of each group.
    grid : features are whole numbers of parts of 1, of which there are this many.
    features : how many features there are.
    ids : of the rows, as text, each once.
    columns : the features f0, f1, and so on, in the order of the ids; the norm of a row is at most
        1.
    """

    schema: Literal["likeforlike.request"]
    schema_version: Literal[1]
    kind: Literal["sums"]
    grid: Literal[1048576]
    features: Positive
    ids: Ids
    columns: dict[str, list[int]]


NoiseLaw = Literal["discrete Laplace", "discrete Gaussian", "randomized response"]


class Noise(TypedDict):
    """The distribution of the noise in a release.

    Attributes
    ----------
    law : its name: "discrete Laplace", "discrete Gaussian" or "randomized response".
    scale : of a discrete Laplace distribution, as a fraction; for randomized response the
        probability with which a label is kept; null for a discrete Gaussian.
    variance : of every value, in its unit; null for randomized response.

    Examples
    --------
    >>> from likeforlike.teams._documents import Noise
    >>> Noise(law="discrete Laplace", scale="1", variance=1.84)["scale"]
    '1'
    """

    law: NoiseLaw
    scale: str | None
    variance: Amount | None


class TableReleaseDocument(TypedDict):
    """Noisy counts or sums.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : whether counts or sums were asked for.
    request : SHA-256 of the request it answers.
    groups : names of all groups, as the custodian declared them.
    values : a list for every group in the answer, with a number for every code or feature. Of
        two groups only the second is: what the first has is the public rest. Sums are in parts of
        the grid.
    epsilon : what this answer may tell about one person.
    delta : of that ε; 0 for counts.
    noise : its distribution.
    rows_per_person : the most rows of one person that were asked about; noise is so much larger.
    receipt : the line of the ledger.
    """

    schema: Literal["likeforlike.release"]
    schema_version: Literal[1]
    kind: Literal["counts", "sums"]
    request: str
    groups: Names
    values: Annotated[list[list[int]], Limits(1)]
    epsilon: Amount
    delta: Amount
    noise: Noise
    rows_per_person: Positive
    receipt: Receipt


class GroupsReleaseDocument(TypedDict):
    """A randomized group for every row.

    schema : what kind of document this is.
    schema_version : rises when an entry changes its meaning.
    kind : a group for every row.
    request : SHA-256 of the ids that were asked about.
    groups : names of all groups, as the custodian declared them.
    values : for every id, in the order they were sent in, the place of a group among the names.
    epsilon : what this answer may tell about one person.
    delta : always 0 for such a file.
    noise : the probability with which a group is the true one.
    rows_per_person : the most rows of one person that were asked about; all are treated alike.
    receipt : the line of the ledger.
    """

    schema: Literal["likeforlike.release"]
    schema_version: Literal[1]
    kind: Literal["groups"]
    request: str
    groups: Names
    values: Annotated[list[Count], Limits(1)]
    epsilon: Amount
    delta: Amount
    noise: Noise
    rows_per_person: Positive
    receipt: Receipt


def request_schema() -> str:
    """The JSON schema (draft 2020-12) of what modelers send to a custodian.

    Examples
    --------
    >>> import json
    >>> from likeforlike.teams import request_schema
    >>> len(json.loads(request_schema())["oneOf"])
    2
    """
    return _text(REQUEST_FILE)


def release_schema() -> str:
    """The JSON schema (draft 2020-12) of what a custodian answers.

    Examples
    --------
    >>> import json
    >>> from likeforlike.teams import release_schema
    >>> json.loads(release_schema())["$defs"]["Receipt"]["required"]
    ['entry', 'hash']
    """
    return _text(RELEASE_FILE)


def _text(name: str) -> str:
    return (resources.files("likeforlike.teams") / name).read_text("utf-8")
