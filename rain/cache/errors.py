"""What can be wrong with a cache. No task fails by it: the task runs, and is told why."""

from rain.base.errors import RainError


class CacheError(RainError):
    """A cache cannot be used; one line for people."""


class DamagedEntryError(CacheError):
    """An entry is not what was stored."""
