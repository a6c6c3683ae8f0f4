"""The page of an audit: reads the document and computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.report._page import page, summary

__all__ = ["page", "summary"]

lazy_package(
    __name__,
    {
        "_page": ["page", "summary"],
    },
)
