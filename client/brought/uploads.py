"""Modules that a program uploads, for executors on machines that do not have them.

Each is packed as a zip archive. The archives travel with every function that is sent after the
upload, as the import folders do (rain/common/imports.py). So governors that join later get them,
too, and a function keeps the code that it was sent with.
"""

from __future__ import annotations

import threading
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from rain.base.sizes import spell_size
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.brought.packing import PackedModules

LARGEST = 16 << 20
"""Bytes of all archives of a client, since each function takes them along."""


class Uploads:
    """The uploads of one client; the newest first, as modules are looked for."""

    def __init__(self) -> None:
        self.current: tuple[PackedModules, ...] = ()  # another tuple after each change
        self._adding = threading.RLock()

    def add(self, path: str | PathLike[str]) -> list[str]:
        """Packs what is at a path now. It replaces earlier uploads of the same modules."""
        from rain.client.brought.packing import packed  # noqa: PLC0415 # few programs upload

        upload = packed(Path(path))
        with self._adding:
            rest = [one for one in self.current if not one.names <= upload.names]
            size = sum(len(one.archive) for one in (upload, *rest))
            if size > LARGEST:
                raise RainException(
                    f"upload: with {path} all uploaded modules have {spell_size(size)}, which is"
                    f" more than {spell_size(LARGEST)}: install them on the machines of the"
                    " governors, and give data to calls with client.put"
                )
            if self.current[:1] != (upload,):
                self.current = (upload, *rest)
        return sorted(upload.names)
