"""The errors of Rain, one class per responsible party.

`ProtocolError` is the fault of a peer and closes its connection. `InvariantError` is a bug in Rain
and stops the server loudly. `RefusedError` answers one request of a user with one clear line.
`StartError` ends a program at its start, with one line and exit status 1. A failure inside a
user's task is not an exception here but a value, `rain.base.wire.update.TaskFailure`, that is sent
to the client.
"""

from rain.base.failures import SessionFailure


class RainError(Exception):
    """Any error that Rain names itself."""


class ProtocolError(RainError):
    """A peer sent something that the protocol forbids; its connection is closed."""


class InvariantError(RainError):
    """The state is inconsistent or a forbidden move was tried; this is a bug in Rain."""


class RefusedError(RainError):
    """A request was refused; nothing of it was applied."""


class PlanError(RainError):
    """A scheduler broke a planning rule; nothing of that step was applied."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule  # the name of the rule, in a word or two


class StartError(RainError):
    """A program cannot start (or go on) in this environment: says what, where and what to do."""


class SessionFailedError(RainError):
    """The session of a request has failed; the value says why, and which task caused it."""

    def __init__(self, failure: SessionFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ConnectionLostError(RainError):
    """The server has gone, or the connection to it was closed."""


NO_WAIT_IN_HANDLER = (
    "a signal handler cannot wait here: it came while its own thread was sending to the server,"
    " which goes on when the handler returns; submit in the handler, and wait outside of it"
)
"""The text for a request that could never be answered, and is therefore refused."""
