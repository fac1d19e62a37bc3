"""The command `rain journal`: shows what a restarted server would restore, and checks that it
could.
"""

from __future__ import annotations

from collections.abc import Sized
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rain.cli.options import PATH

if TYPE_CHECKING:
    from rain.server.journal.listing import Contents, ListedFile


@click.command()
@click.argument("folder", type=PATH, required=False)
@click.option("--remove", is_flag=True, help="Remove it, so that the next server begins anew.")
def journal(folder: Path | None, remove: bool) -> int:
    """Show what is in the journal of a server, or remove it.

    Without FOLDER, it is the journal of your server on this machine at the usual port.

    Each file has a line: its size, its turns, and when they were made. Then come the numbers of
    sessions, tasks and objects that a server would have after a start with this journal, and
    anything that is wrong with it. The exit status is 1 if something is wrong. Nothing is changed,
    and a server may be using the folder.
    """
    from rain.server.journal.listing import look_into
    from rain.server.leading import remove_journal

    folder = folder or _usual()
    if remove:
        remove_journal(folder)
        click.echo(f"The journal {folder} is removed.")
        return 0
    contents = look_into(folder)
    for file in contents.files:
        click.echo(_line(file))
    for line in _known(contents):
        click.echo(line)
    if contents.wrong:
        click.echo(f"damaged: {contents.wrong}")
    return 1 if contents.wrong else 0


def _usual() -> Path:
    """The journal at the usual port; StartError with the others if there is none."""
    from rain.base.address import DEFAULT_PORT
    from rain.base.errors import StartError
    from rain.daemon.journal_place import usual_place

    place = usual_place(DEFAULT_PORT)
    if place.is_dir():
        return place
    others = sorted(str(other) for other in place.parent.iterdir())
    these = "; write rain journal FOLDER with one of these:\n  " if others else ""
    raise StartError(
        f"no server of yours has written a journal for the port {DEFAULT_PORT}"
        + these
        + "\n  ".join(others)
    )


def _line(file: ListedFile) -> str:
    from rain.base.sizes import spell_size

    line = f"{file.name:<24} {spell_size(file.size):>10}"
    if file.last:
        line += f"  turns {file.first} to {file.last}, {_when(file.begin)} to {_when(file.end)}"
    return line + (f"  {file.cut} bytes at its end are torn" if file.cut else "")


def _known(contents: Contents) -> list[str]:
    state, turns = contents.recovered.state, contents.recovered.turns
    graph = state.graph
    done = sum(task.is_done for task in graph.tasks.values())
    until = f", the last one of {_when(state.now)}" if turns else ""
    holder = contents.lease.holder
    where = f" ({holder.spell()})" if holder.host else ""
    used = f"a server{where} uses" if contents.is_used else "no server uses"
    tasks = f"{_count(graph.tasks, 'task')}, {done} of them done"
    known = f"{_count(graph.sessions, 'session')} with {tasks}"
    return [
        f"{turns} turn{'s' * (turns != 1)}{until}; {used} the journal now",
        f"{known}, and {_count(graph.objects, 'object')}; {_count(graph.governors, 'governor')}",
    ]


def _count(given: Sized, what: str) -> str:
    return f"{len(given)} {what}{'s' * (len(given) != 1)}"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
