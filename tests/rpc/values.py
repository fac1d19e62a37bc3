"""Values of every type that travels, made by hypothesis."""

from hypothesis import strategies as st

from rain.base.attempts import Attempts
from rain.base.constraints import Constraints
from rain.base.failures import SessionFailure
from rain.base.ids import KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.near import Near
from rain.base.resources import Resources
from rain.base.runs import TOLD_BY_GOVERNORS, RunCause, RunReport, RunState
from rain.base.states import ObjectState, TaskState
from rain.base.transfers import Transfers
from rain.base.wire.answers import (
    DataLink,
    Delivery,
    Fetched,
    GovernorReport,
    ObjectReport,
    TaskMemory,
    TaskReport,
    WaitAnswer,
)
from rain.base.wire.orders import (
    AskedRuns,
    AssignedTasks,
    LentObjects,
    Orders,
    PlacedObjects,
)
from rain.base.wire.submission import ConstantColumns, Submission, TaskColumns
from rain.base.wire.update import (
    FinishedTasks,
    Monitoring,
    ObjectNote,
    TaskFailure,
    TaskNote,
    Update,
)

FEW = 4

numbers = st.integers(0, 2**32 - 1)
sessions = st.integers(1, 2**31 - 1).map(SessionId)
packed = st.builds(pack, sessions, numbers)
task_ids = packed.map(TaskId)
object_ids = packed.map(ObjectId)
kind_ids = packed.map(KindId)
sizes = st.integers(0, 2**62)
texts = st.text(max_size=12)
data = st.binary(max_size=40)
seconds = st.floats(0, 1e6)
names = st.text(min_size=1, max_size=8).filter(lambda name: name != "cpus")


def _resources(cpus: int, others: dict[str, int]) -> Resources:
    return Resources.of({**others, "cpus": cpus})


resources = st.builds(
    _resources,
    st.integers(0, 1000),
    st.dictionaries(names, st.integers(1, 2**60), max_size=2),
)
object_kinds = st.builds(
    ObjectKind, kind_ids, texts, texts, st.sampled_from(DataType), texts, sizes
)
task_kinds = st.builds(
    TaskKind,
    kind_ids,
    texts,
    texts,
    resources,
    st.lists(texts, max_size=3).map(tuple),
    st.lists(kind_ids, max_size=3).map(tuple),
    texts,
    seconds,
    st.none()
    | st.builds(Constraints, st.lists(texts, max_size=2).map(tuple), texts, texts).filter(
        lambda wishes: wishes != Constraints()
    ),
    st.builds(
        Attempts,
        numbers,
        numbers,
        seconds,
        seconds,
        data,
        st.lists(st.integers(-64, 255), max_size=3).map(tuple),
        st.booleans(),
        numbers,
    ),
    idempotent=st.booleans(),
    near=st.lists(st.builds(Near, st.lists(texts, max_size=2).map(tuple), sizes), max_size=2).map(
        tuple
    ),
)


statuses = st.none() | st.integers(-64, 255)
task_failures = st.builds(
    TaskFailure,
    task_ids,
    numbers,
    texts,
    texts,
    cause=st.sampled_from(sorted(TOLD_BY_GOVERNORS, key=str)),
    status=statuses,
    retryable=st.booleans(),
    peak=sizes,
)


@st.composite
def task_columns(draw: st.DrawFn) -> TaskColumns:
    count = draw(st.integers(0, FEW))
    input_counts = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    return TaskColumns(
        ids=draw(st.lists(task_ids, min_size=count, max_size=count)),
        kinds=draw(st.lists(kind_ids, min_size=count, max_size=count)),
        configs=draw(st.lists(data, min_size=count, max_size=count)),
        input_counts=input_counts,
        inputs=draw(st.lists(object_ids, min_size=sum(input_counts), max_size=sum(input_counts))),
        outputs=draw(st.lists(object_ids, max_size=FEW)) if count else [],
    )


@st.composite
def constants(draw: st.DrawFn) -> ConstantColumns:
    count = draw(st.integers(0, FEW))
    return ConstantColumns(
        ids=draw(st.lists(object_ids, min_size=count, max_size=count)),
        kinds=draw(st.lists(kind_ids, min_size=count, max_size=count)),
        data=draw(st.lists(data, min_size=count, max_size=count)),
    )


