"""Inputs of tasks, as users describe them."""

from itertools import count
from typing import Any, ClassVar

from rain.client.data import DataObject, to_dataobj
from rain.common.content_type import check_content_type
from rain.common.data_type import DataType
from rain.common.errors import RainException

_numbers = count(1)


class InputBase:
    """One input: its label, its path in the task's folder, and how a function gets it.

    With `load` a function gets the value instead of a data instance. With `write` a program gets a
    copy that it may change.

    >>> Input("text", load=True)
    Input('text')
    """

    data_type: ClassVar[DataType] = DataType.BLOB

    def __init__(
        self,
        label: str | None = None,
        path: str | None = None,
        dataobj: Any = None,
        load: bool | None = None,
        content_type: str | None = None,
        write: bool = False,
    ) -> None:
        check_content_type(content_type)
        self.label = label
        if path is None:
            path = f"input-{next(_numbers)}" if label is None else label
        self.path = path
        self.load = load
        self.content_type = content_type
        self.write = write
        self.dataobj: DataObject | None = None if dataobj is None else self._accepted(dataobj)

    def _accepted(self, value: Any) -> DataObject:
        obj = to_dataobj(value)
        if obj.data_type is not self.data_type:
            raise RainException(
                f"{type(self).__name__} stands for a {self.data_type.name.lower()}, not for {obj!r}"
            )
        return obj

    def bound(self, label: str, dataobj: Any) -> "InputBase":
        """A copy of this input, filled with a data object."""
        return type(self)(label, self.path, dataobj, self.load, self.content_type, self.write)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    def __str__(self) -> str:
        # Commands recognise it when it was formatted into a text (see commands.py).
        return f"<{type(self).__name__} {self.label!r}>"


class Input(InputBase):
    """A blob as the input of a task.

    >>> count = Program(["wc", "-c", Input("text")], stdout=True)
    >>> session.compute(count(text=blob("rain"))).get_str().split()[0]
    '4'
    """


class InputDir(InputBase):
    """A directory as the input of a task.

    >>> names = Program(["ls", InputDir("folder")], stdout=True)
    >>> session.compute(names(folder=directory({"a": "1", "b": "2"}))).get_str()
    'a\\nb\\n'
    """

    data_type = DataType.DIRECTORY
