"""Results that go straight to the disk: at no time is more of one in memory than a few pieces."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO

from rain.common.data_type import DataType
from rain.common.fs import unpack_file

Sink = Callable[[int, bytes, int], object]
"""Takes the offset of a piece, the piece, and the length of the whole; pieces come in order."""


def download(path: Path, data_type: DataType, fetch: Callable[[Sink], None]) -> None:
    """Lets `fetch` give its pieces, and puts what they make up under the path, whole or not at all.

    A blob becomes a file. A directory comes as an archive, which is unpacked into the path.
    """
    part = path.absolute().with_name(f".{path.name}-{secrets.token_hex(6)}")
    try:
        with part.open("xb") as file:
            fetch(_into(file))
        if data_type is DataType.DIRECTORY:
            unpack_file(part, path)
        else:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _into(file: IO[bytes]) -> Sink:
    def take(offset: int, piece: bytes, total: int) -> None:
        file.write(piece)

    return take
