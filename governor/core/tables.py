"""The state tables of a governor: the states of tasks and of copies of objects, and the moves
between them.

The tables are data, like those of the server (rain/base/states.py): the state makes only moves of
the tables, and the checker has a rule for each row. Any other move raises and changes nothing.
"""

import enum

from attrs import frozen


# The rows are whole numbers because a look-up by an ordinary enum member calls a Python function.
class TaskRow(enum.IntEnum):
    """The state of one run of a task on this governor."""

    WAITING = 0  # inputs are not here yet
    READY = 1  # it waits for resources, in the ready queue of its group
    FOLLOWING = 2  # it is queued at the executor that will first make its inputs
    CALLING = 3  # it was sent to an executor, which may not have started it yet
    RUNNING = 4  # an executor has reached it, or it runs inside the governor
    FINISHED = 5
    FAILED = 6
    CANCELLING = 7  # not wanted, but still in hand; its result is ignored
    STOPPED = 8  # its result is not wanted, and it is not worked on
    ASKING = 9  # its inputs are here, and the cache is asked for its outputs
    KEEPING = 10  # it has run, and the cache keeps what it has made
    TIMED_OUT = 11  # over its time limit: being ended, has then failed
    EVICTED = 12  # too much memory, or too many processes: the same
    HELD_BACK = 13  # its inputs are here, but what it makes has no room on the disk now


class TaskMove(enum.Enum):
    """The moves of a run of a task."""

    INPUTS_HERE = "inputs here"
    FOLLOW = "follow"  # an executor gets it behind the calls that make its inputs
    ASK = "ask"  # the cache, which may have its outputs
    MISS = "miss"  # the cache does not have them
    CALL = "call"
    START = "start"
    TAKE_BACK = "take back"  # its executor has not started it and will not
    KEEP = "keep"  # what it has made, before anybody hears of it
    FINISH = "finish"
    FAIL = "fail"
    TIME_OUT = "time out"  # it has run for as long as it may
    EVICT = "evict"  # it has more than it may
    HOLD_BACK = "hold back"  # what it makes has no room
    GO_ON = "go on"  # it may have room now
    LOSE_INPUT = "lose input"  # one has left for the far store, because others need the room
    STOP = "stop"
    END = "end"  # it was stopped, and is in hand no more

    __hash__ = object.__hash__  # that of Enum is a slow Python function


BEING_ENDED = (TaskRow.CANCELLING, TaskRow.TIMED_OUT, TaskRow.EVICTED)
"""Rows of tasks that run, and whose ends are awaited: whatever they make does not count."""


class ObjectRow(enum.IntEnum):
    """The state of one data object on this governor."""

    MAKING = 0  # a task that was assigned here makes it
    REMOTE = 1  # waits to be fetched
    PULLING = 2  # being fetched
    HELD = 3  # completely here and needed
    LINGERING = 4  # completely here, not needed; kept for a while in case it is needed again
    ABSENT = 5  # it is wanted here or tasks wait for it; only the server knows a source
    UNSTORED = 6  # it could not be stored here; the next reader causes a new fetch
    GONE = 7  # not here, not known
    FAR = 8  # needed by others only; its bytes are in the far store, and no file is here


