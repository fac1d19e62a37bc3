"""The command `rain env`: software environments, and what governors have installed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from rain.cli.misspelled import NamesCommands
from rain.cli.options import server_options, size

if TYPE_CHECKING:
    from rain.start.reaching import ReachedServer


@click.group(cls=NamesCommands)
def env() -> None:
    """Show software environments, and compare what is installed."""


@env.command("list")
def list_kept() -> int:
    """List the environments that your governors have made on this machine.

    Each has a line: when it was used last, its size, its name, and its packages.
    """
    from rain.base.sizes import spell_size
    from rain.governor.environments.folder import kept_environments, own_environments

    root = own_environments()
    kept = kept_environments(root)
    for one in reversed(kept):
        used = datetime.fromtimestamp(one.used).astimezone().strftime("%Y-%m-%d %H:%M")
        what = ", ".join([*one.packages, *(["files"] if one.has_files else [])])
        click.echo(f"{used} {spell_size(one.size):>10}  {one.name}  {what}")
    total = spell_size(sum(one.size for one in kept))
    click.echo(f"{len(kept)} environments, {total}, in {root}")
    return 0


@env.command()
@click.option(
    "--limit", metavar="SIZE", default="0", help="How many bytes may stay, for example 5GiB."
)
def trim(limit: str) -> int:
    """Remove the environments that nobody uses, the longest unused first.

    Without a limit, all of them go. An environment that a governor uses stays.
    """
    from rain.governor.environments.folder import own_environments, shrink

    for name in shrink(own_environments(), size("--limit", limit)):
        click.echo(f"removed {name}")
    return 0


@env.command()
@server_options()
@click.option(
    "--package",
    "packages",
    metavar="NAME",
    multiple=True,
    help="Of the packages, compare only this one; repeatable.",
)
@click.option(
    "--program",
    "programs",
    metavar="NAME",
    multiple=True,
    help="Compare what this program says when it is run with --version; repeatable.",
)
def check(server: ReachedServer, packages: tuple[str, ...], programs: tuple[str, ...]) -> int:
    """Compare Python and the packages here with those of the governors.

    Without an argument, it asks the cluster that 'rain start' has started here, or the usual port.
    Ends with status 1 if there is a difference.
    """
    from rain.start.environments import as_text, ask_governors, differences, installed

    here = installed(programs)
    found = {
        governor: differences(here, there, packages)
        for governor, there in ask_governors(server, programs).items()
    }
    click.echo(as_text(found))
    return 1 if any(found.values()) else 0
