"""A holder on another machine for `python -m bench compression`: serves files by their numbers.

It prints its port, and serves until its stdin ends.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId
from rain.stream.holder import Held, InFile, UnfinishedAdoption, UnfinishedUpload
from rain.stream.serving import StreamServer


class Files:
    """Has the file of each number."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = [Path(path) for path in paths]

    def find(self, object_id: ObjectId, incarnation: int) -> Held | None:
        return InFile.open(self._paths[object_id])

    def find_each(self, objects: Sequence[ObjectId], incarnation: int) -> list[Held | None]:
        return [self.find(one, incarnation) for one in objects]

    def begin_upload(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedUpload:
        raise RefusedError("this holder takes nothing")

    def begin_adoption(self, key: bytes, object_id: ObjectId, length: int) -> UnfinishedAdoption:
        raise RefusedError("this holder takes nothing")


def main(address: str, *paths: str) -> None:
    server = StreamServer(Files(paths))
    with socket.create_server((address, 0)) as port:
        print(port.getsockname()[1], flush=True)

        def accept() -> None:
            while True:
                try:
                    connected, _ = port.accept()
                except OSError:
                    return  # it was shut down
                server.take(connected)

        accepting = threading.Thread(target=accept)
        accepting.start()
        sys.stdin.read()
        port.shutdown(socket.SHUT_RDWR)
        accepting.join()
    server.close()
    server.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
