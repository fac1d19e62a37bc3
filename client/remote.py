"""Remote functions: Python functions whose calls become tasks."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle
import msgpack

from rain.base.resources import CPUS
from rain.client.active import get_active_session
from rain.client.arguments import PROTOCOL, InputCollector, Position, pickle_argument, pickle_plain
from rain.client.data import DataObject, constant_object
from rain.client.input import InputBase
from rain.client.output import OutputSpec, is_outputs
from rain.client.shapes import (
    ObjectShape,
    TaskShape,
    checked_constraints,
    checked_duration,
    checked_resources,
    checked_tries,
)
from rain.client.stack import here
from rain.client.task import PYTHON_TASK, Task, quick_task
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.session import Session

Function = Callable[..., Any]
How = tuple[bool, str | None]
"""How a parameter gets data objects: whether they are loaded, and as which content type."""

ShapeKey = tuple[str, tuple[str | None, ...], tuple[ObjectShape, ...] | None]
"""Name of a call, labels of its inputs, and its outputs if they are not those of the function."""

FUNCTION = "cloudpickle"
"""The content type of functions, which are constants."""

_pickle_function: Callable[[Any, int], bytes] = cloudpickle.dumps  # pyright: ignore[reportUnknownMemberType] # not annotated
_POSITIONAL = frozenset(
    {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
)
_SHAPES_REMEMBERED = 1000
_pack: Callable[[object], bytes] = msgpack.Packer().pack  # a new packer for each call is slower


class Remote:
    """A function that runs in executors; a call makes a task in the active session.

    The function gets the context of its task before the arguments of the call.
    """

    def __init__(
        self,
        fn: Function,
        *,
        outputs: Any = None,
        inputs: Mapping[str, InputBase] | Sequence[object] = (),
        auto_load: bool | None = None,
        auto_encode: str | None = None,
        name: str | None = None,
        cpus: int = 1,
        resources: Mapping[str, int | str] | None = None,
        duration: float | None = None,
        constraints: Mapping[str, object] | None = None,
        tries: int = 1,
    ) -> None:
        if not inspect.isfunction(fn):
            raise RainException(f"remote: a plain function is expected, not {fn!r}")
        self.fn: Function = fn
        self.name: str = name or fn.__name__
        self.__name__ = fn.__name__
        self.__doc__ = fn.__doc__
        self._options = {
            "outputs": outputs,
            "inputs": inputs,
            "auto_load": auto_load,
            "auto_encode": auto_encode,
            "name": name,
            "cpus": cpus,
            "resources": resources,
            "duration": duration,
            "constraints": constraints,
            "tries": tries,
        }
        annotations = _annotations(fn)
        self._outputs = OutputSpec(_chosen_outputs(fn, outputs, annotations), auto_encode)
        self._resources = checked_resources(self.name, {CPUS: cpus, **(resources or {})})
        self._duration = checked_duration(self.name, duration)
        self._constraints = checked_constraints(self.name, constraints)
        self._tries = checked_tries(self.name, tries)
        self._shapes: dict[ShapeKey, TaskShape] = {}
        self._signature = inspect.signature(fn)
        parameters = list(self._signature.parameters.values())
        given = _chosen_inputs(fn, inputs, annotations)
        self._hows = {p.name: _how(given.get(p.name), auto_load) for p in parameters}
        self._read_parameters(parameters)

    def _read_parameters(self, parameters: list[inspect.Parameter]) -> None:
        """What calls need to know of the parameters, the first of which is the context."""
        by_kind = {p.kind: p.name for p in parameters}
        first = parameters[0].kind if parameters else None
        if first not in {*_POSITIONAL, inspect.Parameter.VAR_POSITIONAL}:
            raise RainException(f"remote: {self.name} needs a first parameter for the context")
        self._var_positional = by_kind.get(inspect.Parameter.VAR_POSITIONAL)
        self._var_keyword = by_kind.get(inspect.Parameter.VAR_KEYWORD)
        plain = [p for p in parameters[1:] if p.kind in _POSITIONAL]
        self._positions = [(p.name, *self._hows[p.name]) for p in plain]
        self._required = sum(p.default is p.empty for p in plain)
        # Calls of other functions, and calls with keywords, are bound by Python's own rules.
        simple = by_kind.keys() <= {*_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        self._most = len(plain) if simple else -1

    def __call__(
        self,
        *args: Any,
        output: Any = None,
        outputs: Sequence[Any] | None = None,
        name: str | None = None,
        session: "Session | None" = None,
        **kwargs: Any,
    ) -> Task:
        """The task of one call; TypeError where the function itself would raise it."""
        if session is None:
            session = get_active_session()
        created_at = here(1)
        made = self._outputs
        if output is not None or outputs is not None:
            made = self._called_outputs(output, outputs)
        function = session.functions.get(self) or self._upload_to(session)
        fits = not kwargs and self._required <= len(args) <= self._most
        named: dict[str, bytes] = {}
        collector: InputCollector | None
        plain = pickle_plain(args, self._positions, function) if fits else None
        if plain is not None:
            pickles, collector = plain
        else:
            collector = InputCollector(function)
            values, keywords = (args, kwargs) if fits else self._bound(args, kwargs)
            pickles = [
                pickle_argument(value, collector, *self._position(i))
                for i, value in enumerate(values)
            ]
            named = {
                key: pickle_argument(value, collector, key, *self._keyword(key))
                for key, value in keywords.items()
            }
        config = _pack({"args": pickles, "kwargs": named, "encode_outputs": made.encodings})
        inputs: tuple[DataObject, ...] = function
        labels: tuple[str | None, ...] = ()
        if collector is not None and len(collector.objects) > 1:
            inputs, labels = tuple(collector.objects), tuple(collector.labels)
        key = (name or self.name, labels, None if made is self._outputs else made.shapes)
        shape = self._shapes.get(key) or self._new_shape(key, made)
        return quick_task(session, shape, config, inputs, created_at)

    def _bound(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments as Python itself shares them out among the parameters."""
        try:
            bound = self._signature.bind(None, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        return bound.args[1:], bound.kwargs

    def _position(self, i: int) -> Position:
        """Name of a positional argument, and how it gets data objects."""
        if i < len(self._positions):
            return self._positions[i]
        name = self._var_positional or ""
        return f"{name}[{i - len(self._positions)}]", *self._hows[name]

    def _keyword(self, key: str) -> How:
        known = self._hows.get(key)
        return self._hows[self._var_keyword or ""] if known is None else known

    def _called_outputs(self, output: Any, outputs: Sequence[Any] | None) -> OutputSpec:
        if outputs is None:
            outputs = (output,)
        elif output is not None:
            raise RainException("Use either output or outputs")
        return self._outputs.merged(outputs)

    def _new_shape(self, key: ShapeKey, made: OutputSpec) -> TaskShape:
        """The shape of the first call of its kind."""
        if len(self._shapes) >= _SHAPES_REMEMBERED:
            self._shapes.clear()
        name, labels, _ = key
        shape = self._shapes[key] = TaskShape(
            PYTHON_TASK,
            name,
            self._resources,
            labels,
            made.shapes,
            "",
            self._duration,
            self._constraints,
            tries=self._tries,
        )
        return shape

    def _upload_to(self, session: "Session") -> tuple[DataObject]:
        """The pickled function, which is uploaded to a session once, as the first of all inputs."""
        data = _pickle_function(self.fn, PROTOCOL)
        obj = constant_object(session, ObjectShape(self.__name__, FUNCTION), data)
        obj.keep()
        return session.functions.setdefault(self, (obj,))

    def __reduce__(self) -> tuple[Any, ...]:
        # A function that calls itself, or another remote function, takes them along.
        return _rebuilt, (self.fn, self._options)

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
    resources: Mapping[str, int | str] | None = None,
    duration: float | None = None,
    constraints: Mapping[str, object] | None = None,
    tries: int = 1,
) -> Callable[[Function], Remote]:
    """Makes a function a remote one: `@remote()` before its definition."""
    if misplaced:
        raise RainException("remote needs parentheses: write @remote() before the function")

    def decorate(fn: Function) -> Remote:
        return Remote(
            fn,
            outputs=outputs,
            inputs=inputs,
            auto_load=auto_load,
            auto_encode=auto_encode,
            name=name,
            cpus=cpus,
            resources=resources,
            duration=duration,
            constraints=constraints,
            tries=tries,
        )

    return decorate


