"""The id of a task or a data object as users see it."""

from rain.base.ids import ID

__all__ = ["ID"]
