"""Copies of files that the kernel makes, without their bytes passing through Python."""

import errno
import os

_CANNOT = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""What the kernel says of two files that it cannot clone, as those of two filesystems."""


def copy_bytes(source: int, target: int, length: int) -> None:
    """Copies `length` bytes from where one open file stands to where another one does."""
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
            raise OSError(errno.EIO, f"the file has {left} bytes less than was said")
        left -= moved


def _clone(source: int, target: int, length: int) -> int:
    return os.copy_file_range(source, target, length)


def _send(source: int, target: int, length: int) -> int:
    return os.sendfile(target, source, None, length)  # None: from where it stands
