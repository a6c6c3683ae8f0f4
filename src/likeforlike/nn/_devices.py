"""Where torch computes."""

from __future__ import annotations

import torch

from likeforlike.errors import InputError


def check_device(device: str | None) -> None:
    """Raise unless torch can compute there."""
    if device is None:
        return
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {device!r} cannot be used: {reason}") from error
