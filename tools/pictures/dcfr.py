"""The paper's Figure 1: disparity against what DCFR and FairBiT make small, drawn applicants."""

from __future__ import annotations

from likeforlike.paper._dcfr_illustration import dcfr_chart, dcfr_illustration

__all__ = ["dcfr"]


def dcfr() -> str:
    """Samples of 10,000 applicants, as in the paper."""
    return dcfr_chart(dcfr_illustration(random_state=0))
