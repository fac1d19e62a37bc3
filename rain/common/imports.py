"""The import folders, uploads, current folder, and settings of logging and of numbers of a program.
These are sent with each of its functions.

They are appended to the function's pickle, behind its end, where no unpickler reads:


    pickle | the fields of Imports | length | "rainpath"

The length is the number of bytes of the fields.

A task that calls functions sends the same data as the program that it belongs to
(`CallingProgram`), so all of them share the modules of the program.
"""

from __future__ import annotations

import os
import sys
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack

from rain.common.number_settings import NumberSettings, from_fields

if TYPE_CHECKING:
    from mmap import mmap

_MAGIC = b"rainpath"
_FOOTER = Struct("<I8s")


class Imports(NamedTuple):
    """What one program imports from, and a key that changes if a module may have changed."""

    key: str
    folders: tuple[str, ...]
    uploads: tuple[bytes, ...] = ()  # zip archives, which come before the folders
    logging: tuple[Any, ...] | None = None  # the fields of `LogSettings`
    began: float = 0.0  # when the program has started
    changed: str = ""  # a digest of its loaded files that have changed since then; "" for none
    python: str = ""  # its version, "3.11"; "" from an earlier release of Rain
    folder: str = ""  # its current folder; "" if that was removed
    origin: str = ""  # the process that it is, which its tasks tell, too
    looked: float = 0.0  # when it has looked at the files
    arguments: tuple[bytes, ...] = ()  # its `sys.argv`, which modules may read when they are loaded
    numbers: NumberSettings | None = None

    @property
    def of_modules(self) -> Imports:
        """All that decides which modules a function loads."""
        return self._replace(logging=None, numbers=None, looked=0.0)


class CallingProgram(NamedTuple):
    """The program that has sent the function which this process runs."""

    imports: Imports
    places: tuple[str, ...]  # `sys.path` for it in this process


_running: CallingProgram | None = None


def note_program(program: CallingProgram | None) -> None:
    """From now on this process runs a function of this program."""
    global _running  # noqa: PLW0603 # one for the process
    _running = program


def running_program() -> CallingProgram | None:
    """The program of the task that this process runs; None outside of tasks."""
    return _running


def working_folder() -> str:
    """The current folder of the program, also in its tasks; "" if it was removed."""
    program = running_program()
    if program is not None:
        return program.imports.folder
    try:
        return os.getcwd()  # noqa: PTH109 # asked for each call
    except FileNotFoundError:
        return ""


def told_imports(imports: Imports) -> bytes:
    """What a program imports from, in the form that follows a pickle."""
    told: bytes = msgpack.packb(list(imports))
    return told + _FOOTER.pack(len(told), _MAGIC)


def with_imports(pickled: bytes, imports: Imports) -> bytes:
    """Appends what a program imports from to a pickle."""
    return pickled + told_imports(imports)


def pickle_in(data: bytes | mmap) -> memoryview:
    """The pickle before it."""
    place = _place(data)
    return memoryview(data)[: len(data) if place is None else place[0]]


def _place(data: bytes | mmap) -> tuple[int, int] | None:
    """Where the fields of Imports begin and end; None if there are none."""
    end = len(data) - _FOOTER.size
    if end < 0:
        return None
    length, magic = _FOOTER.unpack(data[end:])
    return None if magic != _MAGIC or length > end else (end - length, end)


def imports_of(data: bytes | mmap) -> Imports | None:
    """Reads what is behind a pickle; None if there is nothing."""
    place = _place(data)
    if place is None:
        return None
    told = msgpack.unpackb(data[slice(*place)])
    imports = Imports(*told[: len(Imports._fields)])  # a later release may tell more
    return imports._replace(
        folders=tuple(imports.folders),
        uploads=tuple(imports.uploads),
        logging=None if imports.logging is None else tuple(imports.logging),
        arguments=tuple(imports.arguments),
        numbers=from_fields(imports.numbers),
    )


def other_python(data: bytes | mmap) -> str:
    """What may be wrong with a pickle that cannot be read: another Python has made it."""
    imports = imports_of(data)
    here = "{}.{}".format(*sys.version_info)
    if imports is None or imports.python in {"", here}:
        return ""
    return (
        f"The program runs Python {imports.python}, and this governor {here}, which cannot read all"
        " that the other one writes: use the same version ('rain env check' compares them)"
    )


def code_of(data: bytes) -> bytes | None:
    """The part of a function's pickle that is equal in two processes with the same code, or None.

    It contains the pickle, the states of source files that were changed since the start of the
    program, the uploads, and the settings of numbers. It does not contain the process, its current
    folder, its import folders, its other modules, and its logging settings.
    """
    try:
        imports = imports_of(data)
        if imports is None:
            return data
        told: bytes = msgpack.packb([imports.changed, list(imports.uploads), imports.numbers])
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException):
        return None  # not written by Rain
    return bytes(pickle_in(data)) + told
