"""What a call reads of files that are near to some governors, for the scheduler."""

from collections.abc import Iterable

from rain.base.near import Near
from rain.client.sent.arguments import InputCollector
from rain.client.shapes import TaskShape
from rain.files.file import File

UNKNOWN_SIZE = 1 << 20
"""The bytes of a file for which its store does not say how large it is."""


def with_near(shape: TaskShape, collector: InputCollector | None) -> TaskShape:
    """The shape of a call, with what it reads of such files."""
    if collector is None or not collector.files:
        return shape
    return shape._replace(near=_near(collector.files))


def _near(files: Iterable[File]) -> tuple[Near, ...]:
    """The bytes at each of the places.

    They are rounded up to powers of two: tasks with equal ones share a kind, and no scheduler needs
    to know them better.
    """
    sizes: dict[tuple[str, ...], int] = {}
    for file in files:
        sizes[file.near] = sizes.get(file.near, 0) + _bytes_read(file)
    return tuple(Near(places, 1 << (size - 1).bit_length()) for places, size in sizes.items())


def _bytes_read(file: File) -> int:
    stop = file.size if file.stop is None else file.stop
    return UNKNOWN_SIZE if stop is None else max(stop - file.start, 1)
