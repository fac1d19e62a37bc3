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
    """Reads the secret in a file; StartError if there is none, or if others can read it."""
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
    """Reads the secret in the file of RAIN_SECRET_FILE, if it is set."""
    name = environment.get(VARIABLE, "")
    return read_secret(Path(name)) if name else None


def read_secret_from(descriptor: int) -> Secret:
    """Reads a secret from a descriptor."""
    try:
        with os.fdopen(descriptor, "rb") as handed:
            content = handed.read()
    except OSError as error:
        raise StartError(
            f"the secret's descriptor {descriptor} cannot be read: {error.strerror}"
        ) from error
    return _checked(content, f"the secret's descriptor {descriptor}")


def make_secret_file(path: Path) -> Secret:
    """Creates a new secret in a new file."""
    secret = Secret.of(secrets.token_hex(32))
    keep_secret(path, secret)
    return secret


def make_user_secret(of_cluster: Path, name: str) -> Path:
    """Creates the secret of a user beside that of the cluster: user-NAME.secret."""
    secret = read_secret(of_cluster)
    if secret.user:
        raise StartError(f"{of_cluster} is the secret of the user {secret.user}, not of a cluster")
    try:
        own = secret.for_user(name)
    except ValueError as error:
        raise StartError(str(error)) from None
    path = of_cluster.with_name(f"user-{name}.secret")
    if path.exists():
        raise StartError(f"{path} is there already")
    keep_secret(path, own)
    return path


def keep_secret(path: Path, secret: Secret) -> None:
    """Writes a secret to a new file that only its owner can read."""
    try:
        path.unlink(missing_ok=True)  # it may be of an earlier cluster and readable by others
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secret.spell() + b"\n")
    except OSError as error:
        raise StartError(f"the secret file {path} cannot be written: {error.strerror}") from error


def _checked(content: bytes, where: str) -> Secret:
    try:
        return Secret.of(content)
    except ValueError as error:
        raise StartError(f"{where}: {error}") from None
