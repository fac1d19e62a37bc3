"""The printed output of a task for users: bounded, and as one text."""

import os

HEAD = 32 * 1024
TAIL = 32 * 1024
"""Bytes that are kept of the start and of the end of a file."""

SHOWN = 4096
"""Characters of each stream that are shown in an error."""


def excerpt(descriptor: int, size: int) -> str:
    """Reads a file of `size` bytes; of a large one only the start and the end."""
    if size <= HEAD + TAIL:
        data = os.pread(descriptor, size, 0)
    else:
        left_out = f"\n[... {size - HEAD - TAIL} bytes are left out here ...]\n"
        data = os.pread(descriptor, HEAD, 0) + left_out.encode()
        data += os.pread(descriptor, TAIL, size - TAIL)
    return data.decode(errors="replace")


def excerpt_of(path: str) -> str:
    """Like `excerpt` for the file at a path; "" if there is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 # pathlib starts slowly
            return excerpt(file.fileno(), os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        return ""


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
