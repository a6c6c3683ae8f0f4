"""The page of an audit: reads the document and computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._page import page as page

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._format import confidence as confidence
    from ._format import count as count
    from ._format import label as label
    from ._format import number as number
    from ._format import sentence as sentence
    from ._format import tick as tick
    from ._page import public_summary as public_summary
    from ._page import summary as summary
    from ._page import templates as templates
    from ._svg import AxisScale as AxisScale
    from ._svg import chart as chart
    from ._svg import element as element
    from ._svg import ticks as ticks
    from ._terminal import Terminal as Terminal
    from ._terminal import escape_markdown as escape_markdown
    from ._terminal import markdown as markdown
    from ._terminal import show as show
    from ._terminal import text as text
    from ._time_chart import chart_heights as chart_heights
    from ._time_chart import difference_chart as difference_chart
    from ._time_chart import time_chart as time_chart

attach(__name__)
