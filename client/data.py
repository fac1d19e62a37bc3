"""Data objects: handles of blobs and directories that tasks read and make."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from rain.base.ids import ObjectId, unpack
from rain.client.active import get_active_session
from rain.client.explaining.tracebacks import hides_frames
from rain.client.rpc.common import DataObjectState
from rain.client.shapes import ObjectShape, notes_as_json
from rain.client.unit import Unit
from rain.common.attributes import ObjectInfo, ObjectSpec
from rain.common.content_type import check_content_type, merge_content_types
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.common.ids import ID

if TYPE_CHECKING:
    from io import BufferedReader

    from rain.client.session import Session
    from rain.client.staging import Constant
    from rain.common.data_instance import DataInstance

_DIRECTORY = DataType.DIRECTORY.value


class Seen(NamedTuple):
    """The facts about an object that came with its result; an info is made of them on demand."""

    size: int
    content_type: str


class DataObject:
    """A blob or a directory of a session: data that the client gives, or that a task makes.

    The attributes that are declared here are read by the library; users know the properties.

    >>> data = blob("rain", label="text")
    >>> data.label, data.content_type
    ('text', 'text')
    """

    session: "Session"
    packed_id: ObjectId
    wire_shape: ObjectShape
    constant: "Constant | None"  # its content; b"" after the submit, None for an output
    kept: bool
    submission: int  # which submit of the session took it, 0 for none yet
    known_state: DataObjectState | None
    known_info: "ObjectInfo | Seen | None"
    given_spec: ObjectSpec | None  # made when it is read
    unit: Unit | None = None  # the unit that it is inside of; not a slot, as for tasks

    __slots__ = (
        "__dict__",
        "__weakref__",
        "constant",
        "given_spec",
        "kept",
        "known_info",
        "known_state",
        "packed_id",
        "session",
        "submission",
        "wire_shape",
    )

    def __init__(
        self,
        label: str | None = None,
        session: "Session | None" = None,
        data_type: DataType = DataType.BLOB,
        content_type: str | None = None,
    ) -> None:
        self.kept = False
        check_content_type(content_type)
        if session is None:
            session = get_active_session()
        filled(self, session, ObjectShape(label, content_type, DataType(data_type).value), None)
        session.add_object(self)

    def __del__(self) -> None:
        # Nothing may block here, or take a lock: this runs wherever the collector happens to.
        try:
            if self.submission and self.unit is None:  # what is inside of one is unknown there
                made = self.constant is None
                self.session.drop(self.packed_id, kept=self.kept or not made, made=made)
        except AttributeError:  # a handle that was never finished
            pass

    @property
    def id(self) -> ID:
        """The session and the number of the object.

        >>> data = blob("rain")
        >>> data.id.session_id == session.session_id
        True
        """
        return unpack(self.packed_id)

    @property
    def _session(self) -> "Session":
        """The name of this attribute in Rain 0.4."""
        return self.session

    @property
    def state(self) -> DataObjectState | None:
        """The last known state, None before `submit()`; refreshed by waits, fetches, `update()`.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> session.compute(text).get_str()
        'rain'
        >>> text.state.name
        'finished'
        """
        state = self.known_state
        if self.submission == 0 or state is DataObjectState.removed:
            return state
        if self.submission <= self.session.finished_submissions:
            return finished_state(self)
        return state or DataObjectState.unfinished

    @property
    def spec(self) -> ObjectSpec:
        """The specification of the object; it can be changed until `submit()`.

        >>> data = blob("rain")
        >>> data.spec.user = {"station": 7}
        >>> data.spec.label
        'const'
        """
        if self.given_spec is None:
            self.given_spec = spec_of(self.packed_id, self.wire_shape)
        return self.given_spec

    @property
    def info(self) -> ObjectInfo | None:
        """Size and content type of the finished object. None until `update()` or a fetch.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> session.compute(text).get_str()
        'rain'
        >>> text.info.size
        4
        """
        info = self.known_info
        if isinstance(info, Seen):
            info = self.known_info = info_of(info)
        return info

    @property
    def label(self) -> str | None:
        """The name of the object among the outputs of its task, and of files made from it.

        >>> blob("rain", label="text").label
        'text'
        """
        return self.wire_shape.label if self.given_spec is None else self.given_spec.label

    @property
    def data_type(self) -> DataType:
        """The type of the object: a blob or a directory.

        >>> blob("rain").data_type.name, directory({"a": "rain"}).data_type.name
        ('BLOB', 'DIRECTORY')
        """
        return DataType(self.wire_shape.data_type)

    @property
    def content_type(self) -> str | None:
        """The declared type, narrowed by what was found when the data was made.

        >>> blob([1, 2], encode="json").content_type
        'json'
        """
        spec = self.given_spec
        declared = self.wire_shape.content_type if spec is None else spec.content_type
        info = self.known_info
        return declared if info is None else merge_content_types(declared, info.content_type)

    def keep(self) -> None:
        """Keeps the data until `unkeep()`, so that it can be fetched. Call it before `submit()`.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> text.fetch().get_str()
        'rain'
        """
        if self.submission:
            if self.unit is not None:
                raise self.unit.disappeared(self)
            raise RainException(
                f"{self!r} is already submitted; keep() must be called before submit()"
            )
        self.kept = True

    def unkeep(self) -> None:
        """Releases the data: it is deleted when no task needs it.

        >>> data = blob("rain")
        >>> data.keep()
        >>> data.unkeep()
        >>> data.is_kept()
        False
        """
        self.session.unkeep((self,))

    def is_kept(self) -> bool:
        """Whether the data stays until it is unkept.

        >>> blob("rain").is_kept()
        False
        """
        return self.kept

    @hides_frames
    def wait(self, timeout: float | None = None) -> None:
        """Waits until the object is finished; raises `TimeoutException` after `timeout` seconds.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> session.submit()
        >>> text.wait(timeout=60)
        """
        self.session.wait((self,), timeout=timeout)

    @hides_frames
    def fetch(self) -> "DataInstance":
        """Waits until the object is finished and returns its data. The object must be kept.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> text.fetch().get_bytes()
        b'rain'
        """
        return self.session.fetch(self)

    @hides_frames
    def open(self, path: str = "") -> "BufferedReader":
        """Opens the data as a file for reading: only the bytes that you read are transferred.

        Of a directory `path` names the file. The object must be kept.

        >>> folder = directory({"sub/text": "rain"})
        >>> folder.keep()
        >>> session.submit()
        >>> with folder.open("sub/text") as stream:
        ...     stream.seek(2), stream.read()
        (2, b'in')
        """
        return self.session.open(self, path)

    @hides_frames
    def fetch_range(self, start: int = 0, stop: int | None = None, path: str = "") -> bytes:
        """The bytes from `start` to `stop`, or to the end: nothing else is transferred.

        Of a directory `path` names the file. The object must be kept.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> text.fetch_range(1, 3)
        b'ai'
        """
        return self.session.fetch_range(self, start, stop, path)

    @hides_frames
    def download(self, path: "Path | str") -> None:
        """Writes the data to a path. It need not fit into memory. A directory is unpacked there.

        >>> from pathlib import Path
        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> text.download("text.txt")
        >>> Path("text.txt").read_text()
        'rain'
        """
        self.session.download(self, path)

    @hides_frames
    def update(self) -> None:
        """Asks the server for the current state and info.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> text.wait()
        >>> text.update()
        >>> text.info.size
        4
        """
        self.session.update((self,))

    def expect_dir(self) -> None:
        """TypeError unless this is a directory."""
        if self.wire_shape.data_type != _DIRECTORY:
            raise TypeError(f"{self!r} is a blob, and a directory is expected")

    def expect_blob(self) -> None:
        """TypeError unless this is a blob."""
        if self.wire_shape.data_type == _DIRECTORY:
            raise TypeError(f"{self!r} is a directory, and a blob is expected")

    def settle(self) -> ObjectShape:
        """Makes the final shape, with the changes that the user has made in the spec."""
        spec = self.given_spec
        if spec is not None:
            check_content_type(spec.content_type)
            self.wire_shape = self.wire_shape._replace(
                label=spec.label,
                content_type=spec.content_type,
                user=notes_as_json(repr(self), spec.user),
            )
        return self.wire_shape

    def __reduce__(self) -> NoReturn:
        raise RainException(
            f"{self!r} cannot be pickled: data objects travel only inside the arguments of a call"
            " of a remote function"
        )

    def __repr__(self) -> str:
        kind = "directory" if self.wire_shape.data_type == _DIRECTORY else "blob"
        label = "" if self.label is None else f" {self.label!r}"
        return f"<DataObject {self.id}{label} {kind}>"


def finished_state(obj: DataObject) -> DataObjectState:
    """The state of an object of a finished task: REMOVED if it was inside of a unit."""
    return DataObjectState.finished if obj.unit is None else DataObjectState.removed


def spec_of(packed_id: ObjectId, shape: ObjectShape) -> ObjectSpec:
    """The shape as users see it."""
    user: dict[str, Any] = json.loads(shape.user) if shape.user else {}
    return ObjectSpec(unpack(packed_id), shape.label, shape.content_type, shape.data_type, user)


def info_of(seen: Seen) -> ObjectInfo:
    """The public form of these facts."""
    return ObjectInfo(size=seen.size, content_type=seen.content_type or None)


new_handle = DataObject.__new__


def filled(
    obj: DataObject, session: "Session", shape: ObjectShape, constant: "Constant | None" = None
) -> DataObject:
    """A new handle with all its attributes: for a constant, or for the output of a task."""
    obj.kept = False
    obj.session = session
    obj.packed_id = session.next_id()
    obj.wire_shape = shape
    obj.constant = constant
    obj.submission = 0
    obj.known_state = None
    obj.known_info = None
    obj.given_spec = None
    return obj


def output_object(session: "Session", shape: ObjectShape) -> DataObject:
    """The handle of an output that a new task will make."""
    return filled(new_handle(DataObject), session, shape)


stand_ins: dict[type, Callable[[Any], DataObject]] = {}
"""Types that can be used as data objects, and for each of them the function that makes the object.
"""


def stands_for_data(value: object) -> bool:
    """Whether `to_dataobj` accepts it. A task with more or less than one output is still refused
    there.
    """
    is_ours = isinstance(value, DataObject) or hasattr(value, "output_objects")
    return is_ours or type(value) in stand_ins


def to_dataobj(value: Any) -> DataObject:
    """The data object that a value stands for: itself, or the single output of a task."""
    if isinstance(value, DataObject):
        return value
    kind: type = type(value)
    made = stand_ins.get(kind)
    if made is not None:
        return made(value)
    outputs = getattr(value, "output_objects", None)
    if outputs is None:
        raise RainException(f"{type(value).__name__} is not a data object; {_instead_of(value)}")
    if len(outputs) == 0:
        raise RainException(f"{value!r} has no output, so it cannot be used as a data object")
    if len(outputs) > 1:
        raise RainException(
            f"{value!r} has {len(outputs)} outputs; name the one that is meant:"
            " task.outputs[index or label]"
        )
    output: DataObject = outputs[0]
    return output


def _instead_of(value: object) -> str:
    """Advice for a value that is no data object."""
    if isinstance(value, str | Path):
        return "tasks.Load() makes one of the file of this name, and blob() one of the text itself"
    return "wrap the value in blob() or pickled()"
