"""The command `rain keys`: the certificates of a cluster whose links are encrypted."""

from __future__ import annotations

from pathlib import Path

import click

from rain.base.errors import StartError
from rain.cli.options import PATH, repeated

_DAYS = click.option(
    "--days",
    type=click.FloatRange(min=0.0, min_open=True),
    default=365.0,
    show_default=True,
    help="How long the certificates are good.",
)
_FOLDER = click.argument("folder", type=PATH)


@click.group()
def keys() -> None:
    """Make the certificates with which a cluster encrypts its links.

    'rain keys create FOLDER' makes an authority and the files server.pem, governor.pem and
    client.pem. Daemons and 'rain start' take them with --tls FOLDER, programs with
    Client(tls="FOLDER") or RAIN_TLS. The file authority.pem makes further certificates: keep it
    where no daemon runs.
    """
    from importlib.util import find_spec

    if find_spec("cryptography") is None:
        raise StartError(
            "'rain keys' needs the package cryptography: pip install 'rain-tasks[tls]'. Machines"
            " that only use the files do without"
        )


@keys.command()
@_FOLDER
@repeated("--host", "hosts", "NAME", "A name or address of the server's machine, for browsers.")
@_DAYS
def create(folder: Path, hosts: tuple[str, ...], days: float) -> int:
    """Make an authority and the files of all members in FOLDER."""
    from rain.tls import folder as files

    for path in files.create(folder, hosts or _own_names(), days):
        click.echo(path)
    return 0


@keys.command()
@click.argument("name")
@click.option(
    "--folder",
    type=PATH,
    default=Path(),
    help="The folder of 'rain keys create'.  [default: the current one]",
)
@_DAYS
def client(name: str, folder: Path, days: float) -> int:
    """Make the file of another client: client-NAME.pem."""
    from rain.tls import folder as files

    click.echo(files.add_client(folder, name, days))
    return 0


@keys.command()
@_FOLDER
@repeated("--host", "hosts", "NAME", "Another name or address of the server's machine.")
@_DAYS
def renew(folder: Path, hosts: tuple[str, ...], days: float) -> int:
    """Make new certificates for all files in FOLDER.

    The keys stay. Running daemons that use these files take the new ones by themselves.
    """
    from rain.tls import folder as files

    for path in files.renew(folder, days, hosts):
        click.echo(path)
    return 0


@keys.command()
@click.argument("file", type=PATH)
@_DAYS
def revoke(file: Path, days: float) -> int:
    """Call back the certificates of FILE, whose key was lost.

    All other files of its folder learn of it, and running daemons that use them let nobody in with
    the lost key from then on. Copy governor.pem to other machines, as after
    'renew'. The files server.pem, governor.pem and client.pem get a new key, another file is
    removed.
    """
    from rain.tls import folder as files

    for path in files.revoke(file, days):
        click.echo(path)
    return 0


@keys.command()
@click.argument("where", type=PATH)
def show(where: Path) -> int:
    """Show what the certificates of a file or a folder say."""
    from rain.tls import folder as files

    paths = files.members(where) if where.is_dir() else [where]
    if not paths:
        raise StartError(f"{where} has no files of 'rain keys create'")
    for path in paths:
        said = files.look(path)
        hosts = f", for {', '.join(said.hosts)}" if said.hosts else ""
        click.echo(
            f"{path}: {said.member.value} {said.name!r}, until {said.expires:%Y-%m-%d %H:%M} UTC"
            f"{hosts}"
        )
    return 0


def _own_names() -> tuple[str, ...]:
    import socket

    name = socket.gethostname()
    return tuple(dict.fromkeys(("localhost", name, socket.getfqdn(), "127.0.0.1", "::1")))
