"""Why an object was not read: what a reader does next depends on which of these it was."""

from rain.base.errors import RainError


class UnreachableError(RainError):
    """Nobody answers at an address, or the connection to it broke."""


class NotHereError(RainError):
    """The holder does not have the object (any more); the server knows where it is."""


class StoppedError(RainError):
    """Whoever wanted it has given it up."""
