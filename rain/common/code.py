"""Marks pickled code with the release of Python that has made it, and refuses it in any other.

Functions that a reader cannot import are pickled with their code. Another release of Python would
load such code and misinterpret it, up to a crash. So the pickle names the release.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

HERE = "{}.{}".format(*sys.version_info)
"""The release of this Python, such as 3.11. The format of code is the same within a release."""


class OtherPythonError(TypeError):
    """A function comes from another release of Python."""


def made_by(python: str, *arguments: Any) -> CodeType:
    """The code that this release of Python has made."""
    if python != HERE:
        raise OtherPythonError(
            f"{arguments[11]} in {arguments[10]} was pickled with its code by Python {python}, and"
            f" Python {HERE} cannot run that: start governors with the Python of the program, or"
            " put the function into a module that both can import"
        )
    return CodeType(*arguments)
