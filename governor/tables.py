"""The two state tables of a governor: where a task and a copy of an object stand, how they move.

The tables are data, as the server's are (rain/base/states.py): the state moves only along them and
the checker has a rule for each row. A move that the table does not have raises and changes nothing.
"""

import enum

from attrs import frozen


# The rows are whole numbers because a look-up by an ordinary enum member calls a Python function.
class TaskRow(enum.IntEnum):
    """Where one run of a task stands on this governor."""

    WAITING = 0  # inputs are not here yet
    READY = 1  # it waits for resources, in the ready queue of its group
    FOLLOWING = 2  # it was sent to the executor that makes its inputs before it comes to it
    CALLING = 3  # it was sent to an executor, which may not have started it yet
    RUNNING = 4  # an executor has come to it, or the governor itself works on it
    FINISHED = 5
    FAILED = 6
    STOPPED = 7  # nobody wants its result; whatever it still says is ignored


class TaskMove(enum.Enum):
    """What can happen to a run of a task."""

    INPUTS_HERE = "inputs here"
    FOLLOW = "follow"  # an executor gets it behind the calls that make its inputs
    CALL = "call"
    START = "start"
    TAKE_BACK = "take back"  # its executor had not started it and will not
    FINISH = "finish"
    FAIL = "fail"
    STOP = "stop"

    __hash__ = object.__hash__  # that of Enum is a Python function


class ObjectRow(enum.IntEnum):
    """Where one data object stands on this governor."""

    MAKING = 0  # a task that was assigned here makes it
    REMOTE = 1  # to be fetched, when it is its turn
    PULLING = 2  # being fetched
    HELD = 3  # all of it is here, and somebody wants it
    LINGERING = 4  # all of it is here, nobody wants it; kept a while, in case that it comes back
    ABSENT = 5  # local tasks wait for it, and only the server can say where it comes from
    UNSTORED = 6  # there was no room for it here; whoever reads it next lets it be fetched again
    GONE = 7  # not here, not known


class ObjectMove(enum.Enum):
    """What can happen to a data object on this governor."""

    ASSIGN = "assign"  # a task that makes it was assigned here
    ORDER = "order"  # the server wants a copy here and says from where
    GIVE = "give"  # the server sent the bytes along
    PULL = "pull"
    ARRIVE = "arrive"
    MISS = "miss"  # its source did not give it
    SHUT_OUT = "shut out"  # its source did, but it could not be stored
    MAKE = "make"
    UNMAKE = "unmake"  # the task that should have made it will not
    UNWANT = "unwant"  # nobody wants it: what is here lingers, the rest goes
    FORGET = "forget"

    __hash__ = object.__hash__  # as above


@frozen
class TaskStep:
    """One allowed move of a task."""

    start: TaskRow
    move: TaskMove
    end: TaskRow


@frozen
class ObjectStep:
    """One allowed move of an object."""

    start: ObjectRow
    move: ObjectMove
    end: ObjectRow


TASK_STEPS = (
    TaskStep(TaskRow.WAITING, TaskMove.INPUTS_HERE, TaskRow.READY),
    TaskStep(TaskRow.WAITING, TaskMove.STOP, TaskRow.STOPPED),
    TaskStep(TaskRow.WAITING, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.WAITING, TaskMove.FOLLOW, TaskRow.FOLLOWING),
    TaskStep(TaskRow.FOLLOWING, TaskMove.INPUTS_HERE, TaskRow.CALLING),
    TaskStep(TaskRow.FOLLOWING, TaskMove.TAKE_BACK, TaskRow.WAITING),
    TaskStep(TaskRow.FOLLOWING, TaskMove.STOP, TaskRow.STOPPED),
    TaskStep(TaskRow.READY, TaskMove.CALL, TaskRow.CALLING),
    TaskStep(TaskRow.READY, TaskMove.START, TaskRow.RUNNING),
    TaskStep(TaskRow.READY, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.READY, TaskMove.STOP, TaskRow.STOPPED),
    TaskStep(TaskRow.CALLING, TaskMove.START, TaskRow.RUNNING),
    TaskStep(TaskRow.CALLING, TaskMove.TAKE_BACK, TaskRow.READY),
    TaskStep(TaskRow.CALLING, TaskMove.FINISH, TaskRow.FINISHED),
    TaskStep(TaskRow.CALLING, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.CALLING, TaskMove.STOP, TaskRow.STOPPED),
    # An executor that came to a task may not have taken it yet: only then it is taken back.
    TaskStep(TaskRow.RUNNING, TaskMove.TAKE_BACK, TaskRow.READY),
    TaskStep(TaskRow.RUNNING, TaskMove.FINISH, TaskRow.FINISHED),
    TaskStep(TaskRow.RUNNING, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.RUNNING, TaskMove.STOP, TaskRow.STOPPED),
)

