"""Files that a task looks for where they are not: it runs in a folder of its own.

A relative path means the folder of the executor, where nothing of the user is. When a task has not
found a file that lies in the folder of this program, its message says what to write instead.
"""

import re
from pathlib import Path

_NOT_FOUND = re.compile(r"FileNotFoundError: \[Errno 2\] [^\n]*: '([^'\n]+)'\s*$")


def advice(message: str) -> str:
    """What to do when a task has failed with this message; "" when nothing is known."""
    found = _NOT_FOUND.search(message)
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
