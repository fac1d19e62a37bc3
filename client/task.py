"""The class `Task`: one piece of work that reads data objects and makes others."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import evolve

from rain.base.attempts import Attempts
from rain.base.ids import TaskId, unpack
from rain.base.resources import CPUS
from rain.base.wire.answers import TaskMemory
from rain.client.active import get_active_session
from rain.client.data import DataObject
from rain.client.explaining.stack import Stack, here
from rain.client.explaining.tracebacks import hides_frames
from rain.client.rpc.common import WITHOUT_RESULT, TaskState
from rain.client.shapes import (
    TaskShape,
    checked_attempts,
    checked_constraints,
    checked_duration,
    checked_idempotent,
    checked_priority,
    checked_resources,
    checked_tries,
    notes_as_json,
)
from rain.client.task_parts import (
    PYTHON_TASK,
    decoded_config,
    encoded_config,
    labelled_inputs,
    made_objects,
)
from rain.client.unit import Unit
from rain.common.attributes import TaskInfo, TaskSpec, TaskSpecInput
from rain.common.errors import RainException
from rain.common.ids import ID
from rain.common.labeled_list import LabeledList

if TYPE_CHECKING:
    from rain.client.session import Session
    from rain.common.data_instance import DataInstance


class Task:
    """One task of a session.

    Remote functions, programs and the classes of `rain.client.tasks` make tasks. For an executor of
    your own, write a subclass with `TASK_TYPE = "executor/method"`. Use the properties; the other
    attributes belong to the library.

    >>> text = tasks.Concat((blob("ra"), blob("in")), name="greeting")
    >>> len(text.inputs), text.name
    (2, 'greeting')
    """

    TASK_TYPE: ClassVar[str | None] = None

    session: "Session"
    packed_id: TaskId
    wire_shape: TaskShape
    wire_config: bytes
    input_objects: tuple[DataObject, ...]
    output_objects: tuple[DataObject, ...]
    submission: int  # which submit of the session took it, 0 for none yet
    known_state: TaskState | None
    known_info: TaskInfo | None
    given_spec: TaskSpec | None  # made when it is read
    created_at: Stack
    unit: Unit | None = None  # not a slot: few tasks are in one

    __slots__ = (
        "__dict__",
        "__weakref__",
        "created_at",
        "given_spec",
        "input_objects",
        "known_info",
        "known_state",
        "output_objects",
        "packed_id",
        "session",
        "submission",
        "wire_config",
        "wire_shape",
    )

    def __init__(
        self,
        inputs: Iterable[Any] = (),
        outputs: int | Sequence[Any] | LabeledList[Any] | None = None,
        *,
        config: Any = None,
        session: "Session | None" = None,
        task_type: str | None = None,
        cpus: int = 1,
        name: str | None = None,
        user_spec: Mapping[str, Any] | None = None,
        resources: Mapping[str, int | str] | None = None,
        duration: float | None = None,
        constraints: Mapping[str, object] | None = None,
        tries: int = 1,
        crash_tries: int | None = None,
        backoff: float | None = None,
        timeout: float | None = None,
        attempts: Attempts | None = None,
        priority: int = 0,
        cache: str = "",
        idempotent: bool | None = None,
        environment: str = "",
    ) -> None:
        task_type = task_type or self.TASK_TYPE
        if task_type is None:
            raise ValueError(
                f"{type(self).__name__} has no task type: set TASK_TYPE or give task_type"
            )
        if session is None:
            session = get_active_session()
        labels, objects = labelled_inputs(inputs)
        made = made_objects(session, outputs)
        shape = TaskShape(
            task_type,
            name,
            checked_resources(task_type, {CPUS: cpus, **(resources or {})}),
            labels,
            tuple(obj.wire_shape for obj in made),
            notes_as_json(f"task {task_type!r}", user_spec or {}),
            checked_duration(task_type, duration),
            checked_constraints(task_type, constraints),
            checked_attempts(task_type, tries, crash_tries, backoff, timeout)
            if attempts is None
            else attempts,
            checked_priority(task_type, priority),
            cache,
            checked_idempotent(task_type, idempotent),
            environment,
        )
        fill_task(self, session, shape, encoded_config(task_type, config), objects, made, here())
        session.add_task(self)

    def __del__(self) -> None:
        # As of data objects.
        try:
            if not self.submission:
                return
            if self.unit is None:
                self.session.drop_task(self.packed_id, self.known_state)
            else:
                self.session.drop_member(self.unit, self.packed_id, self.state)
        except AttributeError:  # a handle that was never finished, or is none of anybody's
            pass

    @property
    def id(self) -> ID:
        """The session and the number of the task.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.id.session_id == session.session_id
        True
        """
        return unpack(self.packed_id)

    @property
    def _session(self) -> "Session":
        """The name that programs for Rain 0.4 know."""
        return self.session

    @property
    def name(self) -> str | None:
        """The name that logs, errors and the dashboard show; None if it has none.

        >>> tasks.Concat((blob("ra"), blob("in")), name="greeting").name
        'greeting'
        """
        return self.wire_shape.name if self.given_spec is None else self.given_spec.name

    @property
    def tries(self) -> int:
        """How often the task may run before it counts as failed; can be changed until `submit()`.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.tries = 3
        """
        return self.wire_shape.attempts.tries if self.given_spec is None else self.given_spec.tries

    @tries.setter
    def tries(self, tries: int) -> None:
        self.spec.tries = checked_tries(repr(self), tries)

    @property
    def priority(self) -> int:
        """Of the waiting tasks of a session, those with larger priorities run first.

        It can be changed until `submit()`, and is a whole number from -1000 to 1000.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.priority = 10
        """
        return self.wire_shape.priority if self.given_spec is None else self.given_spec.priority

    @priority.setter
    def priority(self, priority: int) -> None:
        self.spec.priority = checked_priority(repr(self), priority)

    @property
    def task_type(self) -> str:
        """Which executor runs it, and what it does there: "executor/method".

        >>> tasks.Concat((blob("ra"), blob("in"))).task_type
        'buildin/concat'
        """
        return self.wire_shape.task_type

    @property
    def state(self) -> TaskState | None:
        """The last known state, None before `submit()`. Waits and `update()` refresh it.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait()
        >>> text.state.name
        'finished'
        """
        state = self.known_state
        if self.submission == 0 or state in WITHOUT_RESULT:
            return state
        if self.submission <= self.session.finished_submissions:
            return TaskState.finished
        return state or TaskState.notAssigned

    @property
    def spec(self) -> TaskSpec:
        """The description of the task. All but type, inputs and outputs can change until `submit`.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.spec.user = {"station": 7}
        >>> text.spec.resources
        {'cpus': 1}
        """
        if self.given_spec is None:
            shape = self.wire_shape
            labels = shape.labels or (None,) * len(self.input_objects)
            self.given_spec = TaskSpec(
                self.id,
                shape.task_type,
                decoded_config(shape.task_type, self.wire_config),
                [
                    TaskSpecInput(obj.id, label)
                    for obj, label in zip(self.input_objects, labels, strict=True)
                ],
                [obj.id for obj in self.output_objects],
                dict(shape.resources),
                shape.name,
                json.loads(shape.user) if shape.user else {},
                shape.attempts.tries,
                shape.priority,
            )
        return self.given_spec

    @property
    def info(self) -> TaskInfo | None:
        """Notes on the run of the task: times, governor, error. None until `update()`.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait()
        >>> text.update()
        >>> text.info.governor.startswith("127.0.0.1:")
        True
        """
        return self.known_info

    @property
    def inputs(self) -> LabeledList[DataObject]:
        """The data objects that it reads, by position or by label.

        >>> text = tasks.Concat((blob("ra", "first"), blob("in", "second")))
        >>> [data.label for data in text.inputs]
        ['first', 'second']
        """
        return LabeledList(self.input_objects, self.wire_shape.labels or None)

    def let_inputs_go(self) -> None:
        """Drops the handles of its inputs. The task has no `spec` any more."""
        constants = [one for one in self.input_objects if one.constant is not None]
        self.input_objects = tuple(constants)

    @property
    def outputs(self) -> LabeledList[DataObject]:
        """The data objects that it makes, by position or by label.

        >>> @remote(outputs=["even", "odd"])
        ... def split(ctx, n):
        ...     return str(n // 2), str(n // 2 + n % 2)
        >>> parts = split(7)
        >>> session.compute(parts.outputs["odd"]).get_str()
        '4'
        """
        return LabeledList(self.output_objects, [obj.label for obj in self.output_objects])

    @property
    def output(self) -> DataObject:
        """The output of a task that has exactly one.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.compute(text.output).get_str()
        'rain'
        """
        if len(self.output_objects) != 1:
            raise RainException(
                f"{self!r} has {len(self.output_objects) or 'no'} outputs, and .output is for tasks"
                " with exactly one: see task.outputs"
            )
        return self.output_objects[0]

    def keep_outputs(self) -> None:
        """Keeps all outputs, as `DataObject.keep` does.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.keep_outputs()
        >>> session.submit()
        >>> [data.get_str() for data in text.fetch_outputs()]
        ['rain']
        """
        for obj in self.output_objects:
            obj.keep()

    def unkeep_outputs(self) -> None:
        """Releases all outputs: they are deleted when no task needs them.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.keep_outputs()
        >>> text.unkeep_outputs()
        >>> text.output.is_kept()
        False
        """
        self.session.unkeep(self.output_objects)

    @hides_frames
    def fetch_outputs(self) -> "list[DataInstance]":
        """The data of all outputs; waits until they are finished.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.keep_outputs()
        >>> session.submit()
        >>> [data.get_str() for data in text.fetch_outputs()]
        ['rain']
        """
        return self.session.fetch_all(self.output_objects)

    @hides_frames
    def wait(self, timeout: float | None = None) -> None:
        """Waits until the task is finished.

        Raises `TaskException` if it fails, `TimeoutException` after `timeout` seconds.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait(timeout=60)
        """
        self.session.wait((self,), timeout=timeout)

    def cancel(self, recursive: bool = True, grace: float | None = None) -> None:
        """Cancels the task, even if it is running, and all that depends on it (`Session.cancel`).

        >>> slow = tasks.Sleep(blob("x"), 600)
        >>> session.submit()
        >>> slow.cancel()
        """
        self.session.cancel((self,), recursive, grace)

    @hides_frames
    def update(self) -> None:
        """Asks the server for the current state and info.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait()
        >>> text.update()
        >>> text.info.duration is not None
        True
        """
        self.session.update((self,))

    def logs(self) -> str:
        """The output of the task; while it runs, the output so far.

        The text of stdout comes first. The text of stderr follows below a line "[stderr]".

        >>> @remote()
        ... def talk(ctx):
        ...     print("hello")
        ...     return ""
        >>> task = talk()
        >>> session.submit()
        >>> task.wait()
        >>> task.logs()
        'hello\\n'
        """
        return self.session.logs(self)

    def memory(self) -> TaskMemory | None:
        """The memory that the task has now, if it runs; None if it does not.

        The governor is asked for its last sample, which is at most a second old. The memory is that
        of the process that runs the task. This includes what the process keeps of earlier tasks,
        and all processes that it has started.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait()
        >>> text.memory() is None
        True
        """
        return self.session.memory(self)

    def settle(self) -> TaskShape:
        """Makes the final shape, with the changes that the user has made in the specs."""
        shape = self.wire_shape
        outputs = tuple([obj.settle() for obj in self.output_objects])
        spec = self.given_spec
        if spec is None:
            shape = shape._replace(outputs=outputs)
        else:
            if shape.task_type != PYTHON_TASK:
                self.wire_config = encoded_config(shape.task_type, spec.config)
            shape = shape._replace(
                name=spec.name,
                resources=checked_resources(repr(self), spec.resources),
                outputs=outputs,
                user=notes_as_json(repr(self), spec.user),
                attempts=evolve(shape.attempts, tries=checked_tries(repr(self), spec.tries)),
                priority=checked_priority(repr(self), spec.priority),
            )
        self.wire_shape = shape
        return shape

    def __repr__(self) -> str:
        return describe(self.packed_id, self.wire_shape)


def describe(packed_id: int, shape: TaskShape) -> str:
    """A task as messages name it."""
    name = "" if shape.name is None else f" {shape.name!r}"
    return f"<Task {unpack(packed_id)}{name} type={shape.task_type}>"


def fill_task(
    task: Task,
    session: "Session",
    shape: TaskShape,
    config: bytes,
    inputs: tuple[DataObject, ...],
    outputs: tuple[DataObject, ...],
    created_at: Stack,
) -> None:
    task.session = session
    task.packed_id = session.next_id()
    task.wire_shape = shape
    task.wire_config = config
    task.input_objects = inputs
    task.output_objects = outputs
    task.submission = 0
    task.known_state = None
    task.known_info = None
    task.given_spec = None
    task.created_at = created_at
