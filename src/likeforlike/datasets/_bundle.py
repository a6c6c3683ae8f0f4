"""The bundle: files of data sets that come with the package, compressed and otherwise unchanged.

Only files that anybody may pass on are in it; `bundled/ATTRIBUTION.txt` says whose they are and on
what terms. `python -m tools.bundle` packs them.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from likeforlike.datasets._source import DataFile
from likeforlike.errors import InputError


def bundle_folder() -> Traversable:
    """Where the files that come with the package are."""
    return files("likeforlike.datasets").joinpath("bundled")


def bundled(file: DataFile) -> bytes | None:
    """The content of a file that comes with the package, checked; `None` if it does not.

    Damage means that the installation is broken. That is said and not mended behind anybody's
    back, for other parts of it may be broken too.
    """
    try:
        import lzma
    except ImportError:
        # Some Pythons are built without it; their files are found elsewhere or fetched.
        return None
    place = bundle_folder().joinpath(f"{file.path}.xz")
    try:
        content = lzma.decompress(place.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, lzma.LZMAError) as error:
        damage: str | None = f"it cannot be unpacked ({error})"
    else:
        damage = file.damage(content)
        if damage is None:
            return content
    raise InputError(
        f"{place} came with likeforlike and is not the file that was published: {damage}. Install "
        f"likeforlike again, or set LIKEFORLIKE_DATA to a folder that holds {file.path}."
    )
