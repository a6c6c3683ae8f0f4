"""Put machine code into wheels: hatchling calls this, by `pyproject.toml`.

Kernels are compiled by the numba of the environment that builds, for the usual processors; an
editable installation keeps those for this machine beside its sources. Without a processor we know
or without numba the wheel comes without, and kernels are compiled when they are first called.
`LIKEFORLIKE_KERNELS=none` leaves them out, for a wheel that suits every machine; any other value is
the options of `python -m tools.kernels`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import interpreter_name, interpreter_version, platform_tags

__all__ = ["KernelsHook"]

_PLACE = "likeforlike/machine_code"


class KernelsHook(BuildHookInterface[Any]):
    """Compiles kernels and adds them to a wheel, which then is for one Python and one system."""

    _folder: str | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say what to add."""
        options = os.environ.get("LIKEFORLIKE_KERNELS", "").split()
        if options == ["none"]:
            return
        source = Path(self.root) / "src"
        if version == "editable":
            self._compile(source / _PLACE, "--here", *options)
            return
        self._folder = tempfile.mkdtemp()
        self._compile(Path(self._folder), *options)
        made = sorted(Path(self._folder).iterdir())
        if made:
            build_data["force_include"] |= {str(path): f"{_PLACE}/{path.name}" for path in made}
            build_data["pure_python"] = False
            build_data["tag"] = _find_tag()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was added."""
        if self._folder is not None:
            shutil.rmtree(self._folder)

    def _compile(self, folder: Path, *options: str) -> None:
        """Write archives into a folder, none if that fails."""
        sources = [self.root, str(Path(self.root) / "src")]
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [sys.executable, "-m", "tools.kernels", str(folder), *options],
            cwd=self.root,
            env={**kept, "PYTHONPATH": os.pathsep.join(sources)},
            check=False,
        )
        if done.returncode:
            self.app.display_warning("No machine code comes along; it is compiled when it is used.")


def _find_tag() -> str:
    """Return the tag of the wheel: this Python and system, with the oldest C library that serves.

    The code calls nothing but numba, the Python it was made for, and functions that C libraries
    have always had.
    """
    systems = list(platform_tags())
    oldest = [system for system in systems if system.startswith("manylinux_2_17_")]
    python = f"{interpreter_name()}{interpreter_version()}"
    return f"{python}-none-{(oldest or systems)[0]}"
