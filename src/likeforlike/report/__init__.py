"""What is shown of an audit, as a page and in pipelines: reads the document, computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.report._github import github_annotations, github_summary
    from likeforlike.report._junit import junit
    from likeforlike.report._page import page, summary

__all__ = ["github_annotations", "github_summary", "junit", "page", "summary"]

lazy_package(
    __name__,
    {
        "_github": ["github_annotations", "github_summary"],
        "_junit": ["junit"],
        "_page": ["page", "summary"],
    },
)
