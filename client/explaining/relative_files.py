"""Advice for a task that does not find a file, since it runs in a folder of its own, without a
shell.

A relative path is relative to the folder of the executor, which has no files of the user. If a task
does not find a file that exists in the folder of this program, its message says what to write
instead. The same happens for a program that was given a pattern such as `*.csv`, which only a shell
expands.
"""

import re
from pathlib import Path

_NOT_FOUND = re.compile(r"FileNotFoundError: \[Errno 2\] [^\n]*: '([^'\n]+)'\s*$")

_MISSED = ": No such file or directory"

_LONGEST = 4096
"""Characters of a name; what a task says may be one word of any length."""


def advice(message: str) -> str:
    """Advice for a task that has failed with this message; "" for none."""
    pattern = _pattern_in(message)
    if pattern:
        return (
            f"{pattern!r} is a pattern, and no shell has run this command: write shell=True; the"
            " folder of the task has only its inputs"
        )
    found = _NOT_FOUND.search(message.rstrip()[-2 * _LONGEST :])
    if found is None:
        return ""
    name = found[1]
    path = Path(name)
    try:
        if path.is_absolute() or not path.exists():
            return ""
    except (OSError, ValueError):  # it is too long to be a path
        return ""
    return (
        f"{name!r} is in your folder, and a task runs in another one: open {str(path.absolute())!r}"
        f" where its machine has that file, too; or pass the content to the task, with"
        f" blob(open({name!r}, 'rb').read())"
    )


def _pattern_in(message: str) -> str:
    """The first name that was missed and is a pattern; "" if there is none."""
    end = message.find(_MISSED)
    while end >= 0:
        words = message[max(end - _LONGEST, 0) : end].split()
        name = words[-1].removesuffix("'").rpartition("'")[2] if words else ""
        if any(letter in name for letter in "*?~"):
            return name
        end = message.find(_MISSED, end + len(_MISSED))
    return ""
