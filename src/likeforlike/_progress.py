"""Progress on long work: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def epochs_bar(epochs: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """A bar over the epochs of a fit; what is yielded takes the number of an epoch just done."""
    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=epochs)
        yield lambda number: bar.update(task, completed=number + 1)
