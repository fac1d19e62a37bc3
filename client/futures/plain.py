"""The tasks of plain calls: any callable, any arguments, one result.

Futures that are arguments become inputs whose values the function gets. Inside of other arguments
they stay futures. An argument that is large when it is pickled is uploaded as an object of its own,
once for equal ones.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, ref

import msgpack
from attrs import evolve

from rain.base.caching import CONFIG_KEY
from rain.base.executor_protocol import PLAIN
from rain.client.arguments import (
    LARGEST_PICKLE,
    InputCollector,
    Position,
    pickle_plain,
    pickle_value,
    placeholder,
)
from rain.client.cached.plans import named_arguments, plan_of_call
from rain.client.data import DataObject, constant_object
from rain.client.future import Future
from rain.client.futures.task_function import TaskFunction
from rain.client.misspelled import unknown_argument
from rain.client.options import NO_OPTIONS, OPTIONS, Options, Surrounding
from rain.client.remote import Remote
from rain.client.shapes import ObjectShape, TaskShape
from rain.client.stack import here
from rain.client.task import Task, quick_task
from rain.client.task_parts import PYTHON_TASK
from rain.client.told import ToldFunction
from rain.client.unpicklable import UNPICKLABLE, advice
from rain.client.warn import warn_user
from rain.common.content_type import encode_value
from rain.common.errors import RainException
from rain.common.references import finding_references

if TYPE_CHECKING:
    from rain.client.session import Session

Function = Callable[..., Any]

FUNCTIONS_REMEMBERED = 256
"""Functions that a client remembers; one more is sent again when it is called again."""

SHAPES_REMEMBERED = 1000

REPEATED_AT_MOST = 100_000_000
"""Bytes that calls may bring again before their client hints at `put`."""

RESULT = ObjectShape("result", "pickle")

_ENCODING = [RESULT.content_type]
_pack: Callable[[object], bytes] = msgpack.Packer().pack
_SIMPLE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class PlainCalls:
    """Makes the tasks of the plain calls of one session."""

    def __init__(self, session: Session, take_over: Callable[[Future[Any]], Future[Any]]) -> None:
        self._session = session
        self._take_over = take_over  # gives a future of this client for one of another client
        self._functions: OrderedDict[object, _Function] = OrderedDict()
        self._large: WeakValueDictionary[bytes, DataObject] = WeakValueDictionary()
        self._repeated = 0  # bytes that were pickled for arguments that were there

    def new_task(
        self, fn: Function, args: Sequence[Any], keywords: Mapping[str, Any], options: Options
    ) -> Task:
        """The task of one call; TypeError for arguments that the function does not take.

        It is still to be added to its session.
        """
        if isinstance(fn, Remote):
            if options.surrounding is not None:
                raise TypeError(f"{fn!r} gets a context, so nothing can be called in its place")
            return self._remote_task(fn, args, keywords)
        if isinstance(fn, TaskFunction):
            options = _own_options(fn.options, options)
            fn = fn.fn
        function = self._function(fn, options.surrounding)
        function.check(args, keywords)
        told = function.inputs(self._session, fn)
        inputs: tuple[DataObject, ...] = told
        named: dict[str, bytes] = {}
        collector: InputCollector | None
        plain = None if keywords else pickle_plain(args, _positions(len(args)), told)
        if plain is not None:
            pickles, collector = plain
        else:
            collector = InputCollector(told)
            pickles = [self._pickled(value, collector, str(i)) for i, value in enumerate(args)]
            named = {key: self._pickled(value, collector, key) for key, value in keywords.items()}
        table: dict[str, Any] = {
            "args": pickles,
            "kwargs": named,
            "encode_outputs": _ENCODING,
            PLAIN: 1,
        }
        if options.cache:
            given = () if collector is None else collector.objects
            table[CONFIG_KEY] = function.plan(self._session, fn, args, keywords, options, given)
        config = _pack(table)
        labels: tuple[str | None, ...] = ()
        if collector is not None and len(collector.objects) > 1:
            inputs, labels = tuple(collector.objects), tuple(collector.labels)
            for one in inputs:
                if one.session is not self._session:
                    return self._with_others(fn, args, keywords, options, one)
        shape = function.shape(options, labels)
        task = quick_task(self._session, shape, config, inputs, here(1))
        if collector is not None and collector.references:
            self._session.note_contents(task.packed_id, collector.references)
        return task

    def _with_others(
        self,
        fn: Function,
        args: Sequence[Any],
        keywords: Mapping[str, Any],
        options: Options,
        foreign: DataObject,
    ) -> Task:
        """The same call, if what is foreign is the future of another client."""
        taken = [self._taken(value) for value in args]
        named = {key: self._taken(value) for key, value in keywords.items()}
        same = all(new is old for new, old in zip(taken, args, strict=True))
        if same and all(named[key] is keywords[key] for key in keywords):
            raise _foreign(getattr(fn, "__name__", repr(fn)), foreign)
        return self.new_task(fn, taken, named, options)

    def _taken(self, value: Any) -> Any:
        """The future of this client for one of another client."""
        if not isinstance(value, Future):
            return value
        future: Future[Any] = value
        return future if future.handle.session is self._session else self._take_over(future)

    def _function(self, fn: Function, surrounding: Surrounding | None) -> _Function:
        """What is known of something that can be called.

        Only functions are kept alive by that. The owner of a method may be large, and nobody else
        may need it when the call is made.
        """
        owner, key = _owner(fn)
        if surrounding is not None:
            key = (surrounding, key)
        known = self._functions.get(key)
        if known is None or (owner is not None and not known.is_of(owner)):
            if not callable(fn):
                raise TypeError(f"submit: {fn!r} cannot be called")
            if inspect.iscoroutinefunction(fn):
                raise TypeError(
                    f"submit: {fn.__qualname__} is an async function, and a task awaits nothing:"
                    " submit a function that calls asyncio.run"
                )
            self._forget_the_dead()
            known = self._functions[key] = _Function(fn, owner, surrounding)
            if len(self._functions) > FUNCTIONS_REMEMBERED:
                self._functions.popitem(last=False)
        return known

    def _forget_the_dead(self) -> None:
        for key in [key for key, one in self._functions.items() if one.is_dead]:
            del self._functions[key]

    def _pickled(self, value: Any, collector: InputCollector, label: str) -> bytes:
        if isinstance(value, Future):
            return placeholder(label, collector.add(label, value.input()), load=True)
        known, referred = len(collector.objects), len(collector.references)
        size = getattr(value, "nbytes", 0)
        if not (isinstance(size, int) and size > LARGEST_PICKLE):
            try:
                data = pickle_value(value, collector, label)
            except UNPICKLABLE as error:
                error.add_note(f"Argument {label} of the call cannot be sent.{advice(error)}")
                raise
            if len(data) <= LARGEST_PICKLE or len(collector.objects) > known:
                return data
            del collector.references[referred:]  # they are inside of what is uploaded
        return placeholder(label, collector.add(label, self._uploaded(value, label)), load=True)

    def _uploaded(self, value: Any, label: str) -> DataObject:
        with finding_references() as found:
            data = encode_value(value, "pickle")
        digest = blake2b(data, digest_size=16).digest()
        digest += self._session.refusals.to_bytes(8)  # what was refused is uploaded again
        known = self._large.get(digest)
        if known is not None:
            self._hint_at_put(label, len(data))
        else:
            shape = ObjectShape(label, "pickle")
            known = self._large[digest] = constant_object(self._session, shape, data, found)
        return known

    def _hint_at_put(self, label: str, size: int) -> None:
        """Once: to pickle it again, only to find that it is there, takes longer and longer."""
        before, self._repeated = self._repeated, self._repeated + size
        if before <= REPEATED_AT_MOST < self._repeated:
            warn_user(
                f"argument {label} of {size / 1e6:.0f} MB was given before, and is pickled for each"
                " call; write value = client.put(value) once, and give that to the calls"
            )

    def _remote_task(self, fn: Remote, args: Sequence[Any], keywords: Mapping[str, Any]) -> Task:
        """The call of a remote function, which gets its context and says itself what it makes."""
        given = [value.input() if isinstance(value, Future) else value for value in args]
        named = {
            key: value.input() if isinstance(value, Future) else value
            for key, value in keywords.items()
        }
        return fn.new_task(given, {**named, "session": self._session})


class _Function:
    """One callable: its parameters, how the session was told it, and the shapes of its calls."""

    def __init__(self, fn: Function, owner: object | None, surrounding: Surrounding | None) -> None:
        self.name: str = getattr(fn, "__name__", None) or type(fn).__name__
        self._owner, self._kept = _weakly(owner)
        self._surrounding = surrounding
        self._told: ToldFunction | None = None
        self._shapes: dict[tuple[Options, tuple[str | None, ...]], TaskShape] = {}
        self._last: tuple[Options, tuple[str | None, ...], TaskShape] = (
            NO_OPTIONS,
            (),
            self._new_shape(NO_OPTIONS, ()),
        )
        self._signature: inspect.Signature | None = None
        if surrounding is None or not surrounding.changes_arguments:
            # Some functions in C do not say what they take.
            with suppress(TypeError, ValueError):
                self._signature = inspect.signature(fn)
        parameters = () if self._signature is None else self._signature.parameters.values()
        plain = [parameter for parameter in parameters if parameter.kind in _SIMPLE]
        self._least = sum(parameter.default is parameter.empty for parameter in plain)
        # Other calls are checked by Python's own rules, which takes longer.
        is_known = self._signature is not None and len(plain) == len(tuple(parameters))
        self._most = len(plain) if is_known else -1

    def is_of(self, owner: object) -> bool:
        """Whether it is about this one; another one may have come to its address."""
        return self._kept is owner or (self._owner is not None and self._owner() is owner)

    @property
    def is_dead(self) -> bool:
        """Whether nobody can call it any more."""
        return self._owner is not None and self._owner() is None

    def check(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """TypeError, as the call itself would raise it."""
        if not keywords and self._least <= len(args) <= self._most:
            return
        if self._signature is not None:
            try:
                self._signature.bind(*args, **keywords)
            except TypeError as error:
                parameters = self._signature.parameters
                advice = unknown_argument(keywords, parameters, OPTIONS)
                raise TypeError(f"{self.name}(): {error}{advice}") from None

    def inputs(self, session: Session, fn: Function) -> tuple[DataObject]:
        """The function as an input of its calls; sent again when it has changed."""
        told = self._told
        if told is None or not told.still_holds(session, fn):
            around = None if self._surrounding is None else self._surrounding.around
            try:
                told = self._told = ToldFunction(session, fn, self.name, around)
            except UNPICKLABLE as error:
                error.add_note(
                    f"{self.name} cannot be sent with what it captures: global names, variables of"
                    f" the function around it, its object.{advice(error)}"
                )
                raise
        return told.inputs

    def plan(
        self,
        session: Session,
        fn: Function,
        args: Sequence[Any],
        keywords: Mapping[str, Any],
        options: Options,
        inputs: Sequence[DataObject],
    ) -> dict[str, Any]:
        """The parts of the key of the results of a call."""
        assert self._told is not None  # its inputs are known
        around = None if self._surrounding is None else self._surrounding.around
        function = self._told.digest(fn if around is None else around(fn))
        arguments = named_arguments(self._signature, args, keywords)
        key = options.cache_key
        return plan_of_call(session, fn, function, _ENCODING, key, arguments, inputs)

    def shape(self, options: Options, labels: tuple[str | None, ...]) -> TaskShape:
        """The shape of a call with these options, whose inputs have these labels."""
        if options is self._last[0] and labels == self._last[1]:
            return self._last[2]  # as nearly always: this saves the hash
        key = (options, labels)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= SHAPES_REMEMBERED:
                self._shapes.clear()
            shape = self._shapes[key] = self._new_shape(options, labels)
        self._last = options, labels, shape
        return shape

    def _new_shape(self, options: Options, labels: tuple[str | None, ...]) -> TaskShape:
        return TaskShape(
            PYTHON_TASK,
            options.name or self.name,
            options.resources,
            labels,
            (RESULT,),
            "",
            options.duration,
            options.constraints,
            options.attempts,
            options.priority,
            options.cache,
        )


def _own_options(own: Options, options: Options) -> Options:
    """The options of a call; those of its function if nothing was said."""
    if options == NO_OPTIONS:
        return own
    said_nothing = evolve(options, surrounding=None) == NO_OPTIONS
    return evolve(own, surrounding=options.surrounding) if said_nothing else options


def _owner(fn: Function) -> tuple[object | None, object]:
    """What lives as long as a callable can be called, and a key that is its own meanwhile.

    There is no owner of a function, which is its own key.
    """
    if type(fn) is FunctionType:
        return None, fn
    if isinstance(fn, MethodType):
        return fn.__self__, (id(fn.__self__), fn.__func__)
    return fn, id(fn)


def _weakly(owner: object | None) -> tuple[ref[object] | None, object | None]:
    """A weak reference; the object itself when it allows none."""
    if owner is None:
        return None, None
    try:
        return ref(owner), None
    except TypeError:
        return None, owner


@lru_cache(maxsize=64)
def _positions(count: int) -> list[Position]:
    """How this number of positional arguments get data objects: as values."""
    return [(str(place), True, None) for place in range(count)]


def _foreign(name: str, obj: DataObject) -> RainException:
    return RainException(
        f"{name} cannot be called with {obj!r}: it belongs to another session or client; fetch its"
        " value, and give that"
    )
