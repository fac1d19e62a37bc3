"""Tells paths and URLs apart, and formats both for messages (without passwords)."""

import os
import re
from os import PathLike
from pathlib import Path
from urllib.parse import unquote

from rain.files.errors import FilesError

_PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@]*:[^/@]*@")


def protocol_of(url: str) -> str:
    """The protocol of a URL; "" for a path."""
    found = _PROTOCOL.match(url)
    return "" if found is None else found[1].lower()


def local_path(url: str) -> Path | None:
    """The path of a file of this machine; None for any other."""
    match protocol_of(url):
        case "":
            return Path(url)
        case "file" | "local":
            _, _, rest = url.partition("://")
            return Path(unquote(rest) if rest.startswith("/") else rest)
        case _:
            return None


def checked(place: str | PathLike[str]) -> str:
    """An absolute path or a URL; a relative path begins in the current folder.

    FilesError for URLs that cannot be used, or whose password would be seen by everybody.
    """
    url = os.fspath(place)
    if "::" in url:
        raise FilesError(
            f"{url}: URLs inside of URLs are not supported: {url.partition('::')[0]!r}"
        )
    if _PASSWORD.match(url):
        raise FilesError(
            f"{shown(url)}: a password in a URL would be in logs; give it as an option of the"
            ' store: storage_options={"username": ..., "password": ...}'
        )
    path = local_path(url)
    return url if path is None else os.path.abspath(path)  # noqa: PTH100 # resolve() follows links


def shown(url: str) -> str:
    """The URL for people: without passwords, and without a query, which may be a signature."""
    protocol = protocol_of(url)
    if not protocol:
        return url
    rest = url.partition("://")[2]
    host, slash, path = rest.partition("/")
    return f"{protocol}://{host.rpartition('@')[2]}{slash}{path}".partition("?")[0]


def name_of(url: str) -> str:
    """The last part of it."""
    return shown(url).rstrip("/").rpartition("/")[2]
