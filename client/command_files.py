"""Checks the file names in a command, which runs in a folder of its own with nothing but its
inputs.

So a relative path never leads to a file in the folder of the user's script. If the first word of a
command is such a path, the command cannot work and is refused. Any other word may not be meant as a
path, so there is only a warning. An absolute path does lead to a file, but the cache does not know
its content.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from rain.client.explaining.warn import warn_user
from rain.common.errors import RainException

WORDS_AT_MOST = 100
"""Longer commands are not checked: nobody has written all their words by hand."""


def check_files(what: str, words: Sequence[str], own: Iterable[str]) -> None:
    """`own` are the paths of the task's inputs and outputs, which are in its folder."""
    there = [PurePosixPath(path) for path in own]
    program, *rest = words
    if "/" in program and _leads_outside(program, there):
        raise RainException(
            f"{what}: the program {program!r} would be looked for in the folder of the task, which"
            f" has only its inputs; write {str(Path(program).absolute())!r}, or make it an input"
        )
    for word in rest[:WORDS_AT_MOST]:
        if _leads_outside(word, there) and _is_file(word):
            warn_user(
                f"{what}: {word!r} is a file of your folder, and the command runs in another; if"
                f" the file is meant, write {str(Path(word).absolute())!r}, or make it an input"
            )


def check_kept_files(what: str, words: Sequence[str]) -> None:
    """Warns of files that are no inputs: a later run would not notice that they have changed."""
    for word in words[1 : WORDS_AT_MOST + 1]:
        if PurePosixPath(word).is_absolute() and _is_file(word):
            warn_user(
                f"{what}: for the cache only the name of {word!r} counts, not what is in it; make"
                " it an input with tasks.Load(), or say with cache_key what it holds"
            )


def _leads_outside(word: str, there: Sequence[PurePosixPath]) -> bool:
    """Whether a relative path is none of these, nor below one of them."""
    path = PurePosixPath(word)
    return not path.is_absolute() and not any(path.is_relative_to(one) for one in there)


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):  # it is too long to be a path, or has a NUL
        return False
