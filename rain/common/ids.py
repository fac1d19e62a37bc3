"""The id of a task or a data object in the form for users."""

from rain.base.ids import ID

__all__ = ["ID"]
