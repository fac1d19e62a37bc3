"""Opens arrays that map a file for writing in calls of joblib, so that the calls write to the file.

Only the path of the file is sent. The machine must have the file, for instance on a shared file
system.
"""

from pathlib import Path
from typing import Any

import numpy as np

WRITABLE = frozenset({"r+", "w+"})
"""The modes of `numpy.memmap` in which what is written reaches the file."""


def mapped(
    kind: type[Any], path: str, start: int, size: int, place: int, layout: tuple[Any, Any, Any]
) -> Any:
    """An array in that part of a file, with its dtype, shape and strides.

    A file that is too short is another one; numpy would extend it.
    """
    file = Path(path)
    if not file.is_file() or file.stat().st_size < start + size:
        raise FileNotFoundError(
            f"this machine does not have the file {path!r} of a numpy.memmap that can be written:"
            " put it on a common file system, or map it with mode='r', which is uploaded"
        )
    dtype, shape, strides = layout
    whole = np.memmap(path, np.uint8, "r+", start, (size,))
    return np.ndarray.__new__(kind, shape, dtype, whole, place, strides)
