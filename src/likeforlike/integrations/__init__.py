"""Audits in other programs: runs in MLflow, JUnit files, and annotations on GitHub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._github import github_annotations as github_annotations
    from ._github import github_summary as github_summary
    from ._junit import junit as junit
    from ._mlflow import log_to_mlflow as log_to_mlflow

attach(__name__)
