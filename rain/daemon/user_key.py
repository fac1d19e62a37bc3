"""The key of a user: the secret of all clusters that only this machine reaches.

It is used where nobody names a secret and loopback is all that is listened on or called. It is in
the user's state folder, or, where that cannot be written, in the user's temporary one; programs of
the same user find it by themselves, and no other user can read it. Proofs that are made with it are
good for one address (`rain.base.admission`): who listens where a server of the user does not, can
neither learn it nor pass a proof on to another server.
"""

from __future__ import annotations

import os
import pwd
import secrets
from collections.abc import Mapping
from pathlib import Path

from rain.base.admission import OF_USER, Secret
from rain.base.errors import StartError
from rain.daemon.private import objection_to_file, private_folder, temporary_folder

FILE = "key"


def user_key(environment: Mapping[str, str] = os.environ) -> tuple[Secret, Path]:
    """The key and its file, made if this user has none yet; StartError when there is no place."""
    state = state_folder(environment)
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        return _key_in(state)
    except OSError as error:
        reason = f"{state}: {error.strerror}"
    except StartError as error:
        reason = str(error)
    try:
        return _key_in(temporary_folder())
    except (OSError, StartError) as error:
        raise StartError(
            f"there is no place for the key of this user: {reason}; {error}; let XDG_STATE_HOME"
            " name a folder of yours, or name a --secret-file"
        ) from None


def state_folder(environment: Mapping[str, str]) -> Path:
    """Where the programs of this user keep what they must remember."""
    state = environment.get("XDG_STATE_HOME", "")
    if Path(state).is_absolute():
        return Path(state) / "rain"
    home = environment.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:  # a user without a name, in a container
            home = "/"
    return Path(home) / ".local" / "state" / "rain"


def _key_in(folder: Path) -> tuple[Secret, Path]:
    """The key in a folder; OSError when it can be neither read nor made there."""
    path = private_folder(folder) / FILE
    if not path.exists():
        _make(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        reason = objection_to_file(os.fstat(descriptor), os.geteuid())
        content = file.read()
    try:
        secret = Secret.of(content)
    except ValueError:
        reason = reason or "is damaged"
    else:
        if not reason and secret.of_user:
            return secret, path
    reason = reason or "is damaged"
    raise StartError(f"the key {path} {reason}: remove it, and Rain makes another one")


def _make(path: Path) -> None:
    """Several programs may do so at once: the first key stays, and is never seen half-written."""
    draft = path.with_name(f".{FILE}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(OF_USER + secrets.token_hex(32).encode() + b"\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()
