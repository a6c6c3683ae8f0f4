"""Who could be compared: one bar a group, cut into compared, thin and not comparable."""

from __future__ import annotations

from markupsafe import Markup

from likeforlike.document._results import ContrastAudit
from likeforlike.report import _svg as svg
from likeforlike.report._format import count, percent, shortened

_WIDTH, _ROW = 440.0, 74.0


def coverage_chart(contrast: ContrastAudit) -> Markup:
    """Shares of each group that were compared, sit in thin levels, or could not be compared."""
    sentences, rows = [], []
    for k, group in enumerate(contrast.groups):
        covered, thin = contrast.coverage[group], contrast.thin_share[group]
        parts = (covered - thin, thin, 1.0 - covered)
        words = _words(parts)
        sentences.append(f"{shortened(group, 60)}: {words}, of {_total(contrast, k)} rows")
        head = svg.text(0.0, 18.0, shortened(group, 34), class_="name", full=group)
        of = svg.text(_WIDTH, 18.0, f"{_total(contrast, k)} rows", class_="figure end")
        below = svg.text(0.0, 62.0, words, class_="small")
        bar = _bar(parts, "ab"[k])
        rows.append(svg.group(head, of, bar, below, transform=f"translate(0 {_ROW * k:g})"))
    size = (_WIDTH, _ROW * len(rows))
    return svg.chart("coverage", "Coverage of each group", "; ".join(sentences) + ".", size, *rows)


def _total(contrast: ContrastAudit, k: int) -> str:
    return count(contrast.unconditional.rows[k])


def _words(parts: tuple[float, float, float]) -> str:
    names = ("compared", "in thin levels", "not compared")
    said = [f"{percent(p)} {name}" for p, name in zip(parts, names, strict=True) if p > 1e-12]
    return " · ".join(said)


def _bar(parts: tuple[float, float, float], color: str) -> Markup:
    looks = (f"{color} soft", f"{color} hatched", "c empty")
    pieces, left = [], 1.0
    for share, look in zip(parts, looks, strict=True):
        wide = share * (_WIDTH - 2.0)
        if wide > 0.0:
            pieces.append(svg.rect(left, 27.0, wide, 18.0, class_=look))
            left += wide
    return svg.group(*pieces)
