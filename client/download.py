"""Results that go straight to the disk: none of it is in memory at any time."""

import secrets
from collections.abc import Callable
from pathlib import Path

from rain.common.data_type import DataType
from rain.common.fs import unpack_file


def download(path: Path, data_type: DataType, fetch: Callable[[Path], None]) -> None:
    """Lets `fetch` write a file, and puts what it is under the path, whole or not at all.

    A blob becomes a file. A directory comes as an archive, which is unpacked into the path.
    """
    part = path.absolute().with_name(f".{path.name}-{secrets.token_hex(6)}")
    try:
        fetch(part)
        if data_type is DataType.DIRECTORY:
            unpack_file(part, path)
        else:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)
