"""Two tasks for files outside of the store: `Fetch` brings a file into it, `Save` writes data out
of it.

Both are Python tasks. So packages for object stores are loaded in executors only, and a user's
credentials travel in the arguments of a call, which no page or log shows.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from rain.client.active import get_active_session
from rain.client.data import DataObject, stand_ins, to_dataobj
from rain.client.output import Output, OutputBase, to_output
from rain.client.remote import remote
from rain.client.task import Task
from rain.common.data_instance import DataInstance
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.files.file import File
from rain.files.finding import open_files
from rain.files.places import checked, name_of
from rain.files.publishing import create_file, save_path

if TYPE_CHECKING:
    from rain.client.session import Session

_FETCHED = "fetched"
_UNPACKED = "unpacked"

_brought: "WeakKeyDictionary[Session, WeakValueDictionary[File, Task]]" = WeakKeyDictionary()
"""The tasks that bring files, so that programs with the same file share one."""


def Fetch(  # noqa: N802 # it stands beside the classes of `rain.client.tasks`
    file: "File | str | PathLike[str]",
    output: "str | Output | None" = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    name: str | None = None,
    session: "Session | None" = None,
) -> Task:
    """A file outside of the store as a data object: one of `Client.open_files`, a URL, or a path.

    A task brings it to its governor, where the store keeps it for all tasks that read it. A `File`
    among the words or inputs of a program does the same by itself.

    >>> from pathlib import Path
    >>> _ = Path("rain.txt").write_text("rain")
    >>> session.compute(tasks.Fetch("rain.txt")).get_str()
    'rain'
    """
    found = file if isinstance(file, File) else _only_file(file, storage_options)
    made: OutputBase = Output(found.name) if output is None else to_output(output)
    call: Any = {"name": name or f"fetch {found.name}", "output": made}
    return _bring(found, **call, session=get_active_session() if session is None else session)


def Save(  # noqa: N802 # as above
    input: Any,  # noqa: A002 # as its neighbours call it
    url: "str | PathLike[str]",
    *,
    overwrite: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    name: str | None = None,
    session: "Session | None" = None,
) -> Task:
    """Publishes a blob or a directory at a URL, or at a path of the machine where the task runs.

    The file appears when it is complete, and not before. The output is a pickle of its handle, or
    of the handles of all files of a directory.

    >>> (saved,) = session.compute(tasks.Save(blob("rain"), "saved.txt")).load()
    >>> saved.read_text()
    'rain'
    """
    place = checked(url)
    call: Any = {"name": name or f"save {name_of(place)}"}
    if session is not None:
        call["session"] = session
    return _publish(to_dataobj(input), place, overwrite, dict(storage_options or {}), **call)


def fetched(file: File) -> DataObject:
    """The object of a file in the active session; made once for all tasks that are not sent yet."""
    session = get_active_session()
    brought = _brought.setdefault(session, WeakValueDictionary())
    known = brought.get(file)
    if known is None or (known.submission and not known.output.kept):
        known = brought[file] = Fetch(file, session=session)
    return known.output


stand_ins[File] = fetched


def _only_file(place: str | PathLike[str], storage_options: Mapping[str, Any] | None) -> File:
    files = open_files(place, storage_options=storage_options)
    if len(files) != 1:
        raise RainException(
            f"Fetch: {len(files)} files match {place}; make a task for each of"
            " client.open_files(...)"
        )
    return files[0]


@remote()
def _bring(ctx: Any, file: File) -> DataInstance:
    file.download(_FETCHED)
    staged: DataInstance = ctx.stage_file(_FETCHED)
    return staged


@remote(auto_encode="pickle")
def _publish(
    ctx: Any, data: DataInstance, url: str, overwrite: bool, storage_options: Mapping[str, Any]
) -> list[File]:
    source = data.path
    if source is None and data.data_type is DataType.DIRECTORY:
        source = Path(_UNPACKED)
        data.write(source)
    if source is not None:
        return save_path(source, url, overwrite=overwrite, storage_options=storage_options)
    with create_file(url, overwrite=overwrite, storage_options=storage_options) as stream:
        stream.write(data.get_view())
    return open_files(url, storage_options=storage_options)
