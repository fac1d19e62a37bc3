"""Whether a data object is a blob or a directory."""

from rain.base.kinds import DataType

__all__ = ["DataType"]