class ObjectMove(enum.Enum):
    """The moves of a data object on this governor."""

    ASSIGN = "assign"  # a task that makes it was assigned here
    ORDER = "order"  # the server wants a copy here and says from where
    GIVE = "give"  # the server sent the bytes along
    PULL = "pull"
    ARRIVE = "arrive"
    MISS = "miss"  # its source did not send it
    SHUT_OUT = "shut out"  # it cannot be stored here
    MAKE = "make"
    UNMAKE = "unmake"  # the task that should have made it will not
    UNWANT = "unwant"  # it is not needed: it lingers if it is here, else it is forgotten
    SEND_FAR = "send far"  # a complete copy in the far store takes the place of its file
    RECALL = "recall"  # a task reads it: it is to be fetched from there
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
    TaskStep(TaskRow.FOLLOWING, TaskMove.STOP, TaskRow.CANCELLING),
    TaskStep(TaskRow.READY, TaskMove.ASK, TaskRow.ASKING),
    TaskStep(TaskRow.ASKING, TaskMove.MISS, TaskRow.READY),
    TaskStep(TaskRow.READY, TaskMove.HOLD_BACK, TaskRow.HELD_BACK),
    TaskStep(TaskRow.HELD_BACK, TaskMove.GO_ON, TaskRow.READY),
    TaskStep(TaskRow.HELD_BACK, TaskMove.LOSE_INPUT, TaskRow.WAITING),
    TaskStep(TaskRow.HELD_BACK, TaskMove.STOP, TaskRow.STOPPED),
    TaskStep(TaskRow.HELD_BACK, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.ASKING, TaskMove.FINISH, TaskRow.FINISHED),
    TaskStep(TaskRow.ASKING, TaskMove.STOP, TaskRow.STOPPED),
    TaskStep(TaskRow.READY, TaskMove.CALL, TaskRow.CALLING),
    TaskStep(TaskRow.READY, TaskMove.START, TaskRow.RUNNING),
    TaskStep(TaskRow.READY, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.READY, TaskMove.STOP, TaskRow.STOPPED),
    TaskStep(TaskRow.CALLING, TaskMove.START, TaskRow.RUNNING),
    TaskStep(TaskRow.CALLING, TaskMove.TAKE_BACK, TaskRow.READY),
    TaskStep(TaskRow.CALLING, TaskMove.KEEP, TaskRow.KEEPING),
    TaskStep(TaskRow.CALLING, TaskMove.FINISH, TaskRow.FINISHED),
    TaskStep(TaskRow.CALLING, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.CALLING, TaskMove.STOP, TaskRow.CANCELLING),
    # An executor that came to a task may not have taken it yet: only then it is taken back.
    TaskStep(TaskRow.RUNNING, TaskMove.TAKE_BACK, TaskRow.READY),
    TaskStep(TaskRow.RUNNING, TaskMove.KEEP, TaskRow.KEEPING),
    TaskStep(TaskRow.RUNNING, TaskMove.FINISH, TaskRow.FINISHED),
    TaskStep(TaskRow.RUNNING, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.RUNNING, TaskMove.STOP, TaskRow.CANCELLING),
    TaskStep(TaskRow.KEEPING, TaskMove.FINISH, TaskRow.FINISHED),
    TaskStep(TaskRow.KEEPING, TaskMove.STOP, TaskRow.STOPPED),
    TaskStep(TaskRow.RUNNING, TaskMove.TIME_OUT, TaskRow.TIMED_OUT),
    TaskStep(TaskRow.TIMED_OUT, TaskMove.TAKE_BACK, TaskRow.READY),
    TaskStep(TaskRow.TIMED_OUT, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.TIMED_OUT, TaskMove.STOP, TaskRow.CANCELLING),
    TaskStep(TaskRow.RUNNING, TaskMove.EVICT, TaskRow.EVICTED),
    TaskStep(TaskRow.EVICTED, TaskMove.TAKE_BACK, TaskRow.READY),
    TaskStep(TaskRow.EVICTED, TaskMove.FAIL, TaskRow.FAILED),
    TaskStep(TaskRow.EVICTED, TaskMove.STOP, TaskRow.CANCELLING),
    TaskStep(TaskRow.CANCELLING, TaskMove.END, TaskRow.STOPPED),
)

OBJECT_STEPS = (
    ObjectStep(ObjectRow.GONE, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.GONE, ObjectMove.ORDER, ObjectRow.REMOTE),
    ObjectStep(ObjectRow.GONE, ObjectMove.GIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.MAKING, ObjectMove.MAKE, ObjectRow.HELD),
    ObjectStep(ObjectRow.MAKING, ObjectMove.UNMAKE, ObjectRow.ABSENT),
    ObjectStep(ObjectRow.MAKING, ObjectMove.FORGET, ObjectRow.GONE),
    # The server has changed its plan: the object is made here, not copied.
    ObjectStep(ObjectRow.REMOTE, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.PULLING, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.PULL, ObjectRow.PULLING),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.ORDER, ObjectRow.REMOTE),
    ObjectStep(ObjectRow.REMOTE, ObjectMove.SHUT_OUT, ObjectRow.UNSTORED),
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
    ObjectStep(ObjectRow.HELD, ObjectMove.SEND_FAR, ObjectRow.FAR),
    ObjectStep(ObjectRow.FAR, ObjectMove.RECALL, ObjectRow.REMOTE),
    ObjectStep(ObjectRow.FAR, ObjectMove.ASSIGN, ObjectRow.MAKING),
    ObjectStep(ObjectRow.FAR, ObjectMove.GIVE, ObjectRow.HELD),
    ObjectStep(ObjectRow.FAR, ObjectMove.UNWANT, ObjectRow.GONE),
    ObjectStep(ObjectRow.FAR, ObjectMove.FORGET, ObjectRow.GONE),
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
