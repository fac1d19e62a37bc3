"""Makes the tasks of plain calls: any callable, any arguments, one result.

Futures that are arguments become inputs whose values the function gets. Inside of other arguments
they stay futures. An argument that is large when it is pickled is uploaded as an object of its own,
once for equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgpack
from attrs import evolve

from rain.base.caching import CONFIG_KEY
from rain.base.exchange import LISTED
from rain.base.executor_protocol import PLAIN
from rain.base.wire import INLINE_LIMIT
from rain.client.data import DataObject
from rain.client.explaining.stack import here
from rain.client.future import Future
from rain.client.futures.called import CalledFunctions, Function
from rain.client.futures.task_function import TaskFunction
from rain.client.handles import quick_task
from rain.client.options import NO_OPTIONS, Options
from rain.client.remote import Remote
from rain.client.sent.arguments import (
    LARGEST_PICKLE,
    InputCollector,
    Position,
    pickle_plain,
    pickle_value,
    placeholder,
)
from rain.client.sent.copies import CopyWarnings
from rain.client.sent.large_arguments import LargeArguments, is_surely_large
from rain.client.sent.near_files import with_near
from rain.client.task import Task
from rain.common.content_type import encode_parts
from rain.common.errors import RainException
from rain.common.pickles import joined, length_of
from rain.common.references import finding_references
from rain.common.unpicklable import UNPICKLABLE, what_cannot_be_sent

if TYPE_CHECKING:
    from rain.client.session import Session

_pack: Callable[[object], bytes] = msgpack.Packer().pack


class PlainCalls:
    """Makes the tasks of the plain calls of one session."""

    def __init__(self, session: Session, take_over: Callable[[Future[Any]], Future[Any]]) -> None:
        self._session = session
        self._kept = None if session.client is None else session.client.kept_results
        self._take_over = take_over  # turns a future of another client into one of this client
        self._functions = CalledFunctions()
        self._with_defaults: dict[Options, Options] = {}  # by those that calls were given
        self._large = LargeArguments(session, "client.put(value)")
        self._warnings = CopyWarnings()

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
        environments, kept = self._session.environments, self._kept
        if kept is not None or environments.default is not None:
            options = self._completed(options)
        function = self._functions.find(fn, options.surrounding)
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
            self._warnings.look_at(function.name, collector.copies)
        table: dict[str, Any] = {
            "args": pickles,
            "kwargs": named,
            "encode_outputs": function.encoding,
            PLAIN: 1,
        }
        given = () if collector is None else collector.objects
        if options.cache and (options := _keeping(options, given)).cache:
            plan = function.plan(self._session, fn, args, keywords, options, given)
            table[CONFIG_KEY] = plan if kept is None else kept.tell_apart(plan, given, options)
        config = _pack(table)
        labels: tuple[str | None, ...] = ()
        if collector is not None and len(collector.objects) > 1:
            inputs, labels = tuple(collector.objects), tuple(collector.labels)
            for one in inputs:
                if one.session is not self._session:
                    return self._with_others(fn, args, keywords, options, one)
        inputs, labels = environments.inputs_with(options.env, inputs, labels)
        shape = with_near(function.shape(options, labels), collector)
        task = quick_task(self._session, shape, config, inputs, here(1))
        if collector is not None and collector.references:
            self._session.note_contents(task.packed_id, collector.references)
        if self._session.is_durable:
            self._session.note_key(task.packed_id, function.same(fn, args, keywords, options))
        return task

    def is_worth_sharing(self, value: Any) -> bool:
        """Whether an argument of several calls is better sent once than with each of them."""
        if isinstance(value, Future):
            return False
        # The call itself says what cannot be sent, and a data object in it is an input.
        with suppress(*UNPICKLABLE, RainException), finding_references():
            return length_of(encode_parts(value, "pickle")) > INLINE_LIMIT
        return False

    def _completed(self, options: Options) -> Options:
        """The options, with what the client and the session say for all calls."""
        known = self._with_defaults.get(options)
        if known is None:
            env = self._session.environments.joined(options.env)
            kept = options if self._kept is None else self._kept.keeping(options)
            known = self._with_defaults[options] = evolve(kept, env=env)
        return known

    def _with_others(
        self,
        fn: Function,
        args: Sequence[Any],
        keywords: Mapping[str, Any],
        options: Options,
        foreign: DataObject,
    ) -> Task:
        """The task of a call with futures of other clients; raises if `foreign` is no future."""
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

    def _pickled(self, value: Any, collector: InputCollector, label: str) -> bytes:
        if isinstance(value, Future):
            return placeholder(label, collector.add(label, value.input()), load=True)
        known, referred = len(collector.objects), len(collector.references)
        if not is_surely_large(value):
            try:
                parts = pickle_value(value, collector, label)
            except UNPICKLABLE as error:
                what = what_cannot_be_sent(value, error)
                error.add_note(f"Argument {label} of the call cannot be sent{what}")
                raise
            if length_of(parts) <= LARGEST_PICKLE or len(collector.objects) > known:
                return joined(parts)
            if len(collector.references) == referred:
                sent = self._large.sent(parts, label)
                return placeholder(label, collector.add(label, sent), load=True)
            del collector.references[referred:]  # they are inside of what is uploaded
        collector.note(label, value)
        uploaded = self._large.uploaded(value, label)
        return placeholder(label, collector.add(label, uploaded), load=True)

    def _remote_task(self, fn: Remote, args: Sequence[Any], keywords: Mapping[str, Any]) -> Task:
        """The call of a remote function, which gets its context and says itself what it makes."""
        given = [value.input() if isinstance(value, Future) else value for value in args]
        named = {
            key: value.input() if isinstance(value, Future) else value
            for key, value in keywords.items()
        }
        return fn.new_task(given, {**named, "session": self._session})


def _keeping(options: Options, given: Sequence[DataObject]) -> Options:
    """No cache for calls that read a part: the locations of pieces say nothing about their
    contents.
    """
    reads_part = any(one.wire_shape.content_type == LISTED for one in given)
    return evolve(options, cache="") if reads_part else options


def _own_options(own: Options, options: Options) -> Options:
    """The options of a call; those of its function if nothing was said."""
    if options == NO_OPTIONS:
        return own
    said_nothing = evolve(options, surrounding=None) == NO_OPTIONS
    return evolve(own, surrounding=options.surrounding) if said_nothing else options


@lru_cache(maxsize=64)
def _positions(count: int) -> list[Position]:
    """How this number of positional arguments get data objects: as values."""
    return [(str(place), True, None) for place in range(count)]


def _foreign(name: str, obj: DataObject) -> RainException:
    return RainException(
        f"{name} cannot be called with {obj!r}: it belongs to another session or client; fetch its"
        " value, and give that"
    )
