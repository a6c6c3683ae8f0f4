"""One torch thread for small work.

The products of a small network are over before a second thread has woken up, and threads that wait
for each other on a busy machine can cost a hundred times the work. Whoever has several cores and
many networks to train does better with several processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use a single thread inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
