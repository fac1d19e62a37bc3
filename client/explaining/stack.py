"""Where in the user's program a task was created, for messages about its failure.

A stack is remembered as code objects and positions, which costs less than a microsecond; it becomes
lines of text only when a task has failed. Calls in a loop have equal stacks, and share one.
"""

import sys
import sysconfig
import traceback
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from rain.client.explaining.sources import cell_of

DEPTH = 6
_ENTRIES = 2 * DEPTH
_OURS = str(Path(__file__).parent.parent) + "/"  # rain/client

LIBRARIES = ("<frozen ", *{f"{folder}/" for folder in sysconfig.get_paths().values()})
"""Where other libraries are: frames of asyncio or joblib say nothing about a user's program."""

Stack = tuple[CodeType | int, ...]
"""Code object and position of each frame in turn, the innermost first."""

_last: list[Stack] = [()]


def here(above: int = 0) -> Stack:
    """The innermost frames of the caller that are not the client library itself.

    A caller that knows how many frames above its own belong to the library saves the search.
    """
    frame = sys._getframe(1 + above)  # pyright: ignore[reportPrivateUsage] # inspect's own is 30 times slower
    while frame.f_code.co_filename.startswith(_OURS) and frame.f_back is not None:
        frame = frame.f_back
    return _stack_from(frame)


def outside_libraries() -> Stack:
    """The innermost frames of the caller, without the client library and the libraries (joblib,
    Dask) that have called it.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] # as above
    while frame.f_code.co_filename.startswith((_OURS, *LIBRARIES)) and frame.f_back is not None:
        frame = frame.f_back
    return _stack_from(frame)


def _stack_from(frame: FrameType) -> Stack:
    frames: list[CodeType | int] = [frame.f_code, frame.f_lasti]
    above_it = frame.f_back
    while above_it is not None and len(frames) < _ENTRIES:
        frames.append(above_it.f_code)
        frames.append(above_it.f_lasti)
        above_it = above_it.f_back
    stack = tuple(frames)
    if stack == _last[0]:
        return _last[0]
    _last[0] = stack
    return stack


def as_text(stack: Stack) -> str:
    """The stack as tracebacks show it, the outermost frame first, and only the user's own code."""
    entries: list[str] = []
    frames = [
        (code, position)
        for code, position in zip(stack[::2], stack[1::2], strict=True)
        if isinstance(code, CodeType) and isinstance(position, int)
    ]
    own = [frame for frame in frames if not frame[0].co_filename.startswith(LIBRARIES)]
    for code, position in own or frames:
        line = _line(code, position)
        frame = traceback.FrameSummary(code.co_filename, line, code.co_name)
        (text,) = traceback.StackSummary.from_list([frame]).format()
        cell = cell_of(code.co_filename)
        if not cell:
            entries.append(text)
            continue
        _, _, source = text.partition("\n")
        entries.append(f"  {cell}, line {line}, in {code.co_name}\n{source}")
        if code.co_name == "<module>":
            break  # the caller of the cell is not the user
    return "".join(reversed(entries)).rstrip("\n")


def _line(code: CodeType, position: int) -> int:
    # Instructions are two bytes long.
    for start, *_ in islice(code.co_positions(), position // 2, None):
        return start or code.co_firstlineno
    return code.co_firstlineno
