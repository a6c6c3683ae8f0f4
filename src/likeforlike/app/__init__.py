"""The app: audits in a browser on this machine, without a command line; not public.

The server holds no data and imports no array library. Files lie in a private folder (`_folder`),
and what reads them runs in processes of its own (`_jobs`, `_child`), which run the same commands
that the app shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._server import serve as serve

attach(__name__)
