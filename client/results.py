"""Stores small results that came with the answer of a wait, until they are fetched."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from rain.base.ids import ObjectId
from rain.base.wire.answers import Delivery, Fetched
from rain.client.data import DataObject, Seen, info_of, spec_of
from rain.client.reports import object_info
from rain.client.rpc.common import DataObjectState
from rain.client.shapes import ObjectShape
from rain.common.attributes import ObjectInfo, ObjectSpec
from rain.common.data_instance import DataInstance
from rain.common.data_type import DataType
from rain.common.errors import RainException

AT_MOST = 100_000
"""Early ids that are remembered; the oldest are forgotten first."""

CAPACITY = 64 * 1024 * 1024
"""At most this many bytes are held; what comes beyond is fetched when it is asked for."""


_FINISHED = DataObjectState.finished
_DATA_TYPES = {data_type.value: data_type for data_type in DataType}


Result: TypeAlias = tuple[bytes, str]
"""The data of a finished object, and its content type."""


class Early:
    """Ids whose handles were collected before the server has reported them as done.

    The server may still report them. Without this set the client would keep these reports, which
    nobody asks for, until the session ends. The set is bounded. It is changed by finalizers, so
    nothing here takes a lock.
    """

    def __init__(self, at_most: int = AT_MOST) -> None:
        self._at_most = at_most
        self._ids: set[int] = set()
        # The latest ids in their order, including those that were taken in the meantime. (Removing
        # the oldest entry of a dict gets slower with each removed entry.)
        self._order: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._ids)

    def note(self, packed_id: int) -> None:
        """The last handle was collected."""
        self._ids.add(packed_id)
        self._order.append(packed_id)
        if len(self._order) > self._at_most:
            self._ids.discard(self._order.popleft())

    def take(self, packed_id: int) -> bool:
        """The server has reported this id: removes it, and returns whether it was there."""
        if packed_id not in self._ids:
            return False
        self._ids.discard(packed_id)
        return True

    def clear(self) -> None:
        self._ids.clear()
        self._order.clear()


class ResultStore:
    """Results by the packed id of their object."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._results: dict[int, Result] = {}
        self._size = 0
        self._early = Early()

    def __len__(self) -> int:
        return len(self._results)

    def take_in(self, delivery: Delivery) -> None:
        """Stores what was delivered whole."""
        sizes, types = delivery.sizes, delivery.content_types
        for place, packed_id in enumerate(delivery.ids):
            size, data = sizes[place], delivery.data[place]
            if self._early and self._early.take(packed_id):
                continue
            if len(data) != size or packed_id in self._results:
                continue
            if self._size + size > self._capacity:
                return
            self._results[packed_id] = data, types[place]
            self._size += size

    def get(self, packed_id: int) -> Result | None:
        return self._results.get(packed_id)

    def delivered(self, obj: DataObject) -> DataInstance | None:
        """The data of an object, if it was delivered."""
        result = self._results.get(obj.packed_id)
        return None if result is None else _instance(obj, *result)

    def all_delivered(self, objects: Sequence[DataObject]) -> list[DataInstance] | None:
        """The data of several objects, if all of it was delivered."""
        made: list[DataInstance] = []
        for obj in objects:
            result = self._results.get(obj.packed_id)
            if result is None:
                return None
            made.append(_instance(obj, *result))
        return made

    def instance(self, obj: DataObject, fetched: Fetched | None) -> DataInstance:
        """The data of a finished object, as it was fetched or else as it was delivered."""
        if fetched is None:
            result = self._results.get(obj.packed_id)
            if result is None:
                raise RainException(f"The server gave no data for {obj!r}")
            return _instance(obj, *result)
        if fetched.data is None:
            raise RainException(f"The server gave no data for {obj!r}")
        obj.known_info = object_info(fetched.report)
        return _instance(obj, fetched.data)

    def drop(self, packed_id: int) -> None:
        """Forgets a result. Called by finalizers: takes no lock."""
        result = self._results.pop(packed_id, None)
        if result is not None:
            self._size -= len(result[0])
        else:
            self._early.note(packed_id)

    def clear(self) -> None:
        self._results.clear()
        self._early.clear()
        self._size = 0


# Seen's own way to make one calls a function of Python.
_seen: Callable[[tuple[int, str]], Seen] = partial(tuple[int, str].__new__, Seen)


def _instance(
    obj: DataObject, data: bytes | memoryview, content_type: str | None = None
) -> DataInstance:
    """The data of a finished object, with the content type that it was delivered with, if it was.

    Does not hold the handle: when that goes, the server may forget the object.
    """
    obj.known_state = _FINISHED
    shape, spec, info = obj.wire_shape, obj.given_spec, obj.known_info
    if info is None and content_type is not None:
        info = obj.known_info = _seen((len(data), content_type))
    declared = shape.content_type if spec is None else spec.content_type
    found = None if info is None else info.content_type
    return DataInstance(
        data=data,
        data_type=_DATA_TYPES[shape.data_type],
        content_type=found or declared,
        describe=partial(_described, obj.packed_id, shape, spec, info),
    )


def _described(
    packed_id: ObjectId,
    shape: ObjectShape,
    spec: ObjectSpec | None,
    info: ObjectInfo | Seen | None,
) -> tuple[ObjectSpec, ObjectInfo | None]:
    if spec is None:
        spec = spec_of(packed_id, shape)
    return spec, info_of(info) if isinstance(info, Seen) else info
