"""Remote functions: Python functions whose calls become tasks."""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Never

import msgpack
from attrs import evolve

from rain.base.caching import CONFIG_KEY
from rain.client.active import get_active_session
from rain.client.brought.captured import Wrapper
from rain.client.cached.plans import (
    Cache,
    CachedFunction,
    named_arguments,
    plan_of_call,
)
from rain.client.cached.sameness import key_of_call
from rain.client.cached.values import value_digest
from rain.client.data import DataObject
from rain.client.declared import (
    Function,
    How,
    annotations_of,
    chosen_inputs,
    chosen_outputs,
    how_loaded,
)
from rain.client.environments import Env, said_of, text_of
from rain.client.explaining.misspelled import expect_known
from rain.client.explaining.stack import here
from rain.client.handles import quick_task
from rain.client.input import InputBase
from rain.client.options import OptionWords, checked
from rain.client.output import OutputSpec
from rain.client.retrying import RetryOn
from rain.client.sent.arguments import (
    LARGEST_PICKLE,
    InputCollector,
    Position,
    advice_to_upload,
    pickle_argument,
    pickle_plain,
    placeholder,
)
from rain.client.sent.binding import Binding
from rain.client.sent.function import SentFunction
from rain.client.sent.large_arguments import is_surely_large
from rain.client.sent.near_files import with_near
from rain.client.shapes import (
    SHAPES_REMEMBERED,
    ObjectShape,
    TaskShape,
)
from rain.client.task import Task
from rain.common.errors import RainException, RainWarning
from rain.common.pickles import joined, length_of

if TYPE_CHECKING:
    from rain.client.session import Session

ShapeKey = tuple[str, tuple[str | None, ...], tuple[ObjectShape, ...] | None, Env | None]
"""Name of a call, labels of its inputs, and its outputs if they are not those of the function."""

_pack: Callable[[object], bytes] = msgpack.Packer().pack  # a new packer for each call is slower


