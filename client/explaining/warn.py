"""Warnings that name the line of the user's program."""

import sys
import threading
import warnings
from pathlib import Path
from types import FrameType

import rain
from rain.client.explaining.stack import LIBRARIES
from rain.common.errors import RainWarning

_NOT_OF_USERS = (str(Path(rain.__file__).parent) + "/", *LIBRARIES)


def warn_user(text: str) -> None:
    """Warns of a mistake at the line of the user's program, even if Dask is in between."""
    _warn_at(sys._getframe(1), text)  # pyright: ignore[reportPrivateUsage] # as `warnings` itself does


def warn_main_thread(text: str) -> None:
    """Warns, in another thread, at the line where the program is now."""
    main = threading.main_thread().ident
    frame = None if main is None else sys._current_frames().get(main)  # pyright: ignore[reportPrivateUsage] # there is no other way
    if frame is not None:
        _warn_at(frame, text)


def _warn_at(frame: FrameType, text: str) -> None:
    while frame.f_code.co_filename.startswith(_NOT_OF_USERS) and frame.f_back is not None:
        frame = frame.f_back
    space = frame.f_globals
    registry = space.setdefault("__warningregistry__", {})
    name = space.get("__name__") or "<unknown>"
    warnings.warn_explicit(
        text, RainWarning, frame.f_code.co_filename, frame.f_lineno, name, registry
    )
