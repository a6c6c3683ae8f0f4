"""How tall the bars of a histogram are, whose bins may be of different widths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def bar_heights(edges: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Shares for the width of the narrowest bin, so that areas compare; shares if all are alike."""
    widths = [right - left for left, right in pairwise(edges)]
    narrow = min(widths)
    if max(widths) <= narrow * (1.0 + 1e-6):
        return list(shares)
    return [share * (narrow / width) for share, width in zip(shares, widths, strict=True)]
