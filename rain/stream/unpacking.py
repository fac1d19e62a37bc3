"""Unpacking archives of directories, so that nothing is written anywhere but below the target.

Symbolic links stay what they are, wherever they lead: they are part of a directory like its files.
They are made when everything else is written, so that nothing can be written through one.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path


def extract(archive: tarfile.TarFile, target: Path) -> None:
    """Writes all entries; tarfile.TarError for one that lies outside or is of another kind."""
    links: list[tarfile.TarInfo] = []
    # The oldest Pythons that we run on have no filters: there, entries are written as they are.
    archive.extraction_filter = getattr(tarfile, "data_filter", None)
    archive.extractall(target, members=_without_links(archive, links))
    root = os.path.realpath(target)
    for link in links:
        _make_link(root, link)


def _without_links(
    archive: tarfile.TarFile, links: list[tarfile.TarInfo]
) -> Iterator[tarfile.TarInfo]:
    for entry in archive:
        if entry.issym():
            links.append(entry)
        else:
            yield entry


def _make_link(root: str, link: tarfile.TarInfo) -> None:
    # A link that was made before may be above this one, and lead elsewhere.
    parent, name = os.path.split(os.path.join(root, link.name))  # noqa: PTH118 # as realpath
    folder = os.path.realpath(parent)
    if os.path.commonpath((root, folder)) != root or name in {"", ".", ".."}:
        raise tarfile.TarError(f"the link {link.name!r} would lie outside of the directory")
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    path.symlink_to(link.linkname)
