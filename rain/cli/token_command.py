"""The command `rain token`."""

from __future__ import annotations

from pathlib import Path

import click

from rain.base.errors import StartError
from rain.cli import options


@click.command()
@click.argument("which", metavar="[LOGDIR|ADDRESS]", default="")
@options.secret_file("The secret of the cluster.")
@options.tls("The certificate of the server, or the folder of 'rain keys'.")
@click.option("--url", is_flag=True, help="Print a URL for a browser.")
@click.option("--user", metavar="NAME", default="", help="The password of this user.")
def token(which: str, secret_file: Path | None, tls: Path | None, url: bool, user: str) -> int:
    """Print the password of a server's HTTP side.

    Use it with any user name, or as 'Authorization: Bearer TOKEN'. It is derived from the secret,
    opens nothing else, and does not reveal the secret. ADDRESS is that of the server, or of its
    HTTP if that is elsewhere; LOGDIR is the log folder of a cluster. Without an argument, it means
    the cluster that 'rain start' has started here, or the usual port. The password of a user shows
    what that user may see. Users make it from their own key, the owner with --user.
    """
    from rain.base.address import DEFAULT_PORT, LOOPBACK, spell_address
    from rain.base.admission import MemberKind, http_url
    from rain.common.secret_file import read_secret
    from rain.daemon.addresses import parse_address
    from rain.daemon.exposure import or_user_key
    from rain.start.choice import is_folder, serves_http
    from rain.start.clusters import user_index

    secret = None if secret_file is None else read_secret(secret_file)
    asks = url or secret is None or is_folder(which)
    cluster = serves_http(user_index(), which) if asks else None
    host, port = parse_address(which if cluster is None else cluster.http, LOOPBACK, DEFAULT_PORT)
    if cluster is not None:
        tls = Path(cluster.tls) if cluster.tls else None
    is_encrypted = tls is not None and tls != options.NONE
    if secret is None and cluster is not None and cluster.secret_file:
        secret = read_secret(Path(cluster.secret_file))
    if secret is None and tls is not None and is_encrypted:
        from rain.tls.identity import Identity

        secret = Identity.read(tls, MemberKind.SERVER).secret
    if secret is None and cluster is not None and not url:
        raise StartError(f"the cluster at {cluster.address} has no secret: no token is needed")
    if secret is None and cluster is None:
        secret = or_user_key(None, host)
        if secret is None:
            raise StartError(
                "which secret? give its file with --secret-file or RAIN_SECRET_FILE, or the"
                " certificate of the server with --tls or RAIN_TLS"
            )
    if user and secret is not None and user != secret.user:
        if secret.user:
            raise StartError(f"the secret is that of {secret.user}: {user} has another password")
        try:
            secret = secret.for_user(user)
        except ValueError as error:
            raise StartError(f"--user: {error}") from None
    if url:
        scheme = "https" if is_encrypted else "http"
        click.echo(http_url(secret, spell_address(host, port), scheme))
    elif secret is not None:
        click.echo(secret.http_token(port))
    return 0
