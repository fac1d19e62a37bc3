"""The command `rain token`."""

from __future__ import annotations

from pathlib import Path

import click

from rain.base.errors import StartError
from rain.cli import options


@click.command()
@options.secret_file("The secret of the cluster.")
def token(secret_file: Path | None) -> int:
    """Print the password of a server's HTTP side.

    It goes with any user name, or as 'Authorization: Bearer TOKEN'. It is made from the secret,
    which cannot be found from it, and opens nothing else.
    """
    from rain.common.secret_file import read_secret

    if secret_file is None:
        raise StartError("which secret? name its file with --secret-file or RAIN_SECRET_FILE")
    click.echo(read_secret(secret_file).http_token())
    return 0