submissions = st.builds(
    Submission,
    sessions,
    st.lists(task_kinds, max_size=2),
    st.lists(object_kinds, max_size=2),
    task_columns(),
    constants(),
    st.lists(object_ids, max_size=FEW),
)


@st.composite
def placed_objects(draw: st.DrawFn) -> PlacedObjects:
    count = draw(st.integers(0, FEW))
    return PlacedObjects(
        ids=draw(st.lists(object_ids, min_size=count, max_size=count)),
        kinds=draw(st.lists(kind_ids, min_size=count, max_size=count)),
        content_types=draw(st.lists(texts, min_size=count, max_size=count)),
        sizes=draw(st.lists(sizes, min_size=count, max_size=count)),
        sources=draw(st.lists(texts, min_size=count, max_size=count)),
        data=draw(st.lists(data, min_size=count, max_size=count)),
    )


@st.composite
def lent_objects(draw: st.DrawFn) -> LentObjects:
    count = draw(st.integers(0, FEW))
    kind = draw(st.none() | kind_ids)  # all are of one kind, as nearly always
    return LentObjects(
        ids=draw(st.lists(object_ids, min_size=count, max_size=count)),
        kinds=draw(st.lists(st.just(kind) if kind else kind_ids, min_size=count, max_size=count)),
        content_types=draw(st.lists(texts, min_size=count, max_size=count)),
        data=draw(st.lists(data, min_size=count, max_size=count)),
    )


@st.composite
def assigned_tasks(draw: st.DrawFn) -> AssignedTasks:
    tasks = draw(task_columns())
    count = len(tasks.ids)
    return AssignedTasks(
        ids=list(tasks.ids),
        runs=draw(st.lists(numbers, min_size=count, max_size=count)),
        kinds=list(tasks.kinds),
        priorities=draw(st.lists(st.integers(-(2**62), 2**62), min_size=count, max_size=count)),
        configs=tasks.configs,
        input_counts=list(tasks.input_counts),
        inputs=list(tasks.inputs),
        outputs=list(tasks.outputs),
        needs=draw(st.just([]) | st.lists(st.integers(1, 2**60), min_size=count, max_size=count)),
    )


@st.composite
def asked_runs(draw: st.DrawFn) -> AskedRuns:
    count = draw(st.integers(0, FEW))
    return AskedRuns(
        draw(st.lists(task_ids, min_size=count, max_size=count)),
        draw(st.lists(numbers, min_size=count, max_size=count)),
    )


@st.composite
def some_orders(draw: st.DrawFn) -> Orders:
    stops = draw(st.integers(0, FEW))
    return Orders(
        forget_sessions=draw(st.lists(sessions, max_size=FEW)),
        stop_ids=draw(st.lists(task_ids, min_size=stops, max_size=stops)),
        stop_runs=draw(st.lists(numbers, min_size=stops, max_size=stops)),
        drops=draw(st.lists(object_ids, max_size=FEW)),
        task_kinds=draw(st.lists(task_kinds, max_size=2)),
        object_kinds=draw(st.lists(object_kinds, max_size=2)),
        objects=draw(placed_objects()),
        lent=draw(lent_objects()),
        tasks=draw(assigned_tasks()),
        asked=draw(asked_runs()),
    )


above_zero = st.floats(0.5, 1e6)  # a column of zeros is as good as none


@st.composite
def finished_tasks(draw: st.DrawFn) -> FinishedTasks:
    count = draw(st.integers(0, FEW))
    output_counts = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    outputs = sum(output_counts)
    return FinishedTasks(
        ids=draw(st.lists(task_ids, min_size=count, max_size=count)),
        runs=draw(st.lists(numbers, min_size=count, max_size=count)),
        durations=draw(st.lists(seconds, min_size=count, max_size=count)),
        output_counts=output_counts,
        sizes=draw(st.lists(sizes, min_size=outputs, max_size=outputs)),
        data=draw(st.lists(data, min_size=outputs, max_size=outputs)),
        starts=draw(st.just([]) | st.lists(above_zero, min_size=count, max_size=count)),
        peaks=draw(st.just([]) | st.lists(st.integers(1, 2**60), min_size=count, max_size=count)),
    )