def _rebuilt(fn: Function, options: dict[str, Any]) -> Remote:
    return Remote(fn, **options)


def _annotations(fn: Function) -> dict[str, Any]:
    """The annotations of a function, evaluated where they are texts that can be."""
    try:
        return inspect.get_annotations(fn, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return inspect.get_annotations(fn)


def _chosen_outputs(fn: Function, outputs: Any, annotations: Mapping[str, Any]) -> Any:
    """The outputs as `outputs` or the return annotation says; one blob unless said."""
    annotated = annotations.get("return")
    if not is_outputs(annotated):
        return 1 if outputs is None else outputs
    if outputs is not None:
        raise RainException(
            f"remote: the outputs of {fn.__name__} are given twice: by outputs and by its"
            " return annotation"
        )
    return annotated


def _chosen_inputs(
    fn: Function,
    inputs: Mapping[str, InputBase] | Sequence[object],
    annotations: Mapping[str, Any],
) -> dict[str, InputBase]:
    """The inputs by parameter, as `inputs` or the annotations say."""
    annotated = {
        name: value
        for name, value in annotations.items()
        if isinstance(value, InputBase) and name != "return"
    }
    if not inputs:
        return annotated
    if annotated:
        raise RainException(
            f"remote: the inputs of {fn.__name__} are given twice: by inputs and by annotations"
        )
    if not isinstance(inputs, Mapping):
        raise RainException("remote: inputs is a dictionary: parameter names to Input objects")
    for name, value in inputs.items():
        if name not in inspect.signature(fn).parameters:
            raise RainException(f"remote: {fn.__name__} has no parameter {name!r}")
        if not isinstance(value, InputBase):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
            raise RainException(f"remote: inputs[{name!r}] must be an Input, not {value!r}")
    return dict(inputs)


def _how(given: InputBase | None, auto_load: bool | None) -> How:
    load = auto_load if given is None or given.load is None else given.load
    return bool(load), None if given is None else given.content_type
