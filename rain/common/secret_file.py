"""The secret of a cluster, kept in a file that only its owner can read."""

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from rain.base.admission import Secret
from rain.base.errors import StartError

VARIABLE = "RAIN_SECRET_FILE"


def read_secret(path: Path) -> Secret:
    """The secret in a file; StartError when there is none, or when others can read it."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
    except OSError as error:
        raise StartError(f"the secret file {path} cannot be read: {error.strerror}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise StartError(f"the secret file {path} is open to others: chmod 600 {path}")
    return _checked(content, f"the secret file {path}")


def secret_from_environment(environment: Mapping[str, str]) -> Secret | None:
    """The secret in the file that RAIN_SECRET_FILE names, if it does."""
    name = environment.get(VARIABLE, "")
    return read_secret(Path(name)) if name else None


def read_secret_from(descriptor: int) -> Secret:
    """The secret that somebody hands over through a descriptor."""
    try:
        with os.fdopen(descriptor, "rb") as handed:
            content = handed.read()
    except OSError as error:
        raise StartError(
            f"the secret's descriptor {descriptor} cannot be read: {error.strerror}"
        ) from error
    return _checked(content, f"the secret's descriptor {descriptor}")


def make_secret_file(path: Path) -> Secret:
    """A new secret in a new file."""
    secret = Secret.of(secrets.token_hex(32))
    keep_secret(path, secret)
    return secret


def keep_secret(path: Path, secret: Secret) -> None:
    """Writes a secret into a new file of its owner alone."""
    try:
        path.unlink(missing_ok=True)  # one of an earlier cluster, perhaps open to others
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret.key + b"\n")
    except OSError as error:
        raise StartError(f"the secret file {path} cannot be written: {error.strerror}") from error


def _checked(content: bytes, where: str) -> Secret:
    try:
        return Secret.of(content)
    except ValueError as error:
        raise StartError(f"{where}: {error}") from None
