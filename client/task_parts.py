"""Checks and encodes the parts of a task that users give: inputs, outputs and the config."""

import base64
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgpack

from rain.client.data import DataObject, output_object, to_dataobj
from rain.client.guards import is_labeled_list, is_tuple
from rain.client.output import to_output
from rain.client.shapes import PLAIN_BLOB, ObjectShape
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.session import Session

PYTHON_TASK = "py/"


def _pairs(values: Iterable[Any], *, tuples: bool) -> list[tuple[Any, Any]]:
    """Labels (or None) and values; a tuple may stand for both."""
    if is_labeled_list(values):
        return list(values.items())
    return [
        (value[0], value[1]) if tuples and is_tuple(value) else (None, value) for value in values
    ]


def labelled_inputs(
    inputs: Iterable[Any],
) -> tuple[tuple[str | None, ...], tuple[DataObject, ...]]:
    """The labels of the inputs, if there are any, and the data objects that they stand for."""
    pairs = _pairs(inputs, tuples=True)
    named = [label for label, _ in pairs if label is not None]
    if len(set(named)) < len(named):
        raise KeyError(f"the labels of the inputs are not unique: {named}")
    labels = tuple([label for label, _ in pairs]) if named else ()
    return labels, tuple([to_dataobj(value) for _, value in pairs])


def made_objects(session: "Session", outputs: Any) -> tuple[DataObject, ...]:
    """The handles of the outputs: their number, or labels, descriptions and handles."""
    if outputs is None:
        return ()
    if isinstance(outputs, int):
        return tuple([output_object(session, PLAIN_BLOB) for _ in range(outputs)])
    if isinstance(outputs, str):
        raise TypeError(f"outputs is a sequence; for a single one write [{outputs!r}]")
    return tuple(
        [_made_object(session, value, label) for label, value in _pairs(outputs, tuples=False)]
    )


def _made_object(session: "Session", value: Any, label: str | None) -> DataObject:
    if isinstance(value, DataObject):
        return value
    shape: ObjectShape = to_output(value).shape(label)
    return output_object(session, shape)


def encoded_config(task_type: str, config: Any) -> bytes:
    """The config as the wire wants it; Python tasks bring theirs ready-made."""
    if config is None:
        return b""
    try:
        return json.dumps(config).encode()
    except (TypeError, ValueError) as error:
        raise RainException(f"The config of a {task_type!r} task is not JSON: {error}") from error


def decoded_config(task_type: str, config: bytes) -> Any:
    """The config as Rain 0.4 shows it."""
    if not config:
        return None
    if task_type != PYTHON_TASK:
        return json.loads(config)
    packed: dict[str, Any] = msgpack.unpackb(config)
    return {
        "args": [base64.b64encode(arg).decode() for arg in packed["args"]],
        "kwargs": {name: base64.b64encode(arg).decode() for name, arg in packed["kwargs"].items()},
        "encode_outputs": packed["encode_outputs"],
    }
