"""The modules of a call in local mode: those of the program itself, and its uploads.

A process that is an executor keeps the modules of different programs apart. Here there is only one
program, and it runs in this process: its modules are imported already, and stay what they are.
"""

from __future__ import annotations

import importlib
import sys
from mmap import mmap

from rain.common.imports import imports_of
from rain.common.number_settings import NumberSettings, apply
from rain.executor.modules import Space, Spaces, unpacked


class OwnModules(Spaces):
    """What was uploaded can be imported here as well."""

    def space_of(self, data: bytes | mmap) -> tuple[Space, NumberSettings | None]:
        """Unpacks what comes with a function."""
        imports = imports_of(data)
        if imports is None:
            return Space(()), None
        uploads = tuple(unpacked(archive, self.uploads_folder) for archive in imports.uploads)
        return Space((), uploads), imports.numbers

    def calculate_as(self, told: NumberSettings | None) -> None:
        """The program may have changed its settings since the last call."""
        apply(told)

    def new_main(self, space: Space) -> None:
        """The program's own is there."""

    def enter(self, space: Space) -> None:
        """Puts the folders of uploads before all others, and forgets older uploads of a module."""
        new = [folder for folder in space.places if folder not in sys.path]
        if not new:
            return
        sys.path[:0] = new
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in space.uploaded and self._is_uploaded(module):
                del sys.modules[name]
        importlib.invalidate_caches()

    def _is_uploaded(self, module: object) -> bool:
        return str(getattr(module, "__file__", "")).startswith(f"{self.uploads_folder}/")

    def leave(self) -> None:
        """The cluster has ended, and its folders with it."""
        mine = f"{self.uploads_folder}/"
        sys.path[:] = [entry for entry in sys.path if not entry.startswith(mine)]
