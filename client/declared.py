"""The inputs and outputs that a remote function declares: in the decorator or by annotations."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rain.client.input import InputBase
from rain.client.output import is_outputs
from rain.common.errors import RainException

Function = Callable[..., Any]
How = tuple[bool, str | None]
"""How a parameter gets data objects: whether they are loaded, and as which content type."""


def annotations_of(fn: Function) -> dict[str, Any]:
    """The annotations of a function, evaluated where they are texts that can be."""
    try:
        return inspect.get_annotations(fn, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return inspect.get_annotations(fn)


def chosen_outputs(fn: Function, outputs: Any, annotations: Mapping[str, Any]) -> Any:
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


def chosen_inputs(
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


def how_loaded(given: InputBase | None, auto_load: bool | None) -> How:
    """How a parameter with this `Input`, or without one, gets data objects."""
    load = auto_load if given is None or given.load is None else given.load
    return bool(load), None if given is None else given.content_type
