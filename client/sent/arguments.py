"""Pickles the arguments of remote functions; data objects inside of them become inputs of the task.

A data object, or a task with one output, may be anywhere inside an argument. It becomes an input of
the task, and in the pickle a call of `rain.executor.executor.unpickle_input_object` takes its
place, which puts the data there when the function runs. A future inside of an argument stays a
future: the task does not wait for it, but the server learns that it is inside.
"""

import io
import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, TypeAlias

from rain.client.data import DataObject, to_dataobj
from rain.client.future import Future
from rain.client.references import refer
from rain.client.sent.copies import Found, differs_as_copy
from rain.client.task import Task
from rain.common.by_value import Pickler
from rain.common.errors import RainWarning
from rain.common.pickles import PICKLE_PROTOCOL, Part, dump_parts, length_of
from rain.files.file import File

LARGEST_PICKLE = 256 * 1024
LONGEST_PICKLING = 1.0  # seconds of CPU time

_MODULE = "rain.executor.executor"
_FUNCTION = "unpickle_input_object"
_HANDLES = (DataObject, Task, Future)
_REPLACED = frozenset(_HANDLES)  # what a subclass of these is, is asked more slowly
_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_dumps = pickle.dumps


class _Reference:
    """Something that is pickled as a name and is never imported here: executors have it."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name

    def __call__(self, *args: object) -> NoReturn:
        raise TypeError(f"{self.name} exists only in executors")

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.owner, self.name)


class _ModuleReference:
    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (_MODULE,)


_UNPICKLE = _Reference(_ModuleReference(), _FUNCTION)
_OURS = frozenset({_Reference, _ModuleReference})


class InputCollector:
    """Gathers the inputs of one call while its arguments are pickled. Input 0 is the function."""

    __slots__ = ("copies", "files", "labels", "objects", "references")

    def __init__(self, function: tuple[DataObject]) -> None:
        self.objects: list[DataObject] = [*function]
        self.labels: list[str | None] = [None]
        self.references: list[Future[Any]] = []  # inside of arguments, and no inputs
        self.files: dict[File, None] = {}  # those that are near to some governors
        self.copies: list[Found] = []  # what is not the same as a copy, if it was noted

    def add(self, label: str, value: Any) -> int:
        """Adds a data object, and answers its index among the inputs."""
        self.objects.append(to_dataobj(value))
        self.labels.append(label)
        return len(self.objects) - 1

    def note(self, name: str, value: Any) -> None:
        """Notes a value in this argument that does something else as a copy."""
        if differs_as_copy(value):
            self.copies.append((name, value))

    def forget(self, objects: int, references: int) -> None:
        """Forgets the inputs that were found after these; they will be found again."""
        del self.objects[objects:], self.labels[objects:], self.references[references:]


Position = tuple[str, bool, str | None]
"""A parameter, and how it gets data objects: whether they are loaded, as which content type."""


def pickle_plain(
    values: Sequence[Any], positions: Sequence[Position], function: tuple[DataObject]
) -> tuple[list[bytes], InputCollector | None] | None:
    """The pickles of a call all of whose arguments are plain: small atoms, or what stands for data.

    Returns also the collector of its inputs, if there are any but the function. None when an
    argument is not plain.
    """
    pickles: list[bytes] = []
    collector: InputCollector | None = None
    for place, value in enumerate(values):
        kind = type(value)
        if kind in _ATOMS:
            data = _dumps(value, PICKLE_PROTOCOL)
            if len(data) > LARGEST_PICKLE:
                return None
        elif kind in _REPLACED:
            if collector is None:
                collector = InputCollector(function)
            parameter, load, content_type = positions[place]
            label = f"{parameter}{{0}}"
            given = value.input() if kind is Future else value
            data = placeholder(label, collector.add(label, given), load, content_type)
        else:
            return None
        pickles.append(data)
    return pickles, collector


class _Finder:
    """Replaces the data objects that a pickler meets in one argument."""

    __slots__ = ("_collector", "_content_type", "_count", "_load", "_name")

    def __init__(
        self, collector: InputCollector, name: str, load: bool, content_type: str | None
    ) -> None:
        self._collector = collector
        self._name = name
        self._load = load
        self._content_type = content_type
        self._count = 0

    def found(self, file: File) -> None:
        self._collector.files[file] = None

    def note(self, value: Any) -> None:
        self._collector.note(self._name, value)

    def replaced(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, Future):
            future: Future[Any] = value
            self._collector.references.append(future)
            return future.reference()
        label = f"{self._name}{{{self._count}}}"
        self._count += 1
        index = self._collector.add(label, value)
        return _UNPICKLE, (label, index, self._load, self._content_type)


_Aside: TypeAlias = Callable[[pickle.PickleBuffer], bool] | None
"""Says of each buffer whether it stays inside of the pickle."""


class _NotPlain(Exception):  # never leaves this module
    """An argument holds something that needs cloudpickle."""


class _PlainPickler(pickle.Pickler):
    """For builtin containers with data objects in them; gives up at anything else."""

    def __init__(self, target: io.BytesIO, finder: _Finder, aside: _Aside) -> None:
        super().__init__(target, PICKLE_PROTOCOL, buffer_callback=aside)
        self._finder = finder

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _HANDLES):
            return self._finder.replaced(obj)
        if type(obj) in _OURS or obj is getattr or obj is import_module or obj is refer:
            return NotImplemented
        raise _NotPlain


class _CloudPickler(Pickler):
    """For everything else."""

    def __init__(self, target: io.BytesIO, finder: _Finder, aside: _Aside) -> None:
        super().__init__(target, PICKLE_PROTOCOL, buffer_callback=aside)
        self._finder = finder

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _HANDLES):
            return self._finder.replaced(obj)
        if type(obj) is File and obj.near:
            self._finder.found(obj)
        self._finder.note(obj)
        return super().reducer_override(obj)


def pickle_argument(
    value: Any,
    collector: InputCollector,
    name: str,
    load: bool = False,
    content_type: str | None = None,
) -> list[Part]:
    """The pickle of one argument, however large; raises RainWarning when a small one is slow.

    Its parts follow each other. Large ones are the memory of the value.

    Large buffers lie in it so that they can be mapped (see rain/common/pickles.py).
    """
    if type(value) in _ATOMS:
        return [_dumps(value, PICKLE_PROTOCOL)]
    if isinstance(value, DataObject | Task):
        label = f"{name}{{0}}"
        return [placeholder(label, collector.add(label, value), load, content_type)]
    start = time.thread_time()
    data = _structure(value, name, collector, load, content_type)
    taken = time.thread_time() - start
    if taken > LONGEST_PICKLING and length_of(data) <= LARGEST_PICKLE:
        raise RainWarning(
            f"Pickled object {name} took {taken:.1f} s of CPU time to pickle, and would with"
            f" every call. {advice_to_upload(name, load)}"
        )
    return data


def pickle_value(value: Any, collector: InputCollector, name: str) -> list[Part]:
    """Pickles an argument of a plain call; data objects inside are loaded."""
    if type(value) in _ATOMS:
        return [_dumps(value, PICKLE_PROTOCOL)]
    if isinstance(value, DataObject | Task):
        return [placeholder(name, collector.add(name, value), load=True)]
    return _structure(value, name, collector, load=True, content_type=None)


def advice_to_upload(name: str, load: bool) -> str:
    """The lines to write instead."""
    variable = name if name.isidentifier() else "value"
    loaded = (
        "" if load else ", and @remote(auto_load=True) before the function, which gets the value"
    )
    return f"Upload it once: write {variable} = pickled({variable}) before the calls{loaded}"


def _structure(
    value: Any, name: str, collector: InputCollector, load: bool, content_type: str | None
) -> list[Part]:
    known, referred = len(collector.objects), len(collector.references)

    def dump(value: Any, _: int, buffer_callback: _Aside = None) -> bytes:
        # Each try finds again what one before it has found.
        collector.forget(known, referred)
        with suppress(_NotPlain):
            target = io.BytesIO()
            finder = _Finder(collector, name, load, content_type)
            _PlainPickler(target, finder, buffer_callback).dump(value)
            return target.getvalue()
        collector.forget(known, referred)
        target = io.BytesIO()
        finder = _Finder(collector, name, load, content_type)
        pickler: Any = _CloudPickler(target, finder, buffer_callback)
        pickler.dump(value)
        return target.getvalue()

    return dump_parts(dump, value, PICKLE_PROTOCOL)


_placeholders: dict[tuple[str, int, bool, str | None], bytes] = {}
_PLACEHOLDERS_REMEMBERED = 4096


def placeholder(label: str, index: int, load: bool, content_type: str | None = None) -> bytes:
    """The pickle of an argument that is a data object itself; equal calls have equal ones."""
    key = (label, index, load, content_type)
    data = _placeholders.get(key)
    if data is None:
        # Protocol 2 has no frames: between its two header bytes and its final stop there are only
        # the instructions that make the tuple.
        args = _dumps(key, 2)[2:-1]
        data = b"\x80\x02" + f"c{_MODULE}\n{_FUNCTION}\n".encode() + args + b"R."
        if len(_placeholders) < _PLACEHOLDERS_REMEMBERED:
            _placeholders[key] = data
    return data
