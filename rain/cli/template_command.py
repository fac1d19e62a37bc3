"""The hidden command `rain template`: a process that forks into the governors of one machine."""

from __future__ import annotations

import os
from importlib import import_module

import click

# The modules that a governor imports at its start.
_NEEDED = (
    "encodings.idna",
    "rain.common.secret_file",
    "rain.daemon.addresses",
    "rain.daemon.exposure",
    "rain.governor.main",
    "rain.governor.machine.offer",
)


@click.command(hidden=True)
def template() -> int:
    """Become the governors that are ordered on standard input; see rain/daemon/template.py."""
    from rain.daemon import garbage, lean

    lean.begin()
    import socket

    from rain.daemon.copies import become

    for name in _NEEDED:
        import_module(name)
    garbage.seldom()  # frozen objects are not written by the collector, so their pages stay shared
    arguments = become(socket.socket(fileno=os.dup(0)))
    if arguments is None:
        return 0
    program = click.get_current_context().find_root().command
    status: int = program.main(arguments, prog_name="rain", standalone_mode=False)
    return status
