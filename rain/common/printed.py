"""The printed output of a task for users: bounded, and as one text."""

import os
import re
from fcntl import LOCK_EX, LOCK_UN, flock
from typing import NamedTuple

HEAD = 32 * 1024
TAIL = 32 * 1024
"""Bytes that are kept of the start and of the end of a file."""

CUT_FROM = 1024 * 1024
"""Bytes of a file from which on its middle may be cut out while it is written."""

SHOWN = 4096
"""Characters of each stream that are shown in an error."""


_UNREADABLE = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\\[)")
"""What no text has. Some of it changes how a terminal shows all that follows; colours stay."""


class KeptText(NamedTuple):
    """What is kept of a file, and the size of the whole file."""

    data: bytes
    size: int


Streams = tuple[KeptText, KeptText]
"""What is kept of stdout and of stderr."""

NOTHING = KeptText(b"", 0)


def keep(descriptor: int, size: int) -> KeptText:
    """Reads a file of `size` bytes; of a large one only the start and the end."""
    if size <= HEAD + TAIL:
        return KeptText(os.pread(descriptor, size, 0), size)
    both = os.pread(descriptor, HEAD, 0) + os.pread(descriptor, TAIL, size - TAIL)
    return KeptText(both, size)


def keep_of(path: str) -> KeptText:
    """Like `keep` for the file at a path; nothing if there is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 # pathlib starts slowly
            return keep(file.fileno(), os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        return NOTHING


def empty(descriptor: int, size: int) -> None:
    """Empties a file of `size` bytes. A large one may be being cut, which must not hit what is
    printed next.
    """
    if size <= CUT_FROM:
        os.ftruncate(descriptor, 0)
        return
    flock(descriptor, LOCK_EX)
    try:
        os.ftruncate(descriptor, 0)
    finally:
        flock(descriptor, LOCK_UN)


def readable(data: bytes) -> str:
    """Bytes that were printed as text that can be shown, whatever they are."""
    return _UNREADABLE.sub("\ufffd", data.decode(errors="replace"))


def text_of(kept: KeptText) -> str:
    """The text, with a line that says how much is left out."""
    data, size = kept
    if size > HEAD + TAIL:
        left_out = f"\n[... {size - HEAD - TAIL} bytes are left out here ...]\n"
        data = data[:HEAD] + left_out.encode() + data[HEAD:]
    return readable(data)


def logs_of(streams: Streams) -> str:
    """Both streams as one text."""
    out, err = streams
    return as_logs(text_of(out), text_of(err))


def as_logs(out: str, err: str) -> str:
    """Joins both streams to one text."""
    if not err:
        return out
    between = "\n" if out and not out.endswith("\n") else ""
    return f"{out}{between}[stderr]\n{err}"


def last_words(out: str, err: str) -> str:
    """The end of both streams, for an error."""
    named = (("stdout", out), ("stderr", err))
    return "".join([f"\nIts {name}:\n{_end(text)}" for name, text in named if text.strip()])


def _end(text: str) -> str:
    text = text.rstrip()
    return text if len(text) <= SHOWN else f"[...]{text[-SHOWN:]}"
