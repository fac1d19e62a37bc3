"""Packs a module, a package or an archive of such for an upload. Only pure Python can travel."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from attrs import field, frozen

from rain.common.errors import RainException

_ARCHIVES = frozenset({".zip", ".whl"})
_COMPILED = frozenset({".so", ".pyd", ".dylib", ".dll"})
_TAKEN = sys.stdlib_module_names | {"rain"}
_MOMENT = (1980, 1, 1, 0, 0, 0)  # so that equal files make equal archives


@frozen
class PackedModules:
    """One archive, and the top-level modules in it."""

    names: frozenset[str]
    digest: str
    archive: bytes = field(repr=False, eq=False)


def packed(path: Path) -> PackedModules:
    """A module, a package, or an archive of such, as it is at this moment."""
    path = path.expanduser().absolute()
    if path.is_dir():
        files = _files_of_package(path)
    elif path.suffix in _ARCHIVES and path.is_file():
        files = _files_of_archive(path)
    elif path.suffix == ".py" and path.is_file():
        files = [(path.name, path.read_bytes())]
    elif path.exists():
        raise RainException(
            f"upload: {path} is not Python code: give a .py file, the folder of a package, a .zip"
            " or a wheel"
        )
    else:
        raise RainException(f"upload: there is no {path}")
    ordered = sorted(files)
    names = frozenset(_modules(name for name, _ in ordered))
    _check(path, names, [name for name, _ in ordered])
    summed = blake2b(digest_size=16)
    for name, content in ordered:
        summed.update(f"{name}\n{len(content)}\n".encode())
        summed.update(content)
    return PackedModules(names, summed.hexdigest(), _archive(ordered))


def _files_of_package(folder: Path) -> list[tuple[str, bytes]]:
    if not (folder / "__init__.py").is_file():
        raise RainException(
            f"upload: {folder} has no __init__.py, so it is no package: give the folder of a"
            " package, or upload the modules in it one by one"
        )
    return [
        (str(PurePosixPath(folder.name, *file.relative_to(folder).parts)), file.read_bytes())
        for file in folder.rglob("*")
        if file.is_file() and not any(map(_is_left_out, file.relative_to(folder).parts))
    ]


def _is_left_out(part: str) -> bool:
    return part == "__pycache__" or part.startswith(".") or part.endswith(".pyc")


def _files_of_archive(path: Path) -> list[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [
                (entry.filename, archive.read(entry))
                for entry in archive.infolist()
                if not entry.is_dir()
            ]
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
        raise RainException(f"upload: {path} cannot be read as an archive: {error}") from None


def _modules(names: Iterable[str]) -> Iterator[str]:
    """The top-level modules and packages among files."""
    for name in names:
        parts = PurePosixPath(name).parts
        top = parts[0].removesuffix(".py") if len(parts) == 1 else parts[0]
        if name.endswith(".py") and top.isidentifier() and top != "__main__":
            yield top


def _check(path: Path, names: frozenset[str], files: list[str]) -> None:
    if not names:
        raise RainException(f"upload: there is no module in {path} that could be imported")
    if taken := sorted(names & _TAKEN):
        raise RainException(
            f"upload: {path} would hide the module {taken[0]!r} of Python or of Rain: rename it"
        )
    for name in files:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            raise RainException(f"upload: {path} has a file outside of itself: {name}")
        if place.suffix in _COMPILED:
            raise RainException(
                f"upload: {path} has a compiled module, {name}: install it on the machines of the"
                " governors"
            )


def _archive(files: list[tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(
                zipfile.ZipInfo(name, _MOMENT), content, compress_type=zipfile.ZIP_DEFLATED
            )
    return made.getvalue()
