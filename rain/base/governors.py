"""The state table of governors, as the server sees them.

The table is data, as those of tasks and objects in rain/base/states.py: a governor moves only along
it, the checker has a rule for each row, and docs/states.md is drawn from it.
"""

from attrs import frozen

from rain.base.states import Step, Word


class GovernorRow(Word):
    """Where a governor stands. One that has left is not known any more."""

    WORKS = "works"
    RESTS = "rests"
    DRAINS = "drains"


@frozen
class GovernorFacts:
    """What holds in one row."""

    row: GovernorRow
    gets_tasks: bool  # something may be planned on it
    keeps_tasks: bool  # it may have tasks that it was told of and has not started
    meaning: str


GOVERNOR_TABLE: tuple[GovernorFacts, ...] = (
    GovernorFacts(GovernorRow.WORKS, True, True, "it gets tasks and runs them"),
    GovernorFacts(
        GovernorRow.RESTS,
        False,
        True,
        "it could not start tasks, or tasks that failed there have finished elsewhere: it gets none"
        " for a while",
    ),
    GovernorFacts(
        GovernorRow.DRAINS,
        False,
        False,
        "it is about to leave: what runs there goes on, and what only it has is copied elsewhere",
    ),
)


class GovernorMove(Word):
    """What can happen to a governor."""

    REST = "rest"
    GO_ON = "go on"
    DRAIN = "drain"


GOVERNOR_STEPS: tuple[Step[GovernorRow, GovernorMove], ...] = (
    Step(GovernorRow.WORKS, GovernorMove.REST, GovernorRow.RESTS),
    Step(GovernorRow.RESTS, GovernorMove.GO_ON, GovernorRow.WORKS),
    Step(GovernorRow.WORKS, GovernorMove.DRAIN, GovernorRow.DRAINS),
    Step(GovernorRow.RESTS, GovernorMove.DRAIN, GovernorRow.DRAINS),
)
GOVERNOR_MOVES: dict[GovernorMove, dict[GovernorRow, GovernorRow]] = {
    move: {step.start: step.end for step in GOVERNOR_STEPS if step.move is move}
    for move in GovernorMove
}
GOVERNOR_FACTS: dict[GovernorRow, GovernorFacts] = {facts.row: facts for facts in GOVERNOR_TABLE}
