"""Directories as tar archives, and writable copies of read-only stored data.

An archive has the root entry ".", its entries are sorted by name, and times and owners are left
out, so that equal directories give equal bytes.
"""

import io
import shutil
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Union

from rain.base import modes
from rain.common.errors import RainException
from rain.stream.unpacking import extract

Tree = Mapping[str, Union[bytes, str, "Tree"]]
"""A directory as a mapping: names to contents, or to mappings for the folders inside."""


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Removes from an entry what differs between machines."""
    if not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
        raise RainException(
            f"The directory cannot be packed: {info.name!r} is neither a file nor a directory"
            " nor a link"
        )
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    if info.isdir():
        info.mode = modes.FOLDER
    elif info.isfile():
        info.mode = modes.PROGRAM if info.mode & modes.ANY_EXECUTE else modes.FILE
    return info


def _archive(fill: Callable[[tarfile.TarFile], None]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        fill(archive)
    return target.getvalue()


def pack_directory(path: Path, leaves_out: Callable[[str], bool] | None = None) -> bytes:
    """Packs a local directory, without what has a name that is left out."""
    if not path.is_dir():
        raise RainException(f"There is no directory {str(path)!r}")

    def entry(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        name = PurePosixPath(info.name).name  # "" for the root
        if leaves_out is not None and name and leaves_out(name):
            return None
        return _plain(info)

    # tarfile walks a folder sorted by name.
    return _archive(lambda archive: archive.add(path, arcname=".", filter=entry))


def pack_tree(tree: Tree) -> bytes:
    """Packs a directory given as a mapping; names may be paths."""
    files: dict[PurePosixPath, bytes] = {}
    folders: set[PurePosixPath] = set()
    _flatten(tree, PurePosixPath(), files, folders)
    clash = sorted(str(path) for path in files if path in folders)
    if clash:
        raise RainException(f"{clash[0]!r} cannot be both a file and a directory")

    def fill(archive: tarfile.TarFile) -> None:
        root = _plain(tarfile.TarInfo("."))
        root.type = tarfile.DIRTYPE
        archive.addfile(_plain(root))
        for path in sorted({*files, *folders}):
            info = tarfile.TarInfo(f"./{path}")
            if path in folders:
                info.type = tarfile.DIRTYPE
                archive.addfile(_plain(info))
            else:
                info.size = len(files[path])
                archive.addfile(_plain(info), io.BytesIO(files[path]))

    return _archive(fill)


def _flatten(
    tree: Tree,
    below: PurePosixPath,
    files: dict[PurePosixPath, bytes],
    folders: set[PurePosixPath],
) -> None:
    for name, content in tree.items():
        path = below / name
        if not PurePosixPath(name).parts or path.is_absolute() or ".." in path.parts:
            raise RainException(f"{name!r} is not a path inside a directory")
        folders.update(parent for parent in path.parents if parent.parts)
        if isinstance(content, Mapping):
            folders.add(path)
            _flatten(content, path, files, folders)
        elif path in files:
            raise RainException(f"{str(path)!r} is named twice")
        else:
            files[path] = content.encode() if isinstance(content, str) else content


def unpack(data: bytes, path: Path) -> None:
    """Unpacks an archive into a directory, which is created if needed.

    Links stay links, with any target. Raises RainException if it fails.
    """
    _unpack(io.BytesIO(data), path)


def unpack_file(source: Path, path: Path) -> None:
    """Like `unpack` for an archive in a file, which need not fit into memory."""
    with source.open("rb") as archive:
        _unpack(archive, path)


def _unpack(source: IO[bytes], path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(fileobj=source, mode="r:") as archive:
            extract(archive, path)
    except tarfile.TarError as error:
        raise RainException(f"The directory cannot be unpacked into {path}: {error}") from None


def copy_writable(source: Path, target: Path) -> None:
    """Makes a writable copy: contents, links and execute permission only."""
    if not source.is_dir():
        _copy_file(source, target)
        return
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(source.iterdir()):
        if entry.is_symlink():
            (target / entry.name).symlink_to(entry.readlink())
        else:
            copy_writable(entry, target / entry.name)


def _copy_file(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    executable = source.stat().st_mode & modes.ANY_EXECUTE
    target.chmod(modes.PROGRAM if executable else modes.FILE)
