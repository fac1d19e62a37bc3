"""Finds the server that a command is for: its address, its HTTP side and its secret."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from rain.base.address import spell_address
from rain.base.admission import Secret
from rain.common.secret_file import read_secret
from rain.daemon.addresses import parse_address
from rain.daemon.exposure import or_user_key
from rain.start.choice import server_of
from rain.start.clusters import Index
from rain.start.plan import DEFAULT_HTTP_PORT, DEFAULT_PORT, LOOPBACK


@frozen
class Reached:
    """A server. `http` is "" if nobody knows where it serves HTTP."""

    address: str
    http: str
    secret: Secret | None


def reach(
    index: Index, which: str, http: str, secret_file: Path | None, *, insecure: bool
) -> Reached:
    """The server at an address; without one, of the user's only cluster, or of the usual port."""
    cluster = server_of(index, which)
    server, known_http = (which, "") if cluster is None else (cluster.address, cluster.http)
    if cluster is not None and cluster.secret_file:
        secret_file = Path(cluster.secret_file)
    secret = None if secret_file is None else read_secret(secret_file)
    host, port = parse_address(server, LOOPBACK, DEFAULT_PORT)
    host = host.strip("[]")  # of an IPv6 address
    if cluster is None:
        secret = or_user_key(secret, host, insecure=insecure)
    if http:
        known_http = spell_address(*parse_address(http, host, DEFAULT_HTTP_PORT))
    elif not known_http and port == DEFAULT_PORT:
        known_http = spell_address(host, DEFAULT_HTTP_PORT)
    return Reached(spell_address(host, port), known_http, secret)
