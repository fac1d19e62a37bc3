"""The folder of a cluster's keys: its authority, and a file for each member (`rain keys`)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from rain.base.admission import Member
from rain.base.errors import StartError
from rain.tls.making import Authority, Description, Wanted, describe
from rain.tls.pem import read_papers

AUTHORITY = "authority.pem"


def create(folder: Path, hosts: Sequence[str], days: float) -> list[Path]:
    """Makes an authority, and the files of the server, of the governors and of a client."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StartError(f"{folder} cannot be made: {error.strerror}") from None
    taken = [name for name in (AUTHORITY, *map(_file_of, Member)) if (folder / name).exists()]
    if taken:
        raise StartError(
            f"{folder / taken[0]} is there already: 'rain keys renew' makes new certificates, and"
            " another cluster needs another folder"
        )
    authority = Authority.make(f"Rain cluster {secrets.token_hex(4)}")
    made = [_write(folder / AUTHORITY, authority.spell())]
    for member in Member:
        named = tuple(hosts) if member is Member.SERVER else ()
        wanted = Wanted(member, member.value, named, days)
        made.append(_write(folder / _file_of(member), authority.issue(wanted)))
    return made


def add_client(folder: Path, name: str, days: float) -> Path:
    """Makes the file of another client."""
    if not name or name.startswith(".") or not all(_is_plain(letter) for letter in name):
        raise StartError(f"the name {name!r} may have letters, digits and the signs - _ . @ only")
    path = folder / f"client-{name}.pem"
    if path.exists():
        raise StartError(f"{path} is there already")
    wanted = Wanted(Member.CLIENT, name, days=days)
    return _write(path, _authority(folder).issue(wanted))


def renew(folder: Path, days: float, hosts: Sequence[str] = ()) -> list[Path]:
    """New certificates for the keys of all members; the server's hosts stay, these are added."""
    authority = _authority(folder)
    renewed: list[tuple[Path, bytes]] = []
    for path in members(folder):
        said = look(path)
        more = hosts if said.member is Member.SERVER else ()
        named = tuple(dict.fromkeys((*said.hosts, *more)))
        papers, _ = read_papers(_read(path))
        wanted = Wanted(said.member, said.name, named, days)
        renewed.append((path, authority.issue(wanted, papers.key)))
    return [_write(path, content) for path, content in renewed]


def members(folder: Path) -> list[Path]:
    """The files of all members."""
    return [path for path in sorted(folder.glob("*.pem")) if path.name != AUTHORITY]


def look(path: Path) -> Description:
    """What the certificate in a file says; StartError if the file is not one of ours."""
    try:
        papers, _ = read_papers(_read(path))
        return describe(papers.certificate)
    except ValueError as error:
        raise StartError(f"the TLS file {path} {error}") from None


def _file_of(member: Member) -> str:
    return f"{member.value}.pem"


def _authority(folder: Path) -> Authority:
    path = folder / AUTHORITY
    try:
        return Authority.read(_read(path))
    except ValueError:
        raise StartError(f"{path} is not an authority of 'rain keys create'") from None


def _is_plain(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter in "-_.@")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}") from None


def _write(path: Path, content: bytes) -> Path:
    """Writes a file that only its owner can read, in one step."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(path)
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror}") from None
    return path
