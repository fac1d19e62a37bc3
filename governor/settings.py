"""What the governor program can be told on its command line (see rain/cli.py)."""

from __future__ import annotations

from pathlib import Path

from attrs import Factory, frozen

from rain.base.resources import Resources
from rain.daemon.readiness import Readiness


@frozen
class GovernorSettings:
    """Listens on loopback unless told otherwise.

    What both daemons do alike as programs is in rain.daemon: folders (`make_folder`,
    `default_log_folder`), logs (`configure`, `close`), readiness (`announce`), lifetime (`end`).
    """

    server_host: str = "127.0.0.1"
    server_port: int = 7210
    host: str = "127.0.0.1"  # where data is read
    port: int = 0
    resources: Resources = Factory(Resources)
    work_folder: Path | None = None  # None for a new one below the temporary folder
    zero: bool = False  # run nothing, report everything as finished at once
    log_folder: Path | None = None
    log_level: str = "info"
    readiness: Readiness = Factory(Readiness)
    parent_fd: int | None = None
