"""Chooses the default folder of a server's journal.

A server on a random port cannot be found again after a restart, so it has no journal by default.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from rain.base.errors import StartError
from rain.daemon.private import private_folder, temporary_folder
from rain.daemon.user_key import state_folder

NONE = Path("none")
_FOLDER = "journals"


def chosen(asked: Path | None, port: int, *, records: bool) -> Path | None:
    """The folder of the journal of a server, None if it has none.

    A recording begins with an empty server, so it takes the place of a journal that nobody has
    asked for.
    """
    if asked is not None:
        return None if asked == NONE else asked
    return None if port == 0 or records else usual_place(port)


def usual_place(port: int, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder for a server of this user with this port, on this machine."""
    state = state_folder(environment)
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        place = private_folder(private_folder(state) / _FOLDER)
    except (OSError, StartError):  # as for the key of this user
        place = private_folder(temporary_folder() / _FOLDER)
    # Homes may be shared by machines, each of which has servers.
    return place / f"{socket.gethostname()}-{port}"
