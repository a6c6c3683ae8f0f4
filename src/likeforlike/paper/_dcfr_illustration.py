"""How small DCFR's regularizer can be while the disparity is not: the paper's Figure 1.

Of n applicants a share r are men. Men are approved at the rate ½ + δ, women at ½ - δ, and there
are no legitimate features, so the disparity is the difference of the rates. With the counts

                 men   women
    approved      a      b
    refused       c      d

    CDD = a / (a + c) - b / (b + d),        R_DCFR = (ad - bc) / n² = r (1 - r) CDD.

The second is what the paper's own Proposition 5.1, E[(P(A=1 | f) - P(A=1))_+], comes to. Its
appendix D.1 draws a / (a + b) - c / (c + d) instead, which is larger by the factor 1 / (q (1 - q)),
with q the share of applicants approved, and equals CDD where r = ½. R_DCFR itself is at most a
quarter of CDD, whatever r is. That a small value need not mean a small disparity holds for both.
W_p^p between the decisions of the two groups, and with it FairBiT and every other penalty of this
library, equals CDD for every r: the right panel of the figure.

Reference: Ghassemi et al. (2025), section 5.1, Figure 1 and appendix D.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise

import numpy as np
import polars as pl
from markupsafe import Markup

from likeforlike.errors import InputError
from likeforlike.penalties import FairBiT
from likeforlike.report import AxisScale, count, number, tick, ticks
from likeforlike.report import _svg as svg

_SHARES = (0.5, 0.8, 0.9, 0.99)
_DIFFERENCES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_COLUMNS = ("share", "difference", "a", "b", "c", "d", "cdd", "dcfr_printed", "dcfr", "fairbit")
_WIDTH, _HEIGHT, _TOP, _SIDE = 920.0, 384.0, 74.0, 248.0


def dcfr_illustration(
    shares: Sequence[float] = _SHARES,
    differences: Sequence[float] = _DIFFERENCES,
    applicants: int = 10_000,
    *,
    random_state: int | None = None,
) -> pl.DataFrame:
    """CDD, both forms of R_DCFR, and FairBiT, for every share of men and difference in acceptance.

    Without a seed counts are not drawn: rates are met as closely as whole people allow. With one
    applicants are drawn, as in the paper. Every figure is that of the counts.

    Parameters
    ----------
    shares : of men among the applicants, between 0 and 1.
    differences : in the rate of acceptance, 2δ, from 0 to 1.
    applicants : how many there are, n.
    random_state : seed, or `None` to draw nothing.

    Returns
    -------
    One row for each share and difference with the columns `share` and `difference` as asked for,
    the counts `a`, `b`, `c` and `d`, and `cdd`, `dcfr_printed` (a / (a + b) - c / (c + d)), `dcfr`
    (Proposition 5.1) and `fairbit`, the value of the penalty.

    Examples
    --------
    >>> from likeforlike.paper._dcfr_illustration import dcfr_illustration
    >>> table = dcfr_illustration(shares=[0.5, 0.9], differences=[0.4])
    >>> [round(value, 4) for value in table["cdd"]]
    [0.4, 0.4]
    >>> [round(value, 4) for value in table["dcfr_printed"]]
    [0.4, 0.1604]
    >>> [round(value, 4) for value in table["dcfr"]]
    [0.1, 0.036]
    >>> [round(value, 4) for value in table["fairbit"]]
    [0.4, 0.4]
    """
    _check(shares, "shares")
    _check(differences, "differences")
    rng = None if random_state is None else np.random.default_rng(random_state)
    rows = []
    for share in shares:
        for difference in differences:
            counts = _counts(share, difference, applicants)
            if rng is not None:
                counts = _draw_applicants(rng, share, difference, applicants)
            rows.append((share, difference, *counts, *_measure(*counts)))
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def _check(values: Sequence[float], name: str) -> None:
    if not len(values):
        raise InputError(f"{name} is empty; give at least one.")
    for value in values:
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{name} must lie from 0 to 1, not {value!r}.")


def _counts(share: float, difference: float, applicants: int) -> tuple[int, int, int, int]:
    """Men and women approved, men and women refused."""
    if applicants != math.floor(applicants):
        raise InputError(f"applicants must be a whole number, not {applicants!r}.")
    men = math.floor(share * applicants + 0.5)
    women = applicants - men
    if min(men, women) < 2:
        raise InputError(
            f"shares has {share!r}, which makes {men} of {applicants} applicants men: there must "
            "be two men and two women at least."
        )
    a = math.floor(men * (0.5 + difference / 2.0) + 0.5)
    b = math.floor(women * (0.5 - difference / 2.0) + 0.5)
    return a, b, men - a, women - b


def _draw_applicants(
    rng: np.random.Generator, share: float, difference: float, applicants: int
) -> tuple[int, int, int, int]:
    """Draw applicants at random, at least two men and two women, and count as `_counts` does."""
    men = min(max(int(rng.binomial(applicants, share)), 2), applicants - 2)
    a = int(rng.binomial(men, 0.5 + difference / 2.0))
    b = int(rng.binomial(applicants - men, 0.5 - difference / 2.0))
    return a, b, men - a, applicants - men - b


def _measure(a: int, b: int, c: int, d: int) -> tuple[float, float, float, float]:
    """CDD and both forms of R_DCFR, each one quotient of whole numbers; and FairBiT."""
    over = a * d - b * c
    decided = (a + b) * (c + d)
    fairbit, _ = FairBiT().value_and_grad(
        [1.0, 1.0, 0.0, 0.0], ["m", "f", "m", "f"], sample_weight=[a, b, c, d]
    )
    return (
        over / ((a + c) * (b + d)),
        over / decided if decided else 0.0,
        over / (a + b + c + d) ** 2,
        fairbit,
    )


@dataclass(frozen=True, slots=True)
class _Panel:
    """One of the drawings: what it shows, where, and how its lines look."""

    column: str
    title: str
    formula: str
    left: float
    color: str
    dashes: str | None

    @property
    def along(self) -> AxisScale:
        return AxisScale(0.0, 1.0, self.left, self.left + _SIDE)

    def mark(self, x: float, y: float) -> Markup:
        if self.dashes is None:
            return svg.circle(x, y, 3.5, class_=f"{self.color} hollow")
        return svg.diamond(x, y, 4.5, class_=f"{self.color} full")

    def line(self, points: list[tuple[float, float]]) -> Markup:
        look = f"{self.color} outline"
        return svg.path(points, class_=look, stroke_dasharray=self.dashes)


_ONE_PLACE = 25.0
_UP = AxisScale(0.0, 1.0, _TOP + _SIDE, _TOP)
_PANELS = (
    _Panel("dcfr_printed", "DCFR as printed", "R = a / (a + b) − c / (c + d)", 44.0, "a", None),
    _Panel("dcfr", "DCFR, Proposition 5.1", "R = r (1 − r) · CDD", 352.0, "b", "7 4"),
    _Panel("fairbit", "FairBiT", "V = W between the decisions", 660.0, "a", "2 3"),
)


def dcfr_chart(table: pl.DataFrame) -> str:
    """CDD against both forms of R_DCFR and FairBiT, a line for each share of men, as an SVG.

    The drawing needs nothing from outside and follows its reader's light or dark mode. Panels
    differ in dashes and marks, not in color only; lines carry the share of men as a label, and all
    figures are in the description.

    Parameters
    ----------
    table : of `dcfr_illustration`.

    Examples
    --------
    >>> from likeforlike.paper._dcfr_illustration import dcfr_chart, dcfr_illustration
    >>> dcfr_chart(dcfr_illustration()).startswith("<svg xmlns=")
    True
    """
    style = files("likeforlike.report").joinpath("templates", "chart.css").read_text("utf-8")
    drawn = svg.element(
        "svg",
        svg.element("title", "Disparity against the regularizers of DCFR and FairBiT"),
        svg.element("desc", _in_words(table)),
        svg.element("style", Markup(f"{style}.likeforlike .paper {{ fill: var(--paper); }}")),
        svg.rect(0.0, 0.0, _WIDTH, _HEIGHT, class_="paper", rx=8.0),
        svg.group(*(_panel(panel, table) for panel in _PANELS), class_="chart"),
        xmlns="http://www.w3.org/2000/svg",
        class_="likeforlike",
        role="img",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        width=_WIDTH,
        height=_HEIGHT,
    )
    return str(drawn)


def _panel(panel: _Panel, table: pl.DataFrame) -> Markup:
    lines, ends = [], []
    for share, part in _by_share(table):
        points = [
            (panel.along(value), _UP(cdd)) for value, cdd in part.select(panel.column, "cdd").rows()
        ]
        lines.append(svg.group(panel.line(points), *(panel.mark(x, y) for x, y in points)))
        ends.append((min(points, key=lambda point: point[1]), share))
    return svg.group(
        *_head(panel), *_axes(panel), *lines, *_labels(panel, ends), class_=panel.column
    )


def _head(panel: _Panel) -> list[Markup]:
    left = panel.left
    return [
        panel.line([(left, 14.0), (left + 36.0, 14.0)]),
        panel.mark(left + 18.0, 14.0),
        svg.text(left + 46.0, 18.0, panel.title, class_=f"{panel.color} word"),
        svg.text(left, 38.0, panel.formula, class_="name"),
    ]


def _axes(panel: _Panel) -> list[Markup]:
    along, bottom, middle = panel.along, _UP.start, panel.left + _SIDE / 2.0
    pieces = []
    for value in ticks(0.0, 1.0, 5):
        x, y = along(value), _UP(value)
        pieces += [
            svg.line(x, _TOP, x, bottom, class_="grid"),
            svg.line(panel.left, y, panel.left + _SIDE, y, class_="grid"),
            svg.text(x, bottom + 18.0, tick(value), class_="tick mid"),
            svg.text(panel.left - 8.0, y + 4.0, tick(value), class_="tick end"),
        ]
    return [
        *pieces,
        svg.line(along(0.0), _UP(0.0), along(1.0), _UP(1.0), class_="base"),
        svg.text(along(0.66), _UP(0.6), f"{panel.formula[0]} = CDD", class_="small"),
        svg.text(middle, bottom + 42.0, "regularizer; a line a share of men", class_="small mid"),
        svg.text(panel.left - 8.0, _TOP - 12.0, "CDD", class_="small end"),
    ]


def _labels(panel: _Panel, ends: list[tuple[tuple[float, float], str]]) -> list[Markup]:
    """Write the share of men at the end of its line, moved aside where labels would touch.

    Lines that end in one place have one label.
    """
    ends = sorted(ends)
    if ends[-1][0][0] - ends[0][0][0] < _ONE_PLACE and len(ends) > 1:
        (x, y), _ = ends[0]
        return [svg.text(x - 12.0, y - 9.0, "all shares", class_="tick strong end")]
    # Next to the axis, not on its ticks.
    places = [max(place[0], panel.left + 20.0) for place, _ in ends]
    for before, here in pairwise(range(len(places))):
        places[here] = max(places[here], places[before] + 36.0)
    return [
        svg.text(x, place[1] - 9.0, words, class_="tick strong mid")
        for x, (place, words) in zip(places, ends, strict=True)
    ]


def _by_share(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Each share of men, in words, and its part of the table."""
    shares = table["share"].unique(maintain_order=True).to_list()
    return [(f"{100.0 * share:g}%", table.filter(pl.col("share") == share)) for share in shares]


def _in_words(table: pl.DataFrame) -> str:
    people = sum(table.row(0, named=True)[name] for name in "abcd")
    parts = [
        f"Disparity (CDD) against two regularizers, of DCFR and FairBiT, {count(people)} people.",
        "R in the form printed in the paper's appendix and in that of its Proposition 5.1.",
        "FairBiT is the size of CDD throughout.",
    ]
    for share, part in _by_share(table):
        figures = "; ".join(
            f"CDD {number(row['cdd'])}: printed {number(row['dcfr_printed'])}, "
            f"Proposition 5.1 {number(row['dcfr'])}, FairBiT {number(row['fairbit'])}"
            for row in part.iter_rows(named=True)
        )
        parts.append(f"{share} men: {figures}.")
    return " ".join(parts)
