"""Does the work on files at once that a real governor does in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import outcome

from rain.rpc.background import Background

T = TypeVar("T")


class AtOnce(Background):
    """Has no threads and no loop."""

    def __init__(self) -> None:
        """Needs nothing of trio."""

    def in_thread(
        self, function: Callable[[], T], done: Callable[[outcome.Outcome[T]], object]
    ) -> None:
        done(outcome.capture(function))
