"""Functions for the files and folders of a store: reserving space, links, copies, read-only
modes.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from rain.stream.protocol import SharedPlace
from rain.stream.removing import make_folders_writable

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def reserve(descriptor: int, length: int) -> None:
    """Reserves the space for a file; raises OSError if the disk is too full."""
    if length:
        os.posix_fallocate(descriptor, 0, length)


def is_at(place: SharedPlace, path: Path) -> bool:
    """Whether a path leads to exactly this file or folder."""
    status = path.lstat()
    return (status.st_dev, status.st_ino) == (place.device, place.inode)


def link_tree(source: Path, target: Path) -> None:
    """Recreates a folder with hard links to its files."""
    target.mkdir()
    for entry in source.iterdir():
        if entry.is_symlink():
            (target / entry.name).symlink_to(entry.readlink())
        elif entry.is_dir():
            link_tree(entry, target / entry.name)
        else:
            (target / entry.name).hardlink_to(entry)


def copy_to(source: Path, target: Path) -> None:
    """Copies a file or folder, which can be written and removed there."""
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
        make_folders_writable(target)
    else:
        shutil.copyfile(source, target)
        target.chmod(stat.S_IMODE(source.stat().st_mode) | stat.S_IWUSR)


def part_links(path: Path, adopted: Path, store: Path) -> None:
    """Replaces links from an adopted folder to other objects of its store with copies."""
    if not path.is_dir():
        return
    for entry in list(path.iterdir()):
        if not entry.is_symlink():
            part_links(entry, adopted, store)
            continue
        source = Path(os.path.realpath(entry))  # resolve() raises for a loop of links
        is_other = source.is_relative_to(store) and not source.is_relative_to(adopted)
        if is_other and source.exists():
            entry.unlink()
            copy_to(source, entry)


def make_read_only(path: Path) -> None:
    """A file, or a folder with all that is in it."""
    if path.is_symlink():
        return  # only the link; its target is not ours
    if path.is_dir():
        for entry in path.iterdir():
            make_read_only(entry)
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_WRITE)