OBJECT_STEPS = (
    ObjectStep(ObjectRow.GONE, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.GONE, ObjectMove.ORDER, ObjectRow.REMOTE),
    ObjectStep(ObjectRow.GONE, ObjectMove.GIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.MAKING, ObjectMove.MAKE, ObjectRow.HELD),
    ObjectStep(ObjectRow.MAKING, ObjectMove.UNMAKE, ObjectRow.ABSENT),
    ObjectStep(ObjectRow.MAKING, ObjectMove.FORGET, ObjectRow.GONE),
    # The server has changed its mind: the object is made here and not copied.
    ObjectStep(ObjectRow.REMOTE, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.PULLING, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.PULL, ObjectRow.PULLING),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.ORDER, ObjectRow.REMOTE),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.GIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.UNWANT, ObjectRow.GONE),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.FORGET, ObjectRow.GONE),
    ObjectStep(ObjectRow.PULLING, ObjectMove.ARRIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.PULLING, ObjectMove.MISS, ObjectRow.ABSENT),
    ObjectStep(ObjectRow.PULLING, ObjectMove.SHUT_OUT, ObjectRow.UNSTORED),
    ObjectStep(ObjectRow.PULLING, ObjectMove.ORDER, ObjectRow.REMOTE),  # from somewhere else
    ObjectStep(ObjectRow.PULLING, ObjectMove.GIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.PULLING, ObjectMove.UNWANT, ObjectRow.GONE),
    ObjectStep(ObjectRow.PULLING, ObjectMove.FORGET, ObjectRow.GONE),
    ObjectStep(ObjectRow.HELD, ObjectMove.UNWANT, ObjectRow.LINGERING),
    ObjectStep(ObjectRow.HELD, ObjectMove.FORGET, ObjectRow.GONE),
    ObjectStep(ObjectRow.LINGERING, ObjectMove.ORDER, ObjectRow.HELD),
    ObjectStep(ObjectRow.LINGERING, ObjectMove.FORGET, ObjectRow.GONE),
    ObjectStep(ObjectRow.ABSENT, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.ABSENT, ObjectMove.ORDER, ObjectRow.REMOTE),
    ObjectStep(ObjectRow.ABSENT, ObjectMove.GIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.ABSENT, ObjectMove.UNWANT, ObjectRow.GONE),
    ObjectStep(ObjectRow.ABSENT, ObjectMove.FORGET, ObjectRow.GONE),
    ObjectStep(ObjectRow.UNSTORED, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.UNSTORED, ObjectMove.ORDER, ObjectRow.REMOTE),
    ObjectStep(ObjectRow.UNSTORED, ObjectMove.GIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.UNSTORED, ObjectMove.UNWANT, ObjectRow.GONE),
    ObjectStep(ObjectRow.UNSTORED, ObjectMove.FORGET, ObjectRow.GONE),
)


TASK_MOVES = {
    move: {step.start: step.end for step in TASK_STEPS if step.move is move} for move in TaskMove
}
OBJECT_MOVES = {
    move: {step.start: step.end for step in OBJECT_STEPS if step.move is move}
    for move in ObjectMove
}
