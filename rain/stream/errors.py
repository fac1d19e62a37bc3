"""The errors of reading an object; the reader reacts differently to each."""

from rain.base.errors import RainError


class UnreachableError(RainError):
    """No program answers at an address, or the connection to it broke."""


class NoWayError(UnreachableError):
    """No connection to an address could be made, or it is known that none can be made."""


class NotHereError(RainError):
    """The holder does not have the object (any more); the server knows where it is."""


class StoppedError(RainError):
    """The transfer was stopped."""
