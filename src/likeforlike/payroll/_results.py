"""What is found about pay, as it is written to JSON: percent of men's pay, and money per year."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from likeforlike.document import Amount, Count, Finding, Interval, Limits

Part = Literal["total", "base", "variable"]
"""Which pay: all of it, or a component."""

Per = Literal["year", "hour"]
HoursUnit = Literal["year", "month", "week", "full-time"]
"""What the column of hours holds; full-time is a share of a full-time job."""

Standing = Literal["beyond chance", "within chance", "below the trigger", "not compared"]
"""Whether the gap of a category reaches the trigger, and whether chance explains it."""

Shares = Annotated[tuple[float, ...], Limits(4, 4)]
Money = Annotated[tuple[float, float], Limits(2, 2)]


_UNSAID = Finding("", (), ())


@dataclass(frozen=True, slots=True)
class PayGap:
    """How much less women are paid than men, in percent of men's pay.

    Attributes
    ----------
    part : of the pay.
    per : per year, or per hour.
    average : of means, or of medians.
    receivers : whether only people who receive variable pay are counted.
    people : how many women and how many men.
    pay : average pay of women and of men; null where it is not shown.
    percent : positive where men are paid more; null where it cannot be computed or is not shown.
    interval : that held the truth in at least 93 of 100 made companies; null where there is none.
    note : why a figure is missing, or what to know about it.
    """

    part: Part
    per: Per
    average: Literal["mean", "median"]
    receivers: bool
    people: tuple[Count, Count]
    pay: Money | None
    percent: float | None
    interval: Interval | None
    note: str | None


@dataclass(frozen=True, slots=True)
class PayBands:
    """Who is in each quarter of all people, sorted by total pay, from the lowest to the highest.

    Attributes
    ----------
    per : total pay per year, or per hour.
    women, men, others : their percentages in each quarter; people of equal pay are spread evenly.
    """

    per: Per
    women: Shares
    men: Shares
    others: Shares


@dataclass(frozen=True, slots=True)
class PayCategory:
    """Women and men in one category of workers.

    Attributes
    ----------
    name : of the category.
    people : how many women and how many men.
    gaps : of means: total pay first, as it is compared with the trigger, then the components.
    p_value : the chance of a difference as large without any cause, for this category by itself.
    p_adjusted : the same, adjusted for the number of categories.
    standing : whether it reaches the trigger, and whether chance explains that.
    cost : the least money per year in raises that closes the gap to the limit.
    even_cost : the money per year if all raises are the same part of the way to the counterpart.
    raised : how many people get a raise then.
    """

    name: str
    people: tuple[Count, Count]
    gaps: tuple[PayGap, ...]
    p_value: float | None
    p_adjusted: float | None
    standing: Standing
    cost: Amount
    even_cost: Amount
    raised: Count


@dataclass(frozen=True, slots=True)
class PayRequest:
    """What was asked.

    Attributes
    ----------
    base, variable, sensitive, category, hours, id : columns, as they are called.
    hours_unit : what the column of hours holds.
    full_time : hours of a full-time year.
    women, men : values of the sensitive column.
    trigger : percent at which a category is listed, and to which gaps are closed.
    confidence : of intervals.
    permutations : of the test.
    suppress_below : nothing is shown about fewer people; null shows everything.
    random_state : the seed.
    currency : of the pay.
    """

    base: str
    variable: str | None
    sensitive: str
    category: str | None
    hours: str | None
    id: str | None
    hours_unit: HoursUnit
    full_time: float | None
    women: str | None
    men: str | None
    trigger: float
    confidence: float
    permutations: Count
    suppress_below: Count | None
    random_state: int
    currency: str


@dataclass(frozen=True, slots=True)
class Staff:
    """Who was counted.

    Attributes
    ----------
    people, contracts : people, and rows that were added up to them.
    women, men : how many.
    others : other genders, as the file has them.
    unknown : people whose gender is missing.
    unpaid : people left out because they have no pay.
    no_category, no_hours, no_variable : people without a category, without hours, and with an empty
        variable pay, which was read as none.
    """

    people: Count
    contracts: Count
    women: Count
    men: Count
    others: dict[str, Count]
    unknown: Count
    unpaid: Count
    no_category: Count
    no_hours: Count
    no_variable: Count


@dataclass(frozen=True, slots=True)
class PayDocument:
    """Everything that was found about pay.

    Attributes
    ----------
    schema : what kind of document this is.
    schema_version : rises when an entry changes meaning.
    request : what was asked.
    staff : who was counted.
    versions, created : of what computed it, and when, in coordinated universal time.
    gaps : of all women and men.
    receiving : percentages of women and of men who receive variable pay; null without that column.
    bands : quarters by pay.
    others : gaps between people of another gender and men, by gender.
    categories : categories with women and men, sorted by name.
    unlisted : women and men in categories that have too few of either sex to be shown.
    unlisted_categories : how many such categories there are.
    one_sex : people in categories of one sex only, and without a category.
    within, between : the gap of mean pay in percent that lies within categories, and between them.
    within_pay, between_pay : the same, as average pay.
    fifths : gaps within categories from their lowest-paid to their highest-paid fifth.
    cost, even_cost, raised : sums over the categories that are shown.
    finding : what the figures say.
    """

    schema: Literal["likeforlike.pay"]
    schema_version: Literal[1]
    request: PayRequest
    staff: Staff
    versions: dict[str, str]
    created: str
    gaps: tuple[PayGap, ...] = ()
    receiving: Money | None = None
    bands: tuple[PayBands, ...] = ()
    others: dict[str, PayGap] = field(default_factory=dict)
    categories: tuple[PayCategory, ...] = ()
    unlisted: tuple[Count, Count] = (0, 0)
    unlisted_categories: Count = 0
    one_sex: Count = 0
    within: float | None = None
    between: float | None = None
    within_pay: float | None = None
    between_pay: float | None = None
    fifths: tuple[PayGap, ...] = ()
    cost: Amount = 0.0
    even_cost: Amount = 0.0
    raised: Count = 0
    finding: Finding = _UNSAID
