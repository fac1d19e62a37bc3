"""Errors, by whose fault they are.

`ProtocolError` is a peer's fault and closes that peer. `InvariantError` is ours and stops the
server loudly. `RefusedError` answers one request of a user with one clear line. `StartError` ends a
program before it began: one line and exit status 1. What goes wrong inside a user's task is not an
exception here but a value, `rain.base.wire.TaskFailure`, that travels to the client.
"""

from rain.base.failures import SessionFailure


class RainError(Exception):
    """Any error that Rain names itself."""


class ProtocolError(RainError):
    """A peer said something that the protocol forbids; that peer is closed."""


class InvariantError(RainError):
    """The state contradicts itself or a forbidden move was tried; this is a bug of ours."""


class RefusedError(RainError):
    """A request cannot be granted as it stands; nothing of it was applied."""


class PlanError(RainError):
    """A scheduler planned what the rules of planning forbid; nothing of that step was applied."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule  # its name, in a word or two


class StartError(RainError):
    """A program cannot start (or go on) in this environment: says what, where and what to do."""


class SessionFailedError(RainError):
    """The session of a request has failed; the value says why, and which task is to blame."""

    def __init__(self, failure: SessionFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ConnectionLostError(RainError):
    """The server that was connected is not there any more, or the connection was closed."""
