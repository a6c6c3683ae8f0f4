"""The page of an audit: reads the document and computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._page import page as page
    from ._page import summary as summary

attach(__name__)
