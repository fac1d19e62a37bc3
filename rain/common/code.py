"""Code that travels: it is for the release of Python that has made it, and for no other.

Functions that a reader cannot import are pickled with their code. Another release of Python takes
such code and does something else with it, up to a crash. So the pickle says for which one it is.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

HERE = "{}.{}".format(*sys.version_info)
"""The release of this Python, as 3.11: within it code stays the same."""


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
