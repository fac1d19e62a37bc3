"""Splits values that are too long for one message into several messages with the same meaning.

The other side joins the parts again. So a long column may continue in the next message, and the
orders of one turn are applied as a whole or not at all. Nearly always the value fits, and is not
split.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

from attrs import AttrsInstance, evolve, fields

from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.answers import Delivery
from rain.base.wire.orders import AssignedTasks, LentObjects, Orders, PlacedObjects
from rain.base.wire.submission import ConstantColumns, Submission, TaskColumns
from rain.base.wire.update import FinishedTasks, Update
from rain.rpc.codec.border import check_ours
from rain.rpc.codec.kinds import weight

K = TypeVar("K", TaskKind, ObjectKind)

PART_BYTES = 8 * 1024 * 1024
"""How many bytes of data one message shall hold, and of kinds as many; longer ones travel alone."""

PART_ROWS = 16 * 1024
"""How many tasks, objects or kinds one message shall hold: their turn takes some milliseconds."""

INLINE_BYTES = 32 * 1024 * 1024
"""How many bytes of inline data one message shall hold; what is beyond it is fetched."""


def _fits(*columns: list[bytes]) -> bool:
    rows = weight = 0
    for column in columns:
        rows += len(column)
        if any(column):
            weight += sum(map(len, column))
    return rows <= PART_ROWS and weight <= PART_BYTES


def _kinds_fit(value: Submission | Orders) -> bool:
    """Whether the kinds fit into the message of the first other part, as nearly always."""
    if not (value.task_kinds or value.object_kinds):
        return True
    weights = [*map(weight, value.task_kinds), *map(weight, value.object_kinds)]
    return len(weights) <= PART_ROWS and sum(weights) <= PART_BYTES


def _some_kinds(kinds: list[K]) -> Iterator[list[K]]:
    for start, end in ranges(map(weight, kinds)):
        yield kinds[start:end]


def ranges(weights: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ranges of rows, each within both limits, for rows of these many bytes."""
    weights = [*weights]
    if sum(weights) <= PART_BYTES:  # as that of copies that lie elsewhere, by the thousand
        for start in range(0, len(weights), PART_ROWS):
            yield start, min(start + PART_ROWS, len(weights))
        return
    start = end = weight = 0
    for more in weights:
        if end > start and (weight + more > PART_BYTES or end - start >= PART_ROWS):
            yield start, end
            start, weight = end, 0
        weight += more
        end += 1
    if end > start:
        yield start, end


def _starts(counts: Iterable[int]) -> list[int]:
    """Where each row's entries begin in a flat column, and where the last ones end."""
    return [0, *accumulate(counts)]


