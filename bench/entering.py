"""Notes which lines of Rain run in a process, or which functions hold a value, for a while.

Every process of a cluster has its tracer from its start (`traced_programs`), and notes lines only
while the first byte of a shared file says so. Each process writes what is new to a file of its own
at once, so that nothing is left to collect when the window closes.
"""

import mmap
import os
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from _typeshed import TraceFunction

VARIABLE = "RAIN_BENCH_ENTERING"
"""The environment variable with the folder of the window and of the notes."""

HOLDING = "RAIN_BENCH_HOLDING"
"""The variable with a text: only functions count that have it, or bytes with it, in a variable."""

_BYTES = (bytes, bytearray, memoryview)
_SEQUENCES = (list, tuple, deque)

_DEPTH = 2
"""How deep it is looked for in lists, tuples and dictionaries."""

CHECKOUT = Path(__file__).resolve().parent.parent

_WINDOW = "window"
_FOLDERS = tuple(f"{CHECKOUT / name}{os.sep}" for name in ("rain", "client", "governor"))
_SITE = "from bench.entering import trace_if_asked\ntrace_if_asked()\n"

Lines: TypeAlias = dict[str, set[int]]
"""The lines that ran, by the path of their file in the checkout."""


def trace_if_asked() -> None:
    """Traces this process and its threads to come, if it was started for that."""
    folder = os.environ.get(VARIABLE)
    if folder:
        tracer = _tracer(Path(folder), os.environ.get(HOLDING, ""))
        threading.settrace(tracer)
        sys.settrace(tracer)


def _tracer(folder: Path, held: str) -> "TraceFunction":
    with (folder / _WINDOW).open("r+b") as file:
        window = mmap.mmap(file.fileno(), 1)
    notes: dict[int, int] = {}  # the file of each process: a daemon may be a fork of another
    noted: set[tuple[int, int, str, int]] = set()
    ours: dict[str, str] = {}  # the names of files of Rain as they are noted; "" for other files

    def entered(frame: FrameType, event: str, argument: object) -> "TraceFunction | None":
        path = frame.f_code.co_filename
        name = ours.get(path)
        if name is None:
            real = os.path.realpath(path)  # client/ and governor/ are linked into rain/
            inside = real.startswith(_FOLDERS)
            name = ours[path] = os.path.relpath(real, CHECKOUT) if inside else ""
        if not name:
            return None
        if window[0] and held:
            known = [*frame.f_locals.values(), argument if event == "return" else None]
            if event in {"call", "return"} and holds(known, held, _DEPTH + 1):
                note(name, frame.f_code.co_firstlineno)
        elif window[0] and event in {"call", "line"}:
            note(name, frame.f_lineno)
        return entered

    def note(name: str, line: int) -> None:
        pid = os.getpid()
        if (pid, window[0], name, line) not in noted:
            noted.add((pid, window[0], name, line))
            if pid not in notes:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                notes[pid] = os.open(folder / str(pid), flags)
            os.write(notes[pid], f"{window[0]} {line} {name}\n".encode())

    return entered


def holds(value: object, text: str, depth: int) -> bool:
    """Whether this is the text, or bytes with it, or has them inside."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, _BYTES):
        return text.encode() in bytes(cast("bytes", value))
    if isinstance(value, dict):
        return holds(list(cast("dict[object, object]", value).values()), text, depth)
    if isinstance(value, _SEQUENCES) and depth:
        # A copy, since other threads may change it.
        items = tuple(cast("Sequence[object]", value))
        return any(holds(item, text, depth - 1) for item in items)
    return False


class Windows:
    """The windows of a measurement, numbered from 1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        with (folder / _WINDOW).open("r+b") as file:
            self._current = mmap.mmap(file.fileno(), 1)

    @contextmanager
    def open(self) -> Generator[None]:
        self._count += 1
        self._current[0] = self._count
        try:
            yield
        finally:
            self._current[0] = 0

    def lines(self, pid: int) -> list[Lines]:
        """The lines that ran in a process, for each window so far."""
        found: list[Lines] = [defaultdict(set) for _ in range(self._count)]
        notes = self._folder / str(pid)
        for text in notes.read_text().splitlines() if notes.exists() else ():
            window, line, name = text.split(" ", 2)
            found[int(window) - 1][name].add(int(line))
        return found


@contextmanager
def traced_programs(held: str = "") -> Generator[Windows]:
    """Programs of Python that are started here, this one included, note the lines that they run.

    With a text they note the first lines of the functions that hold it.
    """
    with TemporaryDirectory(prefix="rain-bench-") as name:
        folder = Path(name)
        (folder / _WINDOW).write_bytes(bytes(1))
        # Python imports this module when it starts.
        (folder / "sitecustomize.py").write_text(_SITE)
        before = dict(os.environ)
        known = before.get("PYTHONPATH")
        os.environ[VARIABLE] = name
        os.environ[HOLDING] = held
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [name, str(CHECKOUT), *([known] if known else [])]
        )
        trace_if_asked()
        try:
            yield Windows(folder)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            os.environ.clear()
            os.environ.update(before)
