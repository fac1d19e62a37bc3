"""Warnings that name the line of the user's program, wherever they are noticed."""

import sys
import warnings
from pathlib import Path

from rain.common.errors import RainWarning

_OURS = str(Path(__file__).parent) + "/"


def warn_user(text: str) -> None:
    """Warns of what is surely a mistake, at the line that has called the library."""
    level = 1
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage] # as `warnings` itself does
    while frame.f_code.co_filename.startswith(_OURS) and frame.f_back is not None:
        frame = frame.f_back
        level += 1
    warnings.warn(text, RainWarning, stacklevel=level)
