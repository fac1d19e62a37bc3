"""The hidden command `rain scaler`: starts and ends governors of a cluster as its work needs."""

from __future__ import annotations

from pathlib import Path

import click

from rain.cli.options import PATH
from rain.daemon.readiness import Readiness


@click.command(hidden=True)
@click.argument("server")
@click.option("--logdir", type=PATH, required=True)
@click.option("--secret-file", default="")
@click.option("--tls", default="")
@click.option("--ready-fd", type=int)
def scaler(server: str, logdir: Path, secret_file: str, tls: str, ready_fd: int | None) -> int:
    """Start and end governors as scaler.json in LOGDIR allows; see rain/start/scaler.py."""
    from rain.start.scaler_process import run_scaler

    return run_scaler(logdir, server, secret_file, tls, Readiness(fd=ready_fd))
