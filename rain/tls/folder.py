"""The folder of a cluster's keys: its authority, and a file for each member (`rain keys`)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from rain.base.admission import MemberKind
from rain.base.errors import StartError
from rain.base.users import check_user
from rain.tls.making import Authority, Description, Wanted, describe
from rain.tls.pem import read_papers, spell_papers

AUTHORITY = "authority.pem"


def create(folder: Path, hosts: Sequence[str], days: float) -> list[Path]:
    """Makes an authority, and the files of the server, of the governors and of a client."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StartError(f"{folder} cannot be made: {error.strerror}") from None
    taken = [name for name in (AUTHORITY, *map(_file_of, MemberKind)) if (folder / name).exists()]
    if taken:
        raise StartError(
            f"{folder / taken[0]} is there already: 'rain keys renew' makes new certificates, and"
            " another cluster needs another folder"
        )
    authority = Authority.make(f"Rain cluster {secrets.token_hex(4)}")
    files: dict[Path, bytes] = {}
    for member in MemberKind:
        named = tuple(hosts) if member is MemberKind.SERVER else ()
        wanted = Wanted(member, member.value, named, days)
        files[folder / _file_of(member)] = authority.issue(wanted)
    return [folder / AUTHORITY, *_hand_out(folder, authority, files)]


def add_client(folder: Path, name: str, days: float) -> Path:
    """Makes the file of another client of the owner."""
    if not name or name.startswith(".") or not all(_is_plain(letter) for letter in name):
        raise StartError(f"the name {name!r} may have letters, digits and the signs - _ . @ only")
    return _add(folder, f"client-{name}.pem", Wanted(MemberKind.CLIENT, name, days=days))


def add_user(folder: Path, name: str, days: float) -> Path:
    """Makes the file of a user, with which clients of that user come."""
    try:
        check_user(name)
    except ValueError as error:
        raise StartError(str(error)) from None
    return _add(folder, f"user-{name}.pem", Wanted(MemberKind.CLIENT, name, days=days, user=name))


def _add(folder: Path, file: str, wanted: Wanted) -> Path:
    path = folder / file
    if path.exists():
        raise StartError(f"{path} is there already")
    authority = _authority(folder)
    (made,) = _hand_out(folder, authority, {path: authority.issue(wanted)})
    return made


def renew(folder: Path, days: float, hosts: Sequence[str] = ()) -> list[Path]:
    """New certificates for the keys of all members; the server's hosts stay, these are added."""
    authority = _authority(folder)
    renewed: dict[Path, bytes] = {}
    for path in members(folder):
        said = look(path)
        more = hosts if said.member is MemberKind.SERVER else ()
        named = tuple(dict.fromkeys((*said.hosts, *more)))
        papers, _ = read_papers(_read(path))
        wanted = Wanted(said.member, said.name, named, days, said.user)
        renewed[path] = authority.issue(wanted, papers.key)
    return _hand_out(folder, authority, renewed)


def revoke(path: Path, days: float) -> list[Path]:
    """Calls back all certificates of a file whose key was lost, and tells all other files.

    The file of a member that a cluster always has gets a new key; another one is removed. Gives
    what was written.
    """
    folder, authority = path.parent, _authority(path.parent)
    known = any(one.file == path.name for one in authority.issued)
    if path.name == AUTHORITY or not (known or path.exists()):
        raise StartError(
            f"{path} is not the file of a member: 'rain keys show {folder}' shows all of them"
        )
    said = look(path) if path.exists() else None
    authority = authority.revoking(path.name, _read(path) if path.exists() else b"")
    told: dict[Path, bytes] = {}
    for other in members(folder):
        papers, tasks = read_papers(_read(other))
        told[other] = spell_papers(evolve(papers, revoked=authority.revoked), tasks)
    if said is not None and path.name in map(_file_of, MemberKind):
        told[path] = authority.issue(Wanted(said.member, said.name, said.hosts, days))
    else:
        told.pop(path, None)
    written = _hand_out(folder, authority, told)
    if path not in told:
        path.unlink(missing_ok=True)
    return written


def _hand_out(folder: Path, authority: Authority, files: dict[Path, bytes]) -> list[Path]:
    """Writes files of members; first of all the authority notes what is in them."""
    for path, content in files.items():
        authority = authority.noting(path.name, content)
    _write(folder / AUTHORITY, authority.spell())
    return [_write(path, content) for path, content in files.items()]


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


def _file_of(member: MemberKind) -> str:
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
        draft.unlink(missing_ok=True)
        raise StartError(f"{path} cannot be written: {error.strerror}") from None
    return path
