"""Parts of the document about groups: where their rows are, and which were left out."""

from __future__ import annotations

from typing import TypedDict

from likeforlike.document._kinds import Amount, Count, Probability


class LostPart(TypedDict):
    """Rows of one group that were left out because a value is missing.

    Attributes
    ----------
    group : its name; null for rows whose own group is not known.
    rows : all rows of the group.
    lost : those left out.
    columns : the sensitive columns that the group is a value of.
    """

    group: str | None
    rows: Count
    lost: Count
    columns: list[str]


class LossTestPart(TypedDict):
    """Whether some groups lost more of their rows than others, by Pearson's test.

    Attributes
    ----------
    columns : the sensitive columns of the groups.
    statistic : chi-squared.
    degrees : of freedom.
    p_value : of equal shares.
    """

    columns: list[str]
    statistic: Amount
    degrees: Count
    p_value: Probability


class GroupPart(TypedDict):
    """Where the rows of one group are; those of all groups of a column add up to the table.

    Attributes
    ----------
    columns : the sensitive columns that the group is a value of.
    group : its name; null for rows whose own group is not known.
    rows : all rows of the group.
    compared : those in a comparison.
    not_compared : those whose group or level could not be compared.
    missing : those that lack a value.
    """

    columns: list[str]
    group: str | None
    rows: Count
    compared: Count
    not_compared: Count
    missing: Count
