"""Calls fsspec: finds the file system of a URL, and turns its failures into Rain's exceptions."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from rain.files.errors import (
    AccessError,
    FilesError,
    MissingFileError,
    MissingPackageError,
    UnreachableStoreError,
)
from rain.files.places import protocol_of, shown

Options = Mapping[str, Any]
"""Those of a store, as fsspec and pandas call them: `storage_options`."""

Info = Mapping[str, Any]
"""What a file system says of a file."""

_VERSIONS = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "last_modified")
"""The keys of an info of which the first one that is there tells versions apart."""

_NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError")
"""Exceptions of the libraries below fsspec, which may not be installed."""

_UNREACHABLE = (
    "ConnectionError",
    "EndpointConnectionError",
    "ClientConnectorError",
    "TimeoutError",
)

_EXTRAS = {"s3": "s3", "s3a": "s3"}
"""Protocols for which there is an extra of ours."""


class System(Protocol):
    """The methods of `fsspec.AbstractFileSystem` that Rain uses."""

    def info(self, path: str) -> Info: ...
    def ls(self, path: str, detail: bool) -> Any: ...
    def find(self, path: str, detail: bool) -> Any: ...
    def glob(self, path: str, detail: bool) -> dict[str, Info]: ...
    def exists(self, path: str) -> bool: ...
    def open(self, path: str, mode: str, **options: Any) -> Any: ...
    def cat_file(self, path: str, *, start: int, end: int) -> bytes: ...
    def get_file(self, path: str, target: str) -> None: ...
    def rm(self, path: Any) -> None: ...
    def mv(self, path: str, target: str) -> None: ...
    def makedirs(self, path: str, exist_ok: bool) -> None: ...
    def invalidate_cache(self, path: str) -> None: ...
    def unstrip_protocol(self, path: str) -> str: ...


def system_of(url: str, options: Options) -> tuple[System, str]:
    """The file system of a URL, and the path in it."""
    core = import_fsspec(url).core
    with naming(url):
        try:
            system, path = core.url_to_fs(url, **options)
        except ImportError as error:
            raise MissingPackageError(_missing(url, error)) from None
        except ValueError as error:
            raise FilesError(f"{shown(url)}: {error}") from None
    return system, path


def import_fsspec(url: str = "") -> Any:
    """The package, which is loaded only for those who need it."""
    try:
        import_module("fsspec.compression")
        return import_module("fsspec")
    except ModuleNotFoundError:
        what = shown(url) or "compression"
        raise MissingPackageError(
            f"{what} needs the package fsspec: {_pip(url, 'rain-tasks[files]')}"
        ) from None


def fresh_info(system: System, path: str) -> Info:
    """The current information of the store about a file."""
    system.invalidate_cache(path)
    return system.info(path)


def version_of(info: Info) -> str:
    """A text that changes when the file changes; "" if its store has none."""
    return next((str(info[key]).strip('"') for key in _VERSIONS if info.get(key)), "")


@contextmanager
def naming(url: str) -> Generator[None, None, None]:
    """Errors inside the block name this URL."""
    try:
        yield
    except FilesError:
        raise
    # Each store has exceptions of its own, of packages that need not be here.
    except Exception as error:
        told = _explained(url, error)
        if told is None:
            raise
        raise told from None


def _explained(url: str, error: Exception) -> FilesError | None:
    # For any error of HTTP, fsspec says that there is no such file.
    names = {kind.__name__ for one in (error, error.__cause__) for kind in type(one).__mro__}
    where, text = shown(url), " ".join(str(error).split())
    if names.intersection(_UNREACHABLE):
        return UnreachableStoreError(f"{where}: its store cannot be reached: {text}")
    if isinstance(error, FileNotFoundError):
        if "bucket" in text.lower() and "exist" in text:
            return MissingFileError(f"{where}: there is no such bucket")
        return MissingFileError(f"{where}: there is no such file")
    if names.intersection(_NO_CREDENTIALS):
        return AccessError(
            f"{where}: there are no credentials here. Set them where this runs (for S3"
            " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials), or give"
            " storage_options="
        )
    if isinstance(error, PermissionError):
        return AccessError(f"{where}: access is refused: {text}")
    if isinstance(error, OSError):
        return FilesError(f"{where}: {error.strerror or text}")
    return None


def _missing(url: str, error: ImportError) -> str:
    cause = error.__cause__ or error.__context__ or error
    package = str(getattr(cause, "name", None) or "").partition(".")[0]
    advice = f": {_pip(url, package)}" if package or protocol_of(url) in _EXTRAS else ""
    return f"{shown(url)}: {str(error).rstrip('.')}{advice}"


def _pip(url: str, package: str) -> str:
    extra = _EXTRAS.get(protocol_of(url))
    return f"pip install '{package if extra is None else f'rain-tasks[{extra}]'}'"
