"""Tracking: audits beside the runs of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.tracking._mlflow import log_to_mlflow

__all__ = ["log_to_mlflow"]

lazy_package(__name__, {"_mlflow": ["log_to_mlflow"]})
