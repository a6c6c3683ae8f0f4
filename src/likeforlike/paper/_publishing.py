"""Write what a reproduction found: results, tables, figures, and the page that shows them."""

from __future__ import annotations

import os
from pathlib import Path

from likeforlike.files._writing import check_writable, write_whole
from likeforlike.paper._comparison import write_tables
from likeforlike.paper._figures import FIGURES, reproduction_figures
from likeforlike.paper._pages import reproduction_pages
from likeforlike.paper._reproduction import Reproduction, read_reproduction


def publish(reproduction: Reproduction, folder: Path | str, page: Path | str) -> list[Path]:
    """Write results, tables, figures and an appendix to a folder, and the page that leads to them.

    Parameters
    ----------
    reproduction : what was run.
    folder : for `runs.csv`, `times.csv`, `setting.json`, the eight tables, the figures and the
        pages of the appendix.
    page : where the first page goes; links between pages and to figures are relative.

    Returns
    -------
    The files that were written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction, publish
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(["no regularization", "legitimate only"])
    ... )
    >>> setting = {"machine": "a machine", "wall_seconds": 60.0, "units": 2, "units_run": 2}
    >>> setting |= {"peak_mb_of_a_worker": 700.0, "peak_mb_of_the_parent": 500.0, "versions": {}}
    >>> times = pl.DataFrame({"dataset": ["drug"], "method": ["legitimate only"], "runs": [1],
    ...     "seconds": [1.0], "cpu_seconds": [1.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.md"
    ...     written = publish(Reproduction(runs, times, setting), Path(folder) / "results", page)
    ...     page in written, written[0].name
    (True, 'runs.csv')
    """
    target, text = Path(folder), Path(page)
    target.mkdir(parents=True, exist_ok=True)
    check_writable(text)
    reproduction.write(target)
    # Files hold rounded figures; the page is made of what is in them, so that it can be made again.
    reproduction = read_reproduction(target)
    written = [target / name for name in ("runs.csv", "times.csv", "setting.json")]
    if reproduction.of_paper:
        written += write_tables(reproduction, target)
    links = {}
    for name, drawing in reproduction_figures(reproduction).items():
        written.append(target / f"{name}.svg")
        write_whole(written[-1], drawing)
        links[FIGURES[name]] = _link(written[-1], text)
    pages = reproduction_pages(
        reproduction,
        links,
        to_appendix=_link(target / "claims.md", text).removesuffix("claims.md"),
        to_page=_link(text, target / "claims.md"),
    )
    (_, first), *appendix = pages.items()
    for name, page_text in appendix:
        written.append(target / name)
        write_whole(written[-1], page_text)
    write_whole(text, first)
    return [*written, text]


def _link(to: Path, page: Path) -> str:
    """The path from a page to a file."""
    return Path(os.path.relpath(to, page.parent)).as_posix()
