"""The key of a user: the secret of all clusters that only this machine can reach.

It is used if no secret is given and all addresses are on loopback. It is in the user's state
folder or, if that is not writable, in the user's temporary folder; other programs of the same user
find it there, and no other user can read it. A proof made with it is valid for one address
(`rain.base.admission`): a foreign program that listens where no server of the user does can neither
learn the key nor pass a proof on to another server.
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
    """Returns the key and its file; creates them if needed, or raises StartError."""
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
            f"the key of this user cannot be stored: {reason}; {error}; set XDG_STATE_HOME"
            " to a folder of yours, or use --secret-file"
        ) from None


def state_folder(environment: Mapping[str, str]) -> Path:
    """The folder for the persistent state of this user's programs."""
    state = environment.get("XDG_STATE_HOME", "")
    if Path(state).is_absolute():
        return Path(state) / "rain"
    home = environment.get("HOME", "")
    if not home:
        try:
            home = pwd.getpwuid(os.geteuid()).pw_dir
        except KeyError:  # a user without a name, as in some containers
            home = "/"
    return Path(home) / ".local" / "state" / "rain"


def _key_in(folder: Path) -> tuple[Secret, Path]:
    """Returns the key in a folder; raises OSError if it can be neither read nor created."""
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
    raise StartError(f"the key {path} {reason}: remove it, and Rain creates a new one")


def _make(path: Path) -> None:
    """Creates the key atomically; if several programs do so at once, the first key stays."""
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
