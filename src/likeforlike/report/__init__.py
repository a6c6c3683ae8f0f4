"""The report: an audit as one page for people, and as a short summary for notebooks.

It reads the document of `Audit.to_dict` and computes nothing: figures become text, and lengths on
the screen.
"""

from likeforlike.report.page import page as page
from likeforlike.report.page import summary as summary

__all__ = ["page", "summary"]