def split_submission(submission: Submission) -> list[Submission]:
    """Parts of a submission, at least one; joined in their order they are the whole."""
    tasks, constants = submission.tasks, submission.constants
    kinds_fit = _kinds_fit(submission)
    if kinds_fit and _fits(tasks.configs, constants.data):
        return [submission]
    check_ours(submission)
    first = evolve(submission, tasks=TaskColumns(), constants=ConstantColumns())
    parts = [first]
    if not kinds_fit:
        first.task_kinds, first.object_kinds = [], []
        session = submission.session
        of_objects, of_tasks = submission.object_kinds, submission.task_kinds
        parts += [Submission(session, object_kinds=some) for some in _some_kinds(of_objects)]
        parts += [Submission(session, task_kinds=some) for some in _some_kinds(of_tasks)]
    for start, end in ranges(map(len, constants.data)):
        some_constants = ConstantColumns(
            constants.ids[start:end], constants.kinds[start:end], constants.data[start:end]
        )
        parts.append(Submission(submission.session, constants=some_constants))
    inputs = _starts(tasks.input_counts)
    for start, end in ranges(map(len, tasks.configs)):
        # The number of outputs of a task is in its kind, which may have been sent before. The parts
        # are joined before outputs are counted, so any cut in the right order works.
        outputs, count = len(tasks.outputs), len(tasks.ids)
        some_tasks = TaskColumns(
            ids=tasks.ids[start:end],
            kinds=tasks.kinds[start:end],
            configs=tasks.configs[start:end],
            input_counts=tasks.input_counts[start:end],
            inputs=tasks.inputs[inputs[start] : inputs[end]],
            outputs=tasks.outputs[outputs * start // count : outputs * end // count],
        )
        parts.append(Submission(submission.session, tasks=some_tasks))
    return parts


def split_orders(orders: Orders) -> list[Orders]:
    """Parts of orders, at least one; joined in their order they are the whole.

    The last one has the number of the whole.
    """
    objects, tasks, lent = orders.objects, orders.tasks, orders.lent
    kinds_fit = _kinds_fit(orders)
    if kinds_fit and _fits(objects.data, tasks.configs, lent.data):
        return [orders]
    check_ours(orders)
    first = evolve(
        orders, objects=PlacedObjects(), tasks=AssignedTasks(), lent=LentObjects(), number=0
    )
    parts = [first]
    if not kinds_fit:
        first.task_kinds, first.object_kinds = [], []
        parts += [Orders(object_kinds=some) for some in _some_kinds(orders.object_kinds)]
        parts += [Orders(task_kinds=some) for some in _some_kinds(orders.task_kinds)]
    for start, end in ranges(map(len, objects.data)):
        parts.append(Orders(objects=_some_objects(objects, start, end)))
    for start, end in ranges(map(len, lent.data)):
        parts.append(Orders(lent=_some_lent(lent, start, end)))
    inputs = _starts(tasks.input_counts)
    for start, end in ranges(map(len, tasks.configs)):
        # As with submissions, outputs are not counted before the parts are joined.
        outputs, count = len(tasks.outputs), len(tasks.ids)
        some_tasks = AssignedTasks(
            ids=tasks.ids[start:end],
            runs=tasks.runs[start:end],
            kinds=tasks.kinds[start:end],
            priorities=tasks.priorities[start:end],
            configs=tasks.configs[start:end],
            input_counts=tasks.input_counts[start:end],
            inputs=tasks.inputs[inputs[start] : inputs[end]],
            outputs=tasks.outputs[outputs * start // count : outputs * end // count],
            needs=tasks.needs[start:end],
        )
        parts.append(Orders(tasks=some_tasks))
    parts[-1].number = orders.number
    return parts


def join_orders(parts: Sequence[Orders]) -> Orders:
    """The whole of which these are all parts, in their order."""
    whole, *others = parts
    for part in others:
        _extend(whole, part)
    whole.number = parts[-1].number
    return whole


def _extend(whole: AttrsInstance, part: AttrsInstance) -> None:
    """Adds columns to columns, and those of what they hold."""
    for column in fields(type(whole)):
        ours, theirs = getattr(whole, column.name), getattr(part, column.name)
        if isinstance(ours, list):
            ours += theirs
        elif not isinstance(ours, int):
            _extend(ours, theirs)


def _some_objects(objects: PlacedObjects, start: int, end: int) -> PlacedObjects:
    return PlacedObjects(
        ids=objects.ids[start:end],
        kinds=objects.kinds[start:end],
        content_types=objects.content_types[start:end],
        sizes=objects.sizes[start:end],
        sources=objects.sources[start:end],
        data=objects.data[start:end],
    )


def _some_lent(lent: LentObjects, start: int, end: int) -> LentObjects:
    return LentObjects(
        ids=lent.ids[start:end],
        kinds=lent.kinds[start:end],
        content_types=lent.content_types[start:end],
        data=lent.data[start:end],
    )


def _inline(data: list[bytes]) -> int:
    """How many entries, from the first one on, a message should hold inline."""
    if sum(map(len, data)) <= INLINE_BYTES:
        return len(data)
    return bisect_right(list(accumulate(map(len, data))), INLINE_BYTES)


def slim_update(update: Update) -> Update:
    """An update without the inline data that is too much; its holder can be asked for it."""
    data = update.finished.data
    count = _inline(data)
    if count == len(data):
        return update
    slim = [*data[:count], *[b""] * (len(data) - count)]
    finished: FinishedTasks = evolve(update.finished, data=slim)
    return evolve(update, finished=finished)


def slim_delivery(delivery: Delivery) -> Delivery:
    """The part of a delivery that fits into one message; the client fetches the rest."""
    count = _inline(delivery.data)
    if count == len(delivery.data):
        return delivery
    check_ours(delivery)
    return Delivery(
        delivery.ids[:count],
        delivery.sizes[:count],
        delivery.content_types[:count],
        delivery.data[:count],
    )
