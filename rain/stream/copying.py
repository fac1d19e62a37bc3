"""Copies files in the kernel, without passing their bytes through Python."""

import errno
import os

_CANNOT = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""The errors for two files that the kernel cannot clone, such as on two filesystems."""


def copy_bytes(source: int, target: int, length: int) -> None:
    """Copies `length` bytes between the current positions of two open files."""
    left = length
    can_clone = True
    while left:
        try:
            moved = _clone(source, target, left) if can_clone else _send(source, target, left)
        except OSError as error:
            if not can_clone or error.errno not in _CANNOT:
                raise
            can_clone = False
            continue
        if not moved:
            raise OSError(errno.EIO, f"the file has {left} bytes fewer than expected")
        left -= moved


def _clone(source: int, target: int, length: int) -> int:
    return os.copy_file_range(source, target, length)


def _send(source: int, target: int, length: int) -> int:
    return os.sendfile(target, source, None, length)  # None: from the current position
