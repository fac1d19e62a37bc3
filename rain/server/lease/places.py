"""Finds the store of a lease: the folder of the journal, or the one that `--lease` names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from rain.base.address import LOOPBACK
from rain.base.errors import StartError
from rain.daemon.addresses import parse_addresses
from rain.server.lease.folder import FolderStore
from rain.server.lease.store import LeaseStore

USUAL_NAME = "rain"
"""The name of a cluster if the URL has none."""


def store_of(where: str, folder: Path) -> LeaseStore:
    """The place of a URL, or the folder if there is none; `StartError` if it is unknown."""
    if not where:
        return FolderStore(folder)
    url = urlsplit(where)
    if url.password:
        raise StartError(
            "--lease: a password on a command line can be read by everybody; libpq reads it from"
            " ~/.pgpass or PGPASSWORD"
        )
    if url.scheme == "etcd":
        return _etcd(url.netloc, url.path.strip("/") or USUAL_NAME)
    if url.scheme in {"postgresql", "postgres"}:
        return _postgresql(where.partition("#")[0], url.fragment or USUAL_NAME)
    raise StartError(
        f"--lease: {where!r} is neither etcd://HOST:PORT,HOST:PORT/NAME nor"
        " postgresql://HOST/DATABASE#NAME"
    )


def _etcd(members: str, name: str) -> LeaseStore:
    from rain.server.lease.etcd import PORT, EtcdStore  # noqa: PLC0415 # few have it

    return EtcdStore(parse_addresses(members, LOOPBACK, PORT), name)


def _postgresql(url: str, name: str) -> LeaseStore:
    try:
        from rain.server.lease.postgresql import PostgresStore  # noqa: PLC0415 # an extra
    except ImportError as error:
        raise StartError(
            f"--lease: PostgreSQL needs psycopg, pip install 'rain-tasks[postgresql]': {error}"
        ) from None
    return PostgresStore(url, name)
