"""What a task has printed, as users see it: bounded, and as one text."""

import os

HEAD = 32 * 1024
TAIL = 32 * 1024
"""Bytes of a file that are kept from its start and from its end."""

SHOWN = 4096
"""Letters of each stream that a message about a failure shows."""


def excerpt(descriptor: int, size: int) -> str:
    """What stands in a file of `size` bytes; of a large one how it begins and how it ends."""
    if size <= HEAD + TAIL:
        data = os.pread(descriptor, size, 0)
    else:
        left_out = f"\n[... {size - HEAD - TAIL} bytes are left out here ...]\n"
        data = os.pread(descriptor, HEAD, 0) + left_out.encode()
        data += os.pread(descriptor, TAIL, size - TAIL)
    return data.decode(errors="replace")


def excerpt_of(path: str) -> str:
    """The same for the file at a path; "" when there is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 # pathlib starts slowly
            return excerpt(file.fileno(), os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        return ""


def as_logs(out: str, err: str) -> str:
    """Both streams as one text."""
    if not err:
        return out
    between = "\n" if out and not out.endswith("\n") else ""
    return f"{out}{between}[stderr]\n{err}"


def last_words(out: str, err: str) -> str:
    """How both end, for a message about a failure."""
    named = (("stdout", out), ("stderr", err))
    return "".join([f"\nIts {name}:\n{_end(text)}" for name, text in named if text.strip()])


def _end(text: str) -> str:
    text = text.rstrip()
    return text if len(text) <= SHOWN else f"[...]{text[-SHOWN:]}"
