"""Handles lost copies and governors, and has lost objects made again.

When the last copy of a needed object is gone, its producer runs again. Producers of inputs run
again only where the inputs are gone, too. This ends at objects that the server has, mainly
constants: they are kept as long as a task that may run again reads them.
"""

from __future__ import annotations

from collections.abc import Collection

from attrs import Factory, define

from rain.base.copies import CopyMove
from rain.base.errors import InvariantError
from rain.base.failures import SessionFailure
from rain.base.runs import RunCause
from rain.base.states import ObjectMove, ObjectState, TaskMove, TaskRow
from rain.graph import claims, moving, planning, references
from rain.graph.copy import forget_copies, move_copy
from rain.graph.data_object import DataObject
from rain.graph.exchanges import being_listed_by, lists_with
from rain.graph.failing import failure_of
from rain.graph.governor import Governor
from rain.graph.run import Ending
from rain.graph.task import Task


@define
class Losses:
    """The consequences of a loss."""

    now: float
    stopped: list[planning.Stopped] = Factory(list)  # assignments that were taken back
    unplanned: dict[Task, None] = Factory(dict)  # tasks that need a plan again
    cancelled: list[Task] = Factory(list)  # tasks that were cancelled, which have ended with it
    unmakeable: dict[DataObject, SessionFailure] = Factory(dict)  # since their tasks have failed
    dropped: list[tuple[DataObject, Governor]] = Factory(list)  # copies that are not needed


def lose_governor(
    governor: Governor, now: float, why: str = "", blamed: Collection[Task] = ()
) -> Losses:
    """Everything on a governor is gone; the caller has removed the governor from the graph.

    The runs of the `blamed` tasks may have been the reason.
    """
    losses = Losses(now)
    innocent = Ending(now, RunCause.GOVERNOR_LEFT, why)
    guilty = Ending(now, RunCause.GOVERNOR, why)
    for task in list(governor.expected):
        moving.aim_nowhere(task)
    for task in list(governor.scheduled):
        ending = guilty if task in blamed else innocent
        planning.withdraw(task, ending, TaskMove.GOVERNOR_LOST)
        if task.row is TaskRow.CANCELLED:
            losses.cancelled.append(task)
        else:
            losses.unplanned[task] = None
    touched = list(governor.objects)
    for data_object in touched:
        move_copy(data_object, governor, CopyMove.LOSE)
    for data_object in touched:
        if data_object.is_finished:  # else it is being made again already, because of another one
            _check_holders(data_object, losses)
            _list_anew(data_object, losses)
    return losses


def lose_copy(data_object: DataObject, governor: Governor, now: float) -> Losses:
    """One copy turned out to be gone or unreadable."""
    losses = Losses(now)
    move_copy(data_object, governor, CopyMove.LOSE)
    producer = data_object.producer
    if producer is None or producer.is_done or producer.assigned is not governor:
        # Else it is being made there.
        losses.dropped.append((data_object, governor))
    _check_holders(data_object, losses)
    _list_anew(data_object, losses)
    return losses


def lose_list(made: DataObject, now: float) -> Losses:
    """The list of an exchange is useless, or an object that passes on this list."""
    losses = Losses(now)
    if made.is_finished and not made.is_at_server and made.is_needed:
        _make_again(made, losses)
    return losses


def _list_anew(data_object: DataObject, losses: Losses) -> None:
    """A copy of an object is gone, which lists may name."""
    for made in lists_with(data_object):
        _make_again(made, losses)
    for task in being_listed_by(data_object):
        losses.stopped += planning.take_back(task, Ending(losses.now, RunCause.INPUT_LOST))
        losses.unplanned[task] = None


def _check_holders(data_object: DataObject, losses: Losses) -> None:
    if data_object.is_at_server or any(copy.is_held for copy in data_object.copies):
        return
    producer = data_object.producer
    if data_object.is_needed or (producer is not None and not producer.is_done):
        _make_again(data_object, losses)
    else:  # it was about to be let go
        data_object.move(ObjectMove.REMOVE)
        data_object.session.stored -= data_object.size
        losses.dropped += [(data_object, reader) for reader in forget_copies((data_object,))]


def _make_again(lost: DataObject, losses: Losses) -> None:
    """Walks up the lineage without recursion: a chain may be longer than Python's stack."""
    pending: list[tuple[DataObject, ObjectMove]] = [(lost, ObjectMove.LOSE)]
    while pending:
        data_object, why = pending.pop()
        if data_object.state is ObjectState.UNFINISHED:
            continue  # reached before
        producer = data_object.producer
        if producer is None:
            raise InvariantError(f"{data_object!r} is a constant, and the server has let it go")
        _unfinish(data_object, why, losses)
        if producer.has_failed:  # when run again for another output
            losses.unmakeable[data_object] = failure_of(data_object)
        elif producer.row is TaskRow.FINISHED:
            pending += _run_again(producer, losses)
        pending += [(made, ObjectMove.LOSE) for made in lists_with(data_object)]


def _unfinish(data_object: DataObject, why: ObjectMove, losses: Losses) -> None:
    if data_object.is_finished:
        data_object.session.stored -= data_object.size
    data_object.move(why)
    data_object.size = 0
    # Governors that were told to fetch it must stop.
    losses.dropped += [(data_object, governor) for governor in planning.expect(data_object)]
    for task in data_object.consumers:
        if task.is_done:
            continue
        if task.assigned is not None:
            losses.stopped += planning.take_back(task, Ending(losses.now, RunCause.INPUT_LOST))
            losses.unplanned[task] = None
        elif task.row is TaskRow.PAUSED or task.row is TaskRow.LIMITED:
            losses.unplanned[task] = None  # it waits for its input instead
        planning.input_lost(task)


def _run_again(producer: Task, losses: Losses) -> list[tuple[DataObject, ObjectMove]]:
    """Makes a finished task unfinished; returns the inputs that must be made again for it."""
    producer.move(TaskMove.OUTPUT_LOST)
    producer.session.unfinished += 1
    losses.unplanned[producer] = None
    for output in producer.outputs:
        if output.state is ObjectState.REMOVED:  # is made as well, and removed again
            _unfinish(output, ObjectMove.REVIVE, losses)
    revived: list[tuple[DataObject, ObjectMove]] = []
    for data_object in claims.reading_again(producer):
        if data_object.state is ObjectState.REMOVED:
            revived.append((data_object, ObjectMove.REVIVE))
        elif data_object.state is not ObjectState.FINISHED:
            planning.input_lost(producer)
            if data_object.state is ObjectState.FAILED:
                losses.unmakeable[data_object] = failure_of(data_object)
    if producer.session.contents:  # it may ask for these, and waits for none
        asked = references.running_again(producer)
        revived += [(one, ObjectMove.REVIVE) for one in asked if one.state is ObjectState.REMOVED]
    return revived
