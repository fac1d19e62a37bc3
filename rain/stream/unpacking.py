"""Unpacks archives of directories safely: nothing is written outside of the target.

Symbolic links are kept with any target: they are part of a directory like its files. They are
created after everything else, so that nothing can be written through a link.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path


def extract(archive: tarfile.TarFile, target: Path) -> None:
    """Writes all entries; tarfile.TarError for one outside of the target or of another type."""
    links: list[tarfile.TarInfo] = []
    # The oldest supported Pythons have no filters: there, entries are written unchanged.
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
    # An earlier link may be a parent of this one and lead elsewhere.
    parent, name = os.path.split(os.path.join(root, link.name))  # noqa: PTH118 # as realpath
    folder = os.path.realpath(parent)
    if os.path.commonpath((root, folder)) != root or name in {"", ".", ".."}:
        raise tarfile.TarError(f"the link {link.name!r} would be outside of the directory")
    path = Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    path.symlink_to(link.linkname)
