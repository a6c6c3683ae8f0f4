"""How tall the bars of a histogram are, whose bins may be of different widths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def bar_heights(edges: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Shares for the width of the narrowest bin, so that areas compare; shares if all are alike."""
    widths = [right - left for left, right in pairwise(edges)]
    narrow, wide = min(widths), max(widths)
    # Edges as close or as far as numbers go have no widths to speak of.
    if not 0.0 < narrow <= wide < math.inf or wide <= narrow * (1.0 + 1e-6):
        return list(shares)
    return [share * (narrow / width) for share, width in zip(shares, widths, strict=True)]
