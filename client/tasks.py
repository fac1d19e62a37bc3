"""The built-in tasks, which run inside the governors.

>>> session.compute(tasks.Concat((blob("ra"), blob("in")))).get_str()
'rain'
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rain.client.data import to_dataobj
from rain.client.execute import Execute
from rain.client.file_tasks import Fetch, Save
from rain.client.guards import is_mapping, is_sequence
from rain.client.output import Output, OutputBase, OutputDir, to_output
from rain.client.task import Task
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.files.places import protocol_of

if TYPE_CHECKING:
    from rain.client.session import Session

__all__ = [
    "Concat",
    "Execute",
    "Fetch",
    "Load",
    "LoadDir",
    "MakeDirectory",
    "Save",
    "Sleep",
    "SliceDirectory",
    "Store",
]


class Concat(Task):
    """Joins blobs into one, in their order. Without inputs the result is empty.

    >>> session.compute(tasks.Concat((blob("ra"), blob("in")))).get_str()
    'rain'
    """

    TASK_TYPE = "buildin/concat"

    def __init__(
        self,
        inputs: Iterable[Any],
        *,
        name: str | None = None,
        session: "Session | None" = None,
    ) -> None:
        objects = [to_dataobj(value) for value in inputs]
        for obj in objects:
            obj.expect_blob()
        super().__init__(objects, 1, name=name, session=session)


class Sleep(Task):
    """Passes its input on after a number of seconds.

    >>> session.compute(tasks.Sleep(blob("rain"), 0.01)).get_str()
    'rain'
    """

    TASK_TYPE = "buildin/sleep"

    def __init__(
        self,
        input: Any,  # noqa: A002 # a name that programs use
        timeout: float,
        *,
        name: str | None = None,
        session: "Session | None" = None,
        cpus: int = 1,
    ) -> None:
        obj = to_dataobj(input)
        outputs = [_output_of(obj.data_type)(obj.label, content_type=obj.content_type)]
        super().__init__(
            (obj,), outputs, config=round(float(timeout), 3), name=name, session=session, cpus=cpus
        )


class Load(Task):
    """Loads a file that every governor can see under this path. A relative path starts at the
    folder of the client's program.

    >>> from pathlib import Path
    >>> _ = Path("text.txt").write_text("rain")
    >>> session.compute(tasks.Load("text.txt")).get_str()
    'rain'
    """

    TASK_TYPE = "buildin/open"

    def __init__(
        self,
        path: str | PurePath,
        output: str | Output | None = None,
        *,
        name: str | None = None,
        session: "Session | None" = None,
    ) -> None:
        made = _checked_output(output, Output)
        super().__init__((), (made,), config=_place(path), name=name, session=session)


class LoadDir(Task):
    """Loads a directory that every governor can see under this path. A relative path starts at the
    folder of the client's program.

    >>> from pathlib import Path
    >>> import os
    >>> os.mkdir("folder")
    >>> _ = Path("folder/text.txt").write_text("rain")
    >>> session.compute(tasks.SliceDirectory(tasks.LoadDir("folder"), "text.txt")).get_str()
    'rain'
    """

    TASK_TYPE = "buildin/open_dir"

    def __init__(
        self,
        path: str | PurePath,
        output: str | OutputDir | None = None,
        *,
        name: str | None = None,
        session: "Session | None" = None,
    ) -> None:
        made = _checked_output(output, OutputDir)
        super().__init__((), (made,), config=_place(path), name=name, session=session)


class Store(Task):
    """Writes a blob or a directory to a path on the governor that runs it.

    A relative path begins in the folder of the client.

    >>> from pathlib import Path
    >>> store = tasks.Store(blob("rain"), "stored.txt")
    >>> session.submit()
    >>> store.wait()
    >>> Path("stored.txt").read_text()
    'rain'
    """

    TASK_TYPE = "buildin/export"

    def __init__(
        self,
        input: Any,  # noqa: A002 # a name that programs use
        path: str | PurePath,
        *,
        name: str | None = None,
        session: "Session | None" = None,
    ) -> None:
        place = _place(path, writes=True)
        super().__init__((input,), 0, config=place, name=name, session=session)


class MakeDirectory(Task):
    """A directory of other data objects: pairs (or a mapping) of paths and objects.

    A directory under the path "" or "." is the base that the others are put into.

    >>> made = tasks.MakeDirectory({"a.txt": blob("rain")})
    >>> session.compute(tasks.SliceDirectory(made, "a.txt")).get_str()
    'rain'
    """

    TASK_TYPE = "buildin/make_directory"

    def __init__(
        self,
        data_objects: Mapping[str, Any] | Iterable[tuple[str, Any]],
        *,
        name: str | None = None,
        session: "Session | None" = None,
    ) -> None:
        pairs = _checked_pairs(data_objects)
        super().__init__(
            [obj for _, obj in pairs],
            (OutputDir("output"),),
            config={"paths": [path for path, _ in pairs]},
            name=name,
            session=session,
        )


class SliceDirectory(Task):
    """A file or, when the path ends in "/", a directory out of a directory.

    >>> folder = directory({"a.txt": "rain"})
    >>> session.compute(tasks.SliceDirectory(folder, "a.txt")).get_str()
    'rain'
    """

    TASK_TYPE = "buildin/slice_directory"

    def __init__(
        self,
        input: Any,  # noqa: A002 # a name that programs use
        path: str,
        output: str | OutputBase | None = None,
        *,
        name: str | None = None,
        session: "Session | None" = None,
    ) -> None:
        obj = to_dataobj(input)
        obj.expect_dir()
        path = str(path)
        made = _checked_output(output, OutputDir if path.endswith("/") else Output, path)
        super().__init__((obj,), (made,), config={"path": path}, name=name, session=session)


def _place(path: str | PurePath, *, writes: bool = False) -> dict[str, str]:
    """The place where a governor finds the file that has this name in the client's program."""
    if protocol_of(str(path)):
        raise RainException(f"{path} is a URL: use tasks.{'Save' if writes else 'Fetch'}")
    return {"path": os.path.abspath(path)}  # noqa: PTH100 # resolve() would follow links


def _output_of(data_type: DataType) -> type[OutputBase]:
    return OutputDir if data_type is DataType.DIRECTORY else Output


def _checked_output(
    output: str | OutputBase | None, kind: type[OutputBase], label: str | None = None
) -> OutputBase:
    """The described output, which must be of the right data type."""
    if output is None:
        return kind(label)
    made = kind(output) if isinstance(output, str) else to_output(output)
    if made.data_type is not kind.data_type:
        raise TypeError(f"{made!r} cannot be used here: {kind.__name__} is expected")
    return made if made.label is not None else made.merged(kind(label))


def _checked_pairs(data_objects: Any) -> list[tuple[str, Any]]:
    """Paths and data objects; TypeError when they do not come in pairs."""
    items: Iterable[Any] = data_objects.items() if is_mapping(data_objects) else data_objects
    pairs: list[tuple[str, Any]] = []
    for item in items:
        if not (is_sequence(item) and len(item) == 2 and isinstance(item[0], str)):
            raise TypeError(f"a pair of a path and a data object is expected, not {item!r}")
        pairs.append((item[0], to_dataobj(item[1])))
    return pairs
