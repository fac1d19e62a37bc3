"""The command `rain keys`: the certificates of a cluster whose links are encrypted."""

from __future__ import annotations

from pathlib import Path

import click

from rain.base.errors import StartError
from rain.cli.misspelled import NamesCommands
from rain.cli.options import PATH, repeated

_DAYS = click.option(
    "--days",
    type=click.FloatRange(min=0.0, min_open=True),
    default=365.0,
    show_default=True,
    metavar="DAYS",
    help="How long the certificates are good.",
)
_FOLDER = click.argument("folder", type=PATH)


@click.group(cls=NamesCommands)
def keys() -> None:
    """Make the certificates with which a cluster encrypts its links.

    'rain keys create FOLDER' makes an authority and the files server.pem, governor.pem and
    client.pem. Daemons and 'rain start' take them with --tls FOLDER, programs with
    Client(tls="FOLDER") or RAIN_TLS. The file authority.pem makes further certificates: keep it
    where no daemon runs.
    """
    if click.get_current_context().invoked_subcommand != "user":  # a secret needs no package
        _check_cryptography()


def _check_cryptography() -> None:
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
    """Make the file of another client of the owner: client-NAME.pem.

    'rain keys user' makes those of other people.
    """
    from rain.tls import folder as files

    click.echo(files.add_client(folder, name, days))
    return 0


@keys.command()
@click.argument("name")
@click.option(
    "--folder",
    type=PATH,
    help="The folder of 'rain keys create'; makes user-NAME.pem in it.  [default: the current one]",
)
@click.option(
    "--secret-file",
    type=PATH,
    metavar="FILE",
    help="The secret of a cluster without certificates; makes user-NAME.secret beside it.",
)
@_DAYS
def user(name: str, folder: Path | None, secret_file: Path | None, days: float) -> int:
    """Make the key of a user of the cluster.

    Clients with it, Client(tls=FILE) or Client(secret_file=FILE), belong to this user, who cannot
    see or end the work of others. All other keys are those of the cluster's owner.
    """
    if secret_file is not None:
        if folder is not None:
            raise StartError("a user gets a certificate (--folder) or a secret (--secret-file)")
        from rain.common.secret_file import make_user_secret

        click.echo(make_user_secret(secret_file, name))
        return 0
    _check_cryptography()
    from rain.tls import folder as files

    click.echo(files.add_user(folder or Path(), name, days))
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
    """Revoke the certificates of FILE, whose key was lost or stolen.

    All other files in its folder are updated, and running daemons that use them refuse the lost key
    from then on. Copy governor.pem to the other machines, as after 'renew'. The files server.pem,
    governor.pem and client.pem get a new key; any other file is removed.
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
        member = "user" if said.user else said.member.value
        click.echo(
            f"{path}: {member} {said.name!r}, until {said.expires:%Y-%m-%d %H:%M} UTC{hosts}"
        )
    return 0


def _own_names() -> tuple[str, ...]:
    import socket

    name = socket.gethostname()
    return tuple(dict.fromkeys(("localhost", name, socket.getfqdn(), "127.0.0.1", "::1")))
