"""The state table of copies: the states of one object on one governor, and the moves between them.

The tables are data, like those of tasks and objects in rain/base/states.py: a copy moves only along
them, and docs/states.md is drawn from them. Only a finished object has copies, and those are in one
of the last three rows. While an object is unfinished, its row on each governor follows from its
producer, and nothing is stored.
"""

from attrs import frozen

from rain.base.states import Step, Word


class CopyRow(Word):
    """The rows of the copy table."""

    NONE = "none"
    EXPECTED = "expected"
    MAKING = "making"
    ORDERED = "ordered"
    COMING = "coming"
    HELD = "held"


@frozen
class CopyFacts:
    """What holds in one row."""

    row: CopyRow
    finished: bool  # whether the object is finished
    scheduled: bool  # it is to be on the governor
    told: bool  # the governor was told to make or to fetch it
    located: bool  # the governor has all of it
    meaning: str


COPY_TABLE: tuple[CopyFacts, ...] = (
    CopyFacts(CopyRow.NONE, False, False, False, False, "not made, and not here"),
    CopyFacts(CopyRow.EXPECTED, False, True, False, False, "its producer is planned here"),
    CopyFacts(CopyRow.MAKING, False, True, True, False, "its producer was sent here"),
    CopyFacts(CopyRow.NONE, True, False, False, False, "finished elsewhere"),
    CopyFacts(CopyRow.ORDERED, True, True, False, False, "the scheduler wants a copy here"),
    CopyFacts(CopyRow.COMING, True, True, True, False, "the governor was told to fetch it"),
    CopyFacts(CopyRow.HELD, True, True, True, True, "the governor has all of it"),
)
STORED = (CopyRow.ORDERED, CopyRow.COMING, CopyRow.HELD)


class CopyMove(Word):
    """What can happen to the copy of an object on a governor."""

    MAKE = "make"  # the producer has made the object there
    ORDER = "order"  # the scheduler wants it there
    TELL = "tell"  # the governor is told to fetch it
    ARRIVE = "arrive"
    MISS = "miss"  # the governor does not have it after all, and is told to fetch it again
    DROP = "drop"  # nobody needs it there any more
    LOSE = "lose"  # it is unreadable, its governor is gone, or the object is made again


COPY_STEPS: tuple[Step[CopyRow, CopyMove], ...] = (
    Step(CopyRow.MAKING, CopyMove.MAKE, CopyRow.HELD),
    Step(CopyRow.NONE, CopyMove.ORDER, CopyRow.ORDERED),
    Step(CopyRow.NONE, CopyMove.TELL, CopyRow.COMING),
    Step(CopyRow.ORDERED, CopyMove.TELL, CopyRow.COMING),
    Step(CopyRow.COMING, CopyMove.ARRIVE, CopyRow.HELD),
    Step(CopyRow.HELD, CopyMove.MISS, CopyRow.COMING),
    # The producer has run again, for the sake of another output.
    *(Step(row, CopyMove.MAKE, CopyRow.HELD) for row in (CopyRow.NONE, *STORED)),
    *(Step(row, CopyMove.DROP, CopyRow.NONE) for row in STORED),
    *(Step(row, CopyMove.LOSE, CopyRow.NONE) for row in STORED),
)
COPY_MOVES: dict[CopyMove, dict[CopyRow, CopyRow]] = {
    move: {step.start: step.end for step in COPY_STEPS if step.move is move} for move in CopyMove
}
