"""What a server says to governors in tests: ids, kinds and columns, in short."""

from rain.base.attempts import ONE_TRY, Attempts
from rain.base.ids import KindId, ObjectId, TaskId, pack
from rain.base.kinds import TaskKind
from rain.base.resources import ONE_CPU, Resources
from rain.base.wire.orders import AssignedTasks

PLAIN = 1  # the number of the kind of objects that every session of these tests has
LISTS = 90  # and of lists of exchanges


def task_id(number: int, session: int = 1) -> TaskId:
    return TaskId(pack(session, number))


def object_id(number: int, session: int = 1) -> ObjectId:
    return ObjectId(pack(session, number))


def kind_id(number: int, session: int = 1) -> KindId:
    return KindId(pack(session, number))


def add_task(
    tasks: AssignedTasks,
    task: TaskId,
    kind: TaskKind,
    inputs: list[ObjectId],
    outputs: list[ObjectId],
    run: int = 1,
    priority: int = 0,
    need: int = 0,
) -> None:
    tasks.ids.append(task)
    tasks.runs.append(run)
    tasks.kinds.append(kind.id)
    tasks.priorities.append(priority)
    tasks.configs.append(b"")
    tasks.input_counts.append(len(inputs))
    tasks.inputs.extend(inputs)
    tasks.outputs.extend(outputs)
    tasks.needs.append(need)


def python_kind(
    number: int = 2,
    *,
    outputs: int = 1,
    session: int = 1,
    resources: Resources = ONE_CPU,
    task_type: str = "py/",
    depth: int = 0,
    priority: int = 0,
    cache: str = "",
    attempts: Attempts = ONE_TRY,
) -> TaskKind:
    made = (kind_id(PLAIN, session),) * outputs
    return TaskKind(
        kind_id(number, session),
        task_type,
        "f",
        resources,
        outputs=made,
        depth=depth,
        priority=priority,
        cache=cache,
        attempts=attempts,
    )


def builtin_kind(
    number: int = 3,
    *,
    outputs: int = 1,
    session: int = 1,
    resources: Resources = ONE_CPU,
    method: str = "concat",
    cache: str = "",
) -> TaskKind:
    return python_kind(
        number,
        outputs=outputs,
        session=session,
        resources=resources,
        task_type=f"buildin/{method}",
        cache=cache,
    )
