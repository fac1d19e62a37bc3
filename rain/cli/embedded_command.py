"""The hidden command `rain embedded`: a server and its governor in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rain.cli.governor_command import governor
from rain.cli.server_command import server

if TYPE_CHECKING:
    from rain.governor.settings import GovernorSettings
    from rain.server.settings import ServerSettings


@click.command(
    hidden=True, add_help_option=False, context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def embedded(words: tuple[str, ...]) -> int:
    """Run both: governor SERVER OPTIONS server OPTIONS, as for the two commands alone."""
    middle = words.index(str(server.name))

    def with_server(of_governor: GovernorSettings) -> int:
        def both(of_server: ServerSettings) -> int:
            from rain.embedded.main import run_embedded

            return run_embedded(of_server, of_governor)

        return _read(server, words[middle + 1 :], both)

    return _read(governor, words[1:middle], with_server)


def _read(command: click.Command, words: tuple[str, ...], then: object) -> int:
    """Reads the settings of a daemon, for something else than to run it alone."""
    status: int = command.main(list(words), prog_name="rain", standalone_mode=False, obj=then)
    return status
