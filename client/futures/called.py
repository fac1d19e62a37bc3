"""Remembers the callables that a client has called, so that the next call of one is cheap.

A callable is sent once in a session. Its parameters and the shapes of its calls are remembered.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any
from weakref import ref

from rain.client.brought.captured import what_is_captured
from rain.client.cached.plans import CachedFunction, named_arguments, plan_of_call
from rain.client.cached.sameness import key_of_call
from rain.client.data import DataObject
from rain.client.environments import said_of, text_of
from rain.client.explaining.misspelled import unknown_argument
from rain.client.explaining.warn import warn_user
from rain.client.options import NO_OPTIONS, OPTIONS, Options, Surrounding
from rain.client.sent.copies import OWN_GENERATORS
from rain.client.sent.function import SentFunction
from rain.client.shapes import SHAPES_REMEMBERED, ObjectShape, TaskShape
from rain.client.submission import Same
from rain.common.unpicklable import UNPICKLABLE

if TYPE_CHECKING:
    from rain.client.session import Session

Function = Callable[..., Any]

FUNCTIONS_REMEMBERED = 256
"""Functions that a client remembers; one more is sent again when it is called again."""

RESULT = ObjectShape("result", "pickle")

_SIMPLE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class CalledFunctions:
    """The callables of one session; the first ones are forgotten first.

    Only functions are kept alive here. The owner of a method may be large, and nothing else may
    need it once the call is made.
    """

    def __init__(self) -> None:
        self._functions: OrderedDict[object, CalledFunction] = OrderedDict()

    def find(self, fn: Function, surrounding: Surrounding | None) -> CalledFunction:
        """The one for this callable; TypeError if it cannot be a task."""
        owner, key = _owner(fn)
        if surrounding is not None:
            key = (surrounding, key)
        known = self._functions.get(key)
        if known is None or (owner is not None and not known.is_of(owner)):
            if not callable(fn):
                raise TypeError(f"submit: {fn!r} cannot be called")
            if _is_async(fn):
                raise TypeError(
                    f"submit: {_name(fn)} is an async function, which a task does not await:"
                    " submit a function that calls asyncio.run"
                )
            self._forget_the_dead()
            known = self._functions[key] = CalledFunction(fn, owner, surrounding)
            if len(self._functions) > FUNCTIONS_REMEMBERED:
                self._functions.popitem(last=False)
        return known

    def _forget_the_dead(self) -> None:
        for key in [key for key, one in self._functions.items() if one.is_dead]:
            del self._functions[key]


class CalledFunction:
    """One callable: its parameters, the function as it was sent, and the shapes of its calls."""

    def __init__(self, fn: Function, owner: object | None, surrounding: Surrounding | None) -> None:
        self.name = _name(fn)
        self._owner, self._kept = _weakly(owner)
        self._surrounding = surrounding
        self._result = RESULT
        if surrounding is not None and surrounding.content_type != RESULT.content_type:
            self._result = RESULT._replace(content_type=surrounding.content_type)
        self.encoding = [self._result.content_type]
        self._sent: SentFunction | None = None
        self._shapes: dict[tuple[Options, tuple[str | None, ...]], TaskShape] = {}
        self._last: tuple[Options, tuple[str | None, ...], TaskShape] = (
            NO_OPTIONS,
            (),
            NO_OPTIONS.shape(self.name, (), (self._result,)),
        )
        self._signature: inspect.Signature | None = None
        self._own: inspect.Signature | None = None  # what a decorated function takes itself
        if surrounding is None or not surrounding.changes_arguments:
            self._signature = self._own = _signature(fn, decorated=False)
            if hasattr(fn, "__wrapped__"):
                self._own = _signature(fn, decorated=True) or self._signature
        parameters = () if self._signature is None else self._signature.parameters.values()
        plain = [parameter for parameter in parameters if parameter.kind in _SIMPLE]
        self._least = sum(parameter.default is parameter.empty for parameter in plain)
        # Other calls are checked by Python's own rules, which takes longer.
        is_known = self._signature is not None and len(plain) == len(tuple(parameters))
        self._most = len(plain) if is_known else -1

    def is_of(self, owner: object) -> bool:
        """Whether this entry belongs to the callable, whose address may have been reused."""
        return self._kept is owner or (self._owner is not None and self._owner() is owner)

    @property
    def is_dead(self) -> bool:
        """Whether nobody can call it any more."""
        return self._owner is not None and self._owner() is None

    def check(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """TypeError, as the call itself would raise it."""
        if not keywords and self._least <= len(args) <= self._most:
            return
        if self._own is not None:
            try:
                self._own.bind(*args, **keywords)
            except TypeError as error:
                parameters = self._own.parameters
                advice = unknown_argument(keywords, parameters, OPTIONS)
                raise TypeError(f"{self.name}(): {error}{advice}") from None

    def inputs(self, session: Session, fn: Function) -> tuple[DataObject]:
        """The function as an input of its calls; sent again when it has changed."""
        sent = self._sent
        if sent is None or not sent.is_current(session, fn):
            around = None if self._surrounding is None else self._surrounding.around
            try:
                sent = self._sent = SentFunction(session, fn, self.name, around)
            except UNPICKLABLE as error:
                error.add_note(
                    f"{self.name} cannot be sent with what it captures (global names, variables of"
                    f" the function around it, its object){what_is_captured(fn, error)}"
                )
                raise
        elif sent.generator:
            generator, sent.generator = sent.generator, ""
            warn_user(
                f"{self.name} captures the random generator {generator!r}, and each process draws"
                f" the same numbers from its copy: {OWN_GENERATORS}"
            )
        return sent.inputs

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
        assert self._sent is not None  # its inputs are known
        around = None if self._surrounding is None else self._surrounding.around
        digest = self._sent.digest(fn if around is None else around(fn))
        called = CachedFunction(fn, digest, self.encoding, options.cache_key, text_of(options.env))
        arguments = self._named(args, keywords)
        return plan_of_call(session, called, arguments, inputs)

    def same(
        self, fn: Function, args: Sequence[Any], keywords: Mapping[str, Any], options: Options
    ) -> Same:
        """The key by which a call is matched with one of an earlier run."""
        assert self._sent is not None  # its inputs are known
        around = None if self._surrounding is None else self._surrounding.around
        function = self._sent.same(fn if around is None else around(fn))
        arguments = self._named(args, keywords)
        outputs = [*self.encoding, *said_of(options.env)]
        return key_of_call(function, outputs, options.cache_key, arguments)

    def _named(
        self, args: Sequence[Any], keywords: Mapping[str, Any]
    ) -> Iterable[tuple[str, object]]:
        if self._own is not self._signature:
            try:
                return [*named_arguments(self._signature, args, keywords)]
            except TypeError:  # a decorator gives the function others than it takes
                return named_arguments(self._own, args, keywords)
        return named_arguments(self._signature, args, keywords)

    def shape(self, options: Options, labels: tuple[str | None, ...]) -> TaskShape:
        """The shape of a call with these options, whose inputs have these labels."""
        if options is self._last[0] and labels == self._last[1]:
            return self._last[2]  # as nearly always: this saves the hash
        key = (options, labels)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= SHAPES_REMEMBERED:
                self._shapes.clear()
            shape = self._shapes[key] = options.shape(
                options.name or self.name, labels, (self._result,)
            )
        self._last = options, labels, shape
        return shape


def _name(fn: Any) -> str:
    """The name of calls: that of the function, also inside of a partial call."""
    named = fn.func if isinstance(fn, partial) else fn
    return getattr(named, "__name__", None) or type(named).__name__


def _is_async(fn: Any) -> bool:
    """Whether calls of a function return an awaitable; also of a partial call, and of an object."""
    kind: Any = type(fn)
    return any(
        inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)
        for called in (fn, kind.__call__)
    )


def _signature(fn: Function, decorated: bool) -> inspect.Signature | None:
    """The signature of a function; None if it has none, as some functions in C.

    Of a decorated function it is that of the function inside, which helps more in messages, unless
    `decorated`.
    """
    try:
        return inspect.signature(fn, follow_wrapped=not decorated)
    except (TypeError, ValueError):
        return None


def _owner(fn: Function) -> tuple[object | None, object]:
    """The object that lives as long as a callable can be called, and a key unique in that time.

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
