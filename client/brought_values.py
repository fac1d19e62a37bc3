"""`compute` takes values, also of functions that do not say how these are encoded.

In Rain 0.4 such a function returns bytes, `str` or data, and anything else is an error. That rule
stays for all that a program or a task in another language reads. What only Python reads is pickled,
in graphs that `compute` submits.
"""

from collections.abc import Sequence
from typing import Any

import msgpack

from rain.base.executor_protocol import DATA_OR_PICKLE
from rain.client.data import DataObject
from rain.client.task import Task
from rain.client.task_parts import PYTHON_TASK

_pack = msgpack.Packer().pack


def pickle_what_is_no_data(pending: Sequence[Task]) -> None:
    """Changes the configs of the functions among these tasks, before they are sent."""
    makers = list[Task]()
    read_as_bytes = set[DataObject]()
    for task in pending:
        if task.wire_shape.task_type != PYTHON_TASK:
            read_as_bytes.update(task.input_objects)
        elif any(obj.wire_shape.content_type is None for obj in task.output_objects):
            makers.append(task)
    for task in makers:
        config: dict[str, Any] = msgpack.unpackb(task.wire_config)
        config["encode_outputs"] = [
            DATA_OR_PICKLE if how is None and obj not in read_as_bytes else how
            for how, obj in zip(config["encode_outputs"], task.output_objects, strict=True)
        ]
        task.wire_config = _pack(config)
