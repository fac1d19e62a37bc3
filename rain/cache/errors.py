"""The errors of a cache. They fail no task: the task runs without the cache, and its info has the
reason.
"""

from rain.base.errors import RainError


class CacheError(RainError):
    """A cache cannot be used; one line for people."""


class DamagedEntryError(CacheError):
    """An entry is not what was stored."""