class Remote(Wrapper):
    """A function whose calls are tasks; `remote` makes it.

    A call makes a task in the active session and returns at once. When the task runs, the function
    gets the context of the task and then the arguments of the call.

    >>> @remote()
    ... def shout(ctx, text):
    ...     return text.upper()
    >>> shout
    <Remote shout>
    >>> session.compute(shout("rain")).get_str()
    'RAIN'
    """

    def __init__(
        self,
        fn: Function,
        outputs: Any,
        inputs: Mapping[str, InputBase] | Sequence[object],
        auto_load: bool | None,
        auto_encode: str | None,
        words: OptionWords,
    ) -> None:
        if not isinstance(fn, FunctionType):
            raise RainException(f"remote: a plain function is expected, not {fn!r}")
        self.fn = fn
        self.name: str = words.get("name") or fn.__name__
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self._said = outputs, inputs, auto_load, auto_encode, words
        annotations = annotations_of(fn)
        self._outputs = OutputSpec(chosen_outputs(fn, outputs, annotations), auto_encode)
        self._options = checked(self.name, words)
        self._shapes: dict[ShapeKey, TaskShape] = {}
        binding = self._binding = Binding(self.name, fn)
        given = chosen_inputs(fn, inputs, annotations)
        parameters = binding.signature.parameters
        self._hows = {name: how_loaded(given.get(name), auto_load) for name in parameters}
        self._positions = [(name, *self._hows[name]) for name in binding.positions]
        self._required, self._most = binding.required, binding.most

    def __call__(self, *args: Any, **keywords: Any) -> Task:
        """Makes the task of one call. Wrong arguments raise `TypeError`, as for any function.

        The keywords `name`, `output`, `outputs` and `session` describe the task, unless the
        function has a parameter of this name.
        """
        task = self.new_task(args, keywords)
        task.session.add_task(task)
        return task

    def new_task(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Task:
        """The task of a call, still to be added to its session."""
        name: str | None = None
        session: Session | None = None
        made = self._outputs
        words: Mapping[str, Any] = keywords
        if keywords:
            words, options = self._binding.parted(keywords)
            if options:
                name, session = options.get("name"), options.get("session")
                made = self._called_outputs(options.get("output"), options.get("outputs"))
        if session is None:
            session = get_active_session()
        created_at = here(2)
        env = session.environments.joined(self._options.env)
        sent = session.functions.get(self)
        if sent is None or not sent.is_current(session, self.fn):
            sent = session.functions[self] = SentFunction(session, self.fn, self.__name__)
        function = sent.inputs
        fits = not words and self._required <= len(args) <= self._most
        named: dict[str, bytes] = {}
        values: Sequence[Any] = args
        collector: InputCollector | None
        plain = pickle_plain(args, self._positions, function) if fits else None
        if plain is not None:
            pickles, collector = plain
        else:
            collector = InputCollector(function)
            if not fits:
                values, words = self._binding.bound(args, words)
            pickles = [
                _pickled(session, value, collector, self._position(i))
                for i, value in enumerate(values)
            ]
            named = {
                key: _pickled(session, value, collector, (key, *self._keyword(key)))
                for key, value in words.items()
            }
        table: dict[str, Any] = {
            "args": pickles,
            "kwargs": named,
            "encode_outputs": made.encodings,
        }
        if self._options.cache:
            table[CONFIG_KEY] = self._plan(session, sent, made, values, words, collector, env)
        config = _pack(table)
        inputs: tuple[DataObject, ...] = function
        labels: tuple[str | None, ...] = ()
        if collector is not None and len(collector.objects) > 1:
            inputs, labels = tuple(collector.objects), tuple(collector.labels)
        inputs, labels = session.environments.inputs_with(env, inputs, labels)
        key = (name or self.name, labels, None if made is self._outputs else made.shapes, env)
        shape = with_near(self._shapes.get(key) or self._new_shape(key, made), collector)
        task = quick_task(session, shape, config, inputs, created_at)
        if collector is not None and collector.references:
            session.note_contents(task.packed_id, collector.references)
        if session.is_durable:
            outputs = [made.encodings, made.shapes, sorted(self._hows.items()), *said_of(env)]
            arguments = named_arguments(self._binding.signature, (None, *values), words)
            same = key_of_call(sent.same(self.fn), outputs, self._options.cache_key, arguments)
            session.note_key(task.packed_id, same)
        return task

    def _plan(
        self,
        session: "Session",
        sent: SentFunction,
        made: OutputSpec,
        values: Sequence[Any],
        words: Mapping[str, Any],
        collector: InputCollector | None,
        env: Env | None,
    ) -> dict[str, Any]:
        """The parts of the key of the results of a call."""
        digest = value_digest([sent.digest(self.fn), sorted(self._hows.items())])
        outputs = [made.encodings, made.shapes]
        called = CachedFunction(self.fn, digest, outputs, self._options.cache_key, text_of(env))
        # The context of the task, which comes first, is no argument of the call.
        arguments = named_arguments(self._binding.signature, (None, *values), words)
        inputs = () if collector is None else collector.objects
        return plan_of_call(session, called, arguments, inputs)

    def _position(self, i: int) -> Position:
        """Name of a positional argument, and how it gets data objects."""
        if i < len(self._positions):
            return self._positions[i]
        name = self._binding.var_positional or ""
        return f"{name}[{i - len(self._positions)}]", *self._hows[name]

    def _keyword(self, key: str) -> How:
        known = self._hows.get(key)
        return self._hows[self._binding.var_keyword or ""] if known is None else known

    def _called_outputs(self, output: Any, outputs: Sequence[Any] | None) -> OutputSpec:
        if output is None and outputs is None:
            return self._outputs
        if outputs is None:
            outputs = (output,)
        elif output is not None:
            raise RainException("Use either output or outputs")
        return self._outputs.merged(outputs)

    def _new_shape(self, key: ShapeKey, made: OutputSpec) -> TaskShape:
        """The shape of the first call of its kind."""
        if len(self._shapes) >= SHAPES_REMEMBERED:
            self._shapes.clear()
        name, labels, _, env = key
        options = self._options if env is self._options.env else evolve(self._options, env=env)
        shape = self._shapes[key] = options.shape(name, labels, made.shapes)
        return shape

    def __reduce__(self) -> tuple[Any, ...]:
        # A function that calls itself, or another remote function, takes them along.
        return Remote, (self.fn, *self._said)

    def __repr__(self) -> str:
        return f"<Remote {self.name}>"


def remote(
    *misplaced: object,
    outputs: Any = None,
    inputs: Mapping[str, InputBase] | Sequence[object] = (),
    auto_load: bool | None = None,
    auto_encode: str | None = None,
    name: str | None = None,
    cpus: int = 1,
    memory: int | str | None = None,
    resources: Mapping[str, int | str] | None = None,
    duration: float | None = None,
    constraints: Mapping[str, object] | None = None,
    tries: int = 1,
    crash_tries: int | None = None,
    memory_tries: int | None = None,
    backoff: float | None = None,
    timeout: float | None = None,
    retry_on: RetryOn = None,
    priority: int = 0,
    cache: Cache = None,
    cache_key: object = None,
    idempotent: bool | None = None,
    env: Env | None = None,
    **misspelled: Never,
) -> Callable[[Function], Remote]:
    """A decorator: calls of the function become tasks. Write `@remote()` before the definition.

    >>> @remote(auto_encode="pickle")
    ... def mean(ctx, *numbers):
    ...     return sum(numbers) / len(numbers)
    >>> session.compute(mean(1, 2, 6)).load()
    3.0

    Args:
        outputs: the outputs: their number, their labels, or `Output` objects. One blob by default.
        inputs: `Input` objects by parameter name; parameters can also be annotated with them.
        auto_load: give the function values instead of data instances.
        auto_encode: the content type with which all outputs are encoded, for instance "pickle".
        name: the name of the tasks; by default the name of the function.
        cpus: how many cpus a call needs.
        memory: how much memory a call needs, as "2GiB"; by default what earlier calls have needed.
        resources: what else it needs, for instance `{"gpus": 1}`.
        duration: the seconds that a call is expected to take; a hint for the scheduler.
        constraints: where calls may run: `pin`, `spread`, `apart`.
        tries: how often a call may be run until it has failed.
        crash_tries: how often its process or its governor may end under it until it has failed;
            3, if the server was started without another number.
        memory_tries: how often a call may be ended for want of memory until it has failed; 4 by
            default. Each next run gets twice as much.
        backoff: seconds from a failed run to the next one; doubled with each further one.
        timeout: seconds that one run of a call may take from its start; then it is interrupted.
        retry_on: exception classes that are worth another try; by default all are.
        priority: from -1000 to 1000; of the waiting tasks of a session larger ones go first.
        cache: keep results for other runs of the program: True, or a folder.
        cache_key: what else the results depend on; with another one the function runs again.
        idempotent: calls may run twice at a time: one that is much slower than the others is run
            once more elsewhere, and the first run that ends wins.
        env: the packages, variables and files that calls need (see `Env`).
    """
    if misplaced:
        raise RainException("remote needs parentheses: write @remote() before the function")
    if misspelled:
        expect_known("remote", misspelled, _OPTIONS)

    words: OptionWords = {
        "name": name,
        "cpus": cpus,
        "memory": memory,
        "resources": resources,
        "duration": duration,
        "constraints": constraints,
        "tries": tries,
        "crash_tries": crash_tries,
        "memory_tries": memory_tries,
        "backoff": backoff,
        "timeout": timeout,
        "retry_on": retry_on,
        "priority": priority,
        "cache": cache,
        "cache_key": cache_key,
        "idempotent": idempotent,
        "env": env,
    }

    def decorate(fn: Function) -> Remote:
        return Remote(fn, outputs, inputs, auto_load, auto_encode, words)

    return decorate


def _pickled(
    session: "Session", value: Any, collector: InputCollector, position: Position
) -> bytes:
    """The pickle of an argument; of a large one, which is uploaded, what stands for it.

    Raises RainWarning for a large one with data objects inside, which cannot be uploaded.
    """
    name, load, _ = position
    known, referred = len(collector.objects), len(collector.references)
    if not is_surely_large(value):
        parts = pickle_argument(value, collector, *position)
        if length_of(parts) <= LARGEST_PICKLE:
            return joined(parts)
        if len(collector.objects) > known:
            raise RainWarning(
                f"Pickled object {name} length {length_of(parts)} is over {LARGEST_PICKLE} bytes;"
                " it would be sent with every call, because there are data objects inside of it."
                f" {advice_to_upload(name, load)}"
            )
        if len(collector.references) == referred:
            sent = session.large_arguments.sent(parts, name)
            return placeholder(name, collector.add(name, sent), load=True)
        del collector.references[referred:]  # they are inside of what is uploaded
    uploaded = session.large_arguments.uploaded(value, name)
    return placeholder(name, collector.add(name, uploaded), load=True)


_OPTIONS = tuple(remote.__annotations__)[1:-2]
"""Without what is misplaced, what is misspelled, and what it gives."""
