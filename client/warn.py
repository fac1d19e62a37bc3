"""Warnings that name the line of the user's program, wherever they are noticed."""

import sys
import warnings
from pathlib import Path

from rain.client.stack import LIBRARIES
from rain.common.errors import RainWarning

_NOT_OF_USERS = (str(Path(__file__).parent) + "/", *LIBRARIES)


def warn_user(text: str) -> None:
    """Warns of what is surely a mistake, at the line of the program: Dask may be in between."""
    level = 1
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage] # as `warnings` itself does
    while frame.f_code.co_filename.startswith(_NOT_OF_USERS) and frame.f_back is not None:
        frame = frame.f_back
        level += 1
    warnings.warn(text, RainWarning, stacklevel=level)
