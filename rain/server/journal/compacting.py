"""Makes a snapshot from the closed files of a journal, so that these can be removed.

This is a separate program, which a server starts at a low priority and never waits for. It repeats
all turns in the same way as a restarted server, so that this code path is used all the time. It
only adds a file; the server removes the files that the snapshot replaces.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from rain.base.errors import RainError
from rain.daemon import garbage
from rain.daemon.folders import sync_folder
from rain.server.journal.folder import JournalFolder
from rain.server.journal.recovery import remake
from rain.server.snapshot.saving import load, save

NICE = 15


def compact(folder: JournalFolder, last: int) -> None:
    """Makes the snapshot of all files up to this one."""
    recovered = remake(folder, last)
    write_whole(folder.snapshot(last), save(recovered.state, recovered.turns))


def write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    """Writes a snapshot so that the file is there for good, whole and sound, or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        with unfinished.open("rb") as file:
            load(file)
        unfinished.replace(path)
        sync_folder(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def main() -> int:
    """Takes the folder and the number of the last file; the exit status."""
    os.umask(0o077)
    os.nice(NICE)
    garbage.seldom()
    try:
        compact(JournalFolder.look_into(Path(sys.argv[1])), int(sys.argv[2]))
    except (RainError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
