"""Writes the file with the certificate that the tasks of a governor need as clients of the
server.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rain.base.errors import StartError

if TYPE_CHECKING:
    from rain.tls.identity import Identity


class TasksFile:
    """The file that the environment of executors names; it is written anew with what is renewed."""

    def __init__(self, path: Path, identity: Identity) -> None:
        self.path = path
        self._identity = identity
        self._written = b""
        self.write()

    def write(self) -> None:
        """Writes the file, if it would be another one."""
        content = self._identity.tasks
        if content is None:
            raise StartError(
                f"the TLS file {self._identity.path} has no certificate for tasks: make it with"
                " 'rain keys'"
            )
        if content == self._written:
            return
        draft = self.path.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(self.path)
        self._written = content
