"""Orders for exchanges, the tasks in the middle of shuffles, and the lists that they make
(rain/graph/exchanges.py).

The order for an exchange has no inputs. Its config is the list of where these objects are, and the
list is also its output. So no input is moved, and the list is sent to its readers like any object.
"""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.states import TaskRow
from rain.base.wire.orders import AssignedTasks
from rain.base.wire.update import TaskFailure
from rain.graph import DataObject, Governor, Task, loss, pausing, references
from rain.graph.exchanges import is_exchange, list_of, lists_of
from rain.server.core import failing, handing_back
from rain.server.core.state import State

LONGEST_PAUSE = 60.0
"""Seconds: a server whose governors may be silent for longer does not wait for that."""


def complete_rows(columns: AssignedTasks, tasks: Sequence[Task]) -> list[DataObject]:
    """Completes the rows of these tasks, which are the last ones; returns all that others read."""
    first = len(columns.ids) - len(tasks)
    for place, task in enumerate(tasks, first):
        if is_exchange(task):
            columns.configs[place] = list_of(task)
            columns.input_counts[place] = 0
    return [one for task in tasks if not is_exchange(task) for one in task.inputs]


def lists_made(outputs: Sequence[DataObject], data: list[bytes]) -> list[DataObject]:
    """New lists claim the objects in them. Returns the objects of earlier lists that are not needed
    any more.

    The server does not keep the bytes of a list, which are useful only until one of the objects
    moves.
    """
    free: list[DataObject] = []
    for place, output in enumerate(outputs):
        producer = output.producer
        if producer is not None and is_exchange(producer):
            data[place] = b""
            if not output.is_finished:
                free += references.contain(output, producer.inputs)
    return free


def unreadable(state: State, governor: Governor, task: Task, failure: TaskFailure) -> None:
    """A task could not read its part of a shuffle, so the list that it has read is of no use.

    The task waits until the list was made again. A governor whose connection broke has probably
    died: its copies of these objects count as lost at once, since otherwise each new list would
    contain them until the governor is given up. A machine may also have failed silently, and is in
    each new list until its silence is noticed. So the list is made again after longer and longer
    pauses. After the last one the task fails: a firewall may be the reason.
    """
    lists = lists_of(task)
    gone = _at_who_is_away(lists)
    if gone:
        state.not_started.pop(task, None)
    if handing_back.unreadable(state, governor, task, failure):
        for one, holder in gone:
            if one.is_finished:  # else it is made again already, because of another one
                failing.lost(state, loss.lose_copy(one, holder, state.now))
        for made in lists:
            failing.lost(state, loss.lose_list(made, state.now))
        _pause(state, lists, state.not_started[task])


def _pause(state: State, lists: Sequence[DataObject], times: int) -> None:
    """The exchanges that make these lists again begin later, unless they wait for other tasks.

    Each pause is twice as long as the one before, and the last one as long as a governor may be
    silent.
    """
    settings = state.settings
    last = min(settings.governor_silence, LONGEST_PAUSE)
    seconds = last * 2.0 ** (times + 1 - settings.unreadable)
    for made in lists:
        exchange = made.producer
        if exchange is not None and is_exchange(exchange) and exchange.row is TaskRow.READY:
            state.news.unplanned.pop(exchange, None)
            pausing.pause(state.graph, exchange, state.now + seconds)


def _at_who_is_away(lists: Sequence[DataObject]) -> list[tuple[DataObject, Governor]]:
    """The copies of what these lists name that are on governors without a connection."""
    named = {
        one: None
        for made in lists
        if made.producer is not None and is_exchange(made.producer)
        for one in made.producer.inputs
    }
    return [(one, holder) for one in named for holder in one.located if holder.away is not None]
