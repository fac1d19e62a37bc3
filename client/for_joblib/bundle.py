"""Pickles joblib's batches. Large arrays in them are taken out and uploaded separately.

An array is uploaded when it is met for the first time. Views are identified by their memory, since
data frames and others make new views of the same memory each time they are pickled. Arrays that map
a file for writing are not uploaded, because what the calls write would be lost.
"""

import io
import os.path
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

import numpy as np

from rain.client.future import Future
from rain.client.sent.arguments import LARGEST_PICKLE
from rain.common.bundles import value_at
from rain.common.by_value import Pickler
from rain.common.mapped_files import WRITABLE, mapped
from rain.common.pickles import PICKLE_PROTOCOL

Array: TypeAlias = "np.ndarray[Any, Any]"
Put: TypeAlias = Callable[[Array], Future[Any]]
Reduced: TypeAlias = str | tuple[Any, ...]  # what pickle writes for an object

_REDUCERS: Any = Pickler.dispatch_table
_KINDS = frozenset({np.ndarray, np.memmap})  # others have attributes of their own


class UploadedArrays:
    """The arrays that were uploaded, each for as long as its memory lives here."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Array], dict[Hashable, Future[Any]]]] = {}

    def future(self, array: Array, put: Put) -> Future[Any]:
        """The array on the cluster, uploaded now if it is new."""
        owner = _owner(array)
        known = self._known.get(id(owner))
        if known is None:
            known = self._known[id(owner)] = self._reference(owner), {}
        views = known[1]
        shown = (
            array.__array_interface__["data"][0],
            array.shape,
            array.strides,
            array.dtype,
        )
        future = views.get(shown)
        if future is None:
            future = views[shown] = put(array)
        return future

    def clear(self) -> None:
        """Forgets them: the arrays may be changed from now on."""
        self._known.clear()

    def _reference(self, owner: Array) -> "weakref.ref[Array]":
        number, known = id(owner), self._known

        def forget(_: object) -> None:
            known.pop(number, None)

        return weakref.ref(owner, forget)


def _owner(array: Array) -> Array:
    """The array whose memory this one shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _in_file(array: Array) -> Reduced | None:
    """The array by its file, if what is written to it is written there."""
    owner = _owner(array)
    if not isinstance(owner, np.memmap) or owner.mode not in WRITABLE:
        return None
    path: str | None = owner.filename
    if path is None or not os.path.exists(path):  # noqa: PTH110 # numpy has made it absolute
        return None
    place = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    layout = array.dtype, array.shape, array.strides
    return mapped, (type(array), str(path), owner.offset, owner.nbytes, place, layout)


class _Bundler(Pickler):
    def __init__(self, target: io.BytesIO, uploads: UploadedArrays, put: Put) -> None:
        # pickle asks these for objects of their types only, and a `persistent_id` for each number.
        self.dispatch_table = _REDUCERS.new_child(
            {Future: self._place, **dict.fromkeys(_KINDS, self._array)}
        )
        super().__init__(target, PICKLE_PROTOCOL)
        self.futures: list[Future[Any]] = []
        self._places: dict[int, int] = {}
        self._uploads = uploads
        self._put = put

    def _array(self, array: Array) -> Reduced:
        in_file = _in_file(array)
        if in_file is not None:
            return in_file
        if array.nbytes > LARGEST_PICKLE and not array.dtype.hasobject:
            return self._place(self._uploads.future(array, self._put))
        return array.__reduce_ex__(PICKLE_PROTOCOL)

    def _place(self, future: Future[Any]) -> Reduced:
        place = self._places.get(id(future))
        if place is None:
            place = self._places[id(future)] = len(self.futures)
            self.futures.append(future)
        return value_at, (place,)


def bundled(
    fn: Callable[[], Any], uploads: UploadedArrays, put: Put
) -> tuple[bytes, list[Future[Any]]]:
    """The pickle of a call, and the values that `rain.common.bundles` has to put into it.

    Futures of the client inside of it become their values.
    """
    target = io.BytesIO()
    bundler = _Bundler(target, uploads, put)
    bundler.dump(fn)  # type: ignore[no-untyped-call] # pyright: ignore[reportUnknownMemberType] # as above
    return target.getvalue(), bundler.futures
