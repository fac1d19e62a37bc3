"""Receives from a socket directly into a `bytes` object.

A program that fetches data wants `bytes`. Reading into other memory would need another copy, which
takes longer than the socket: a new page of 4 KiB costs more than its content. So the bytes object
is allocated first, uninitialised, as Cap'n Proto's and Python's own readers do in C. It uses huge
pages where the system has them, and a second thread populates the pages ahead of the socket,
because the kernel must clear each page before it may be written.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Final, Self

from rain.base.shortage import is_shortage
from rain.stream.sockets import BrokenError, Incoming, Note, receive_into

AHEAD_FROM = 32 * 1024 * 1024
"""From this length on, bytes are a separate mapping and worth a second thread."""

_STEP = 16 * 1024 * 1024
"""Bytes that are populated at once; the thread can be stopped between two steps."""

_HUGE_PAGES: Final = getattr(mmap, "MADV_HUGEPAGE", 14)
_POPULATE_WRITE: Final = 23  # since Linux 5.14
_WRITABLE: Final = 0x200  # PyBUF_WRITE

# The C API for bytes that the caller fills.
_make_blank = ctypes.pythonapi.PyBytes_FromStringAndSize
_make_blank.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t]
_make_blank.restype = ctypes.py_object
_address_of = ctypes.pythonapi.PyBytes_AsString
_address_of.argtypes = [ctypes.py_object]
_address_of.restype = ctypes.c_void_p
_view_of = ctypes.pythonapi.PyMemoryView_FromMemory
_view_of.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_view_of.restype = ctypes.py_object
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def receive_bytes(connected: Incoming, length: int) -> bytes:
    """Receives `length` bytes; raises `BrokenError` if the stream ends before."""
    data = blank_bytes(length)
    fill(connected, data)
    return data


def blank_bytes(length: int) -> bytes:
    """Bytes for `fill`; until then nobody may look at them."""
    blank: bytes = _make_blank(None, length)
    return blank


def fill(connected: Incoming, data: bytes, start: int = 0, note: Note | None = None) -> None:
    """Receives these blank bytes, or the rest from `start` on.

    Raises `BrokenError` if the stream ends before.
    """
    length = len(data)
    if start == length:
        return  # empty bytes are shared by all, and must not be filled
    address: int = _address_of(data)
    view: memoryview = _view_of(address, length, _WRITABLE)
    with view, _Ahead(data, address):
        if receive_into(connected, view, start, note) < length:
            raise BrokenError("the stream was cut off")


class _Ahead:
    """Populates the pages of these bytes ahead of the writer.

    This is only advice: if the system ignores it, or has no thread for it, pages are created when
    they are written.
    """

    def __init__(self, data: bytes, address: int) -> None:
        self._data = data  # keeps the bytes alive while the thread runs, even after Ctrl-C
        page, length = mmap.PAGESIZE, len(data)
        self._first = -(-address // page) * page
        self._end = (address + length) // page * page
        self._stopped = False
        self._thread: threading.Thread | None = None
        if length >= AHEAD_FROM:
            _madvise(self._first, self._end - self._first, _HUGE_PAGES)
            self._thread = threading.Thread(target=self._run, name="rain-pages", daemon=True)

    def __enter__(self) -> Self:
        if self._thread is not None:
            try:
                self._thread.start()
            except RuntimeError as error:
                if not is_shortage(error):
                    raise
                self._thread = None
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        for start in range(self._first, self._end, _STEP):
            size = min(_STEP, self._end - start)
            if self._stopped or _madvise(start, size, _POPULATE_WRITE):
                return
