"""Progress on long work: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["epochs_bar"]


@contextmanager
def epochs_bar(epochs: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """A bar over the epochs of a fit; what is yielded takes the number of an epoch just done.

    Parameters
    ----------
    epochs : how many there are at most.
    wanted : whether to show a bar at all; even then it needs a terminal.

    Examples
    --------
    >>> from likeforlike.progress import epochs_bar
    >>> with epochs_bar(10, wanted=False) as tick:
    ...     tick(0)
    """
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=epochs)
        yield lambda number: bar.update(task, completed=number + 1)