@st.composite
def samples(draw: st.DrawFn) -> Monitoring:
    percents = st.integers(0, 100)
    network = draw(st.lists(st.tuples(texts, sizes, sizes), max_size=3))
    return Monitoring(
        tuple(draw(st.lists(percents, max_size=FEW))),
        draw(percents),
        tuple(name for name, _, _ in network),
        tuple(received for _, received, _ in network),
        tuple(sent for _, _, sent in network),
        draw(sizes),
        tuple(draw(st.lists(st.tuples(texts, texts), max_size=3))),
        draw(sizes),
        draw(sizes),
        draw(st.builds(Transfers, sizes, sizes, sizes, sizes)),
    )


@st.composite
def some_updates(draw: st.DrawFn) -> Update:
    started, returned = draw(st.integers(0, FEW)), draw(asked_runs())
    return Update(
        started_ids=draw(st.lists(task_ids, min_size=started, max_size=started)),
        started_runs=draw(st.lists(numbers, min_size=started, max_size=started)),
        started_times=draw(st.just([]) | st.lists(seconds, min_size=started, max_size=started)),
        time=draw(seconds),
        finished=draw(finished_tasks()),
        failed=draw(st.lists(task_failures, max_size=2)),
        located=draw(st.lists(object_ids, max_size=FEW)),
        unfetched=draw(st.lists(object_ids, max_size=FEW)),
        task_notes=draw(st.lists(st.builds(TaskNote, task_ids, texts, texts), max_size=2)),
        object_notes=draw(st.lists(st.builds(ObjectNote, object_ids, texts, texts), max_size=2)),
        monitoring=draw(st.lists(samples(), max_size=2)),
        returned_ids=returned.ids,
        returned_runs=returned.runs,
        holds_back=draw(texts),
        is_full=draw(st.booleans()),
    )


@st.composite
def deliveries(draw: st.DrawFn) -> Delivery:
    count = draw(st.integers(0, FEW))
    return Delivery(
        ids=draw(st.lists(object_ids, min_size=count, max_size=count)),
        sizes=draw(st.lists(sizes, min_size=count, max_size=count)),
        content_types=draw(st.lists(texts, min_size=count, max_size=count)),
        data=draw(st.lists(data, min_size=count, max_size=count)),
    )


run_reports = st.builds(
    RunReport,
    numbers,
    texts,
    st.sampled_from(RunState),
    st.none() | st.sampled_from(RunCause),
    texts,
    texts,
    texts,
    texts,
    seconds,
    statuses,
    texts,
    st.booleans(),
)
session_failures = st.builds(
    SessionFailure,
    texts,
    texts,
    st.none() | task_ids,
    st.lists(run_reports, max_size=FEW).map(tuple),
)
wait_answers = st.builds(
    WaitAnswer,
    st.lists(task_ids, max_size=FEW),
    st.lists(object_ids, max_size=FEW),
    deliveries(),
)
task_reports = st.builds(
    TaskReport,
    task_ids,
    st.sampled_from(TaskState),
    texts,
    texts,
    texts,
    st.lists(run_reports, max_size=FEW).map(tuple),
    texts,
    texts,
    st.none() | run_reports,
    st.builds(TaskMemory, sizes, sizes, sizes),
)
object_reports = st.builds(
    ObjectReport, object_ids, st.sampled_from(ObjectState), sizes, texts, texts
)
fetched = st.builds(Fetched, object_reports, st.none() | data, texts)
governor_reports = st.builds(
    GovernorReport,
    texts,
    st.lists(task_ids, max_size=FEW).map(tuple),
    st.lists(object_ids, max_size=FEW).map(tuple),
    st.lists(object_ids, max_size=FEW).map(tuple),
    st.lists(st.tuples(texts, sizes), max_size=3).map(tuple),
    st.lists(st.tuples(texts, sizes), max_size=3).map(tuple),
    st.lists(st.tuples(texts, sizes), max_size=3).map(tuple),
    st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    st.lists(st.builds(DataLink, texts, sizes, sizes, sizes, sizes), max_size=3).map(tuple),
)
every_value = st.one_of(
    submissions,
    some_orders(),
    some_updates(),
    session_failures,
    texts,
    wait_answers,
    task_reports,
    object_reports,
    fetched,
    governor_reports,
)
