"""Tells the program that started a daemon that it is ready and where it listens."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import frozen

from rain.base.errors import StartError


@frozen
class Readiness:
    """Where to report readiness: a file that gets "ready", a pipe that gets "ready ADDRESS".

    A note may follow in the pipe, on a line of its own: for people, or which governor it is.
    """

    file: Path | None = None
    fd: int | None = None

    def announce(self, address: str, note: str = "") -> None:
        """Reports that the daemon is ready."""
        if self.file is not None:
            try:
                # Renamed into place, so that no reader sees an empty file.
                draft = self.file.with_name(f".{self.file.name}.{os.getpid()}")
                draft.write_text("ready\n", encoding="utf-8")
                draft.replace(self.file)
            except OSError as error:
                raise StartError(
                    f"the ready file {self.file} cannot be written: {error.strerror}"
                ) from error
        if self.fd is not None:
            try:
                said = f"ready {address}\n" + (f"note {note}\n" if note else "")
                os.write(self.fd, said.encode())
                os.close(self.fd)
            except OSError as error:
                raise StartError(
                    f"the ready descriptor {self.fd} cannot be written: {error.strerror}"
                ) from error
