"""The tokens of queued calls, in a pipe to a Python executor (see rain/base/executor_protocol.py).

The executor takes a token for each call that it starts. So a token that is taken back here is a
call that has not been started, and never will be.
"""

from __future__ import annotations

import os

from rain.base import executor_protocol as protocol

_READ = 1 << 16  # the capacity of a pipe


class Tokens:
    """Both ends of the pipe. The tokens of each epoch differ from those of all others."""

    def __init__(self, give_to: int, take_from: int) -> None:
        self._give_to = give_to
        self._take_from = take_from
        self.epoch = 0
        self._token = b""
        self._begin_epoch()

    def give(self, calls: int) -> None:
        """Lets the executor start this number of calls of the present epoch."""
        os.write(self._give_to, self._token * calls)

    def take_back(self) -> int:
        """Takes the tokens that the executor has not taken, and begins the next epoch: how many."""
        taken = self.take()
        self._begin_epoch()
        return taken

    def take(self) -> int:
        """Takes the tokens that are left; how many these are."""
        taken = 0
        while True:
            try:
                tokens = os.read(self._take_from, _READ)
            except BlockingIOError:
                return taken // protocol.TOKEN
            if not tokens:
                return taken // protocol.TOKEN
            taken += len(tokens)

    def close(self) -> None:
        for descriptor in (self._give_to, self._take_from):
            os.close(descriptor)

    def _begin_epoch(self) -> None:
        self.epoch += 1
        self._token = self.epoch.to_bytes(protocol.TOKEN, "little")
