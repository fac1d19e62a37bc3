"""Directories, and data that is too large for memory, for tests of the tasks of governors."""

import io
import tarfile
from pathlib import Path

from rain.common.fs import pack_tree
from rain.governor.storage.store import MEMORY_LIMIT
from tests.governor.running import FOLDER, Running

BIG = b"x" * (MEMORY_LIMIT + 1)
TREE = pack_tree({"file": "text", "deep": {"file": b"inner", "big": BIG}})
SMALL_TREE = pack_tree({"file": "text", "deep": {"file": "inner"}})


def unpacked(packed: bytes) -> dict[str, bytes]:
    """The files of an archive."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                found[member.name.removeprefix("./")] = file.read()
    return found


async def a_stored_tree(governor: Running, tmp_path: Path) -> int:
    """A directory that the governor has in its store."""
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "file").write_text("text")
    (source / "deep" / "file").write_text("inner")
    (source / "deep" / "big").write_bytes(BIG)
    opened = governor.builtin("open_dir", {"path": str(source)}, (), (FOLDER,))
    await governor.outputs(opened)
    return opened + 2
