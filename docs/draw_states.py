"""Draws docs/states.md from the tables of states: `python -m docs.draw_states`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from attrs import frozen

from rain.base.copies import COPY_STEPS, COPY_TABLE
from rain.base.governors import GOVERNOR_STEPS, GOVERNOR_TABLE
from rain.base.runs import RUN_STEPS, RUN_TABLE, RunFacts
from rain.base.states import (
    OBJECT_MOVES,
    TASK_STEPS,
    TASK_TABLE,
    ObjectState,
    TaskFacts,
)
from rain.governor.executors.child import CHILD_STEPS, CHILD_TABLE

PAGE = Path(__file__).with_name("states.md")


@frozen
class OriginalRow:
    """One row of the object table of the original Rain server."""

    number: int
    facts: str  # "x" for each of ORIGINAL_FACTS that holds
    state: ObjectState
    holders: tuple[str, str, str]  # the governors that the object itself names


_UNFINISHED, _FINISHED, _REMOVED, _ = ObjectState

ORIGINAL_FACTS = ("S0", "W0", "T.R", "T.F", "S1", "W1A", "W1L")

ORIGINAL_OBJECTS = (
    OriginalRow(1, ".......", _UNFINISHED, ("", "", "")),
    OriginalRow(2, "x......", _UNFINISHED, ("W0", "", "")),
    OriginalRow(3, "..x....", _UNFINISHED, ("", "", "")),
    OriginalRow(4, "x.x....", _UNFINISHED, ("W0", "", "")),
    OriginalRow(5, "xxx....", _UNFINISHED, ("W0", "W0", "")),
    OriginalRow(6, "xxxx...", _FINISHED, ("W0", "W0", "W0")),
    OriginalRow(7, "xxxxx..", _FINISHED, ("W0,W1", "W0", "W0")),
    OriginalRow(8, "xxxxxx.", _FINISHED, ("W0,W1", "W0,W1", "W0")),
    OriginalRow(9, "xxxxxxx", _FINISHED, ("W0,W1", "W0,W1", "W0,W1")),
    OriginalRow(10, "xxxx.xx", _FINISHED, ("W0", "W0,W1", "W0,W1")),
    OriginalRow(11, "xxxx..x", _FINISHED, ("W0", "W0", "W0")),
    OriginalRow(12, "..xx...", _REMOVED, ("", "", "")),
)

HEAD = """\
# States of tasks, runs, data objects, copies, governors and executors

This page shows every state and every move between two states, as tables and as diagrams. Read it
to understand what the dashboard shows, or before you change a rule of the graph.

The page is drawn from the tables in `rain/base/states.py`, `rain/base/runs.py`,
`rain/base/copies.py`, `rain/base/governors.py` and `governor/executors/child.py` by
`python -m docs.draw_states`; a test compares the two. A row of these tables is a state with the
facts that must hold in it. The graph moves along these tables only: any other move raises
`InvariantError` and changes nothing. The checker in `rain/graph/check.py` tests the facts of every
row, after every turn in tests and with `RAIN_DEBUG_MODE=1`.
"""

TASKS = """\
## Tasks

Users see the *state*; the graph distinguishes *rows*. What holds in a row:

* **S**: the scheduler has chosen a governor (`task.scheduled`, and the governor lists the task).
* **R**: no input is missing; "any" where nobody asks for that any more.
* **W**: the governor was told to run it (`task.assigned`, the same governor), so that the last run
  of the task is open.
* **Q**: it is in its governor's scheduled-ready queue.
"""

TASK_NOTES = """\
The design notes of the original Rain server have the same facts without names for the rows. What
is ours:

* *queued* is a row of its own, with the queue that the original calls "W.sched_ready".
* *ahead* did not exist either: a task whose missing inputs are all made on its governor is sent
  there before they are finished, and the governor starts it by itself. *recall* takes it back to
  *planned* when one of those inputs will not be made there after all
  ([why](decisions/executors.md#going-ahead-to-the-governor)).
* A finished task is not scheduled any more. The original leaves the mark S on it. But a plan is
  work that is still to be done, and a finished task would have to be removed from the lists of
  its governor again.
* *failed* and *skipped* did not exist. When a run fails (*run failed*), or its governor
  is lost, the task is *ready* again. Then the server decides in one place whether the task has
  another try (`rain/server/core/tries.py`). If not, the task has *failed*. In a session that stops,
  the whole graph of the session is emptied. In a session that goes on, the objects of the task
  fail with it, and the tasks that read them are *skipped*. No move leads away from these two
  rows.
* *cancelling* and *cancelled* did not exist. A task that a client has cancelled is *cancelled* at
  once if no governor has it, and so is what depends on it. Otherwise it is *cancelling*: its
  governor was told to end it, it still takes its cpus, and it ends as *cancelled* whatever its
  governor says next. Its outcome is known from the moment in which it is *cancelling*: its objects
  have failed, and those that wait for it are told ([why](decisions/failures.md#cancelling)).
* *governor lost*, *input lost* and *output lost* lead back. In the original, the loss of a
  governor ended the server. Here its tasks are planned again, and lost data that is still needed
  is made again ([why](decisions/failures.md#lost-governors)).
* *take back* leads from every planned row to the same row without the plan: a scheduler may
  change its mind until the task is finished. A task that was sent is stopped, and its next
  assignment is another run, with a higher number ([why](decisions/failures.md)).
* A *unit* of tasks that a client has fused ([why](decisions/executors.md#units-in-the-client)) is
  one task here, the last of its members, and moves like any other task. The graph has no objects
  for those inside it. In the client each member shows the unit's state. When the unit fails in one
  of its members, the members before that one show *finished*. The members after it never ran: they
  fail with it in a session that goes on, and keep their state in a session that stops.
"""

RUNS = """\
## Runs

A run is one attempt of a task: it begins when a governor is told to run the task, and ends once. A
task has a list of them, numbered from 1. It has at most one open run, which is the last one. It
has one exactly as long as it is assigned, and then both name the same incarnation of a governor.
News of another run than the open one is late and is ignored. *Tries* says what a run counts for
when the server decides whether the task is tried again ([why](decisions/failures.md#tries)).
"""

RUN_NOTES = """\
A run moves with its task, by the same moves. Most tasks have one run. Of a task that has more, the
last 16 former ones are kept (`MOST_FORMER`), and those that count for its tries even if there are
more. The other ones leave gaps in the numbers. In a session that ends, the runs that are open end
with it and are not moved any more.
"""

COPIES = """\
## One object on one governor

A finished object has copies (`rain/graph/copy.py`), at most one on each governor, and every copy is
in one of the rows *ordered*, *coming* and *held*. An unfinished object has none: its row on a
governor follows from its producer. *Scheduled* says that the object is to be on the governor,
*told* that the governor was told to make or to fetch it, *located* that it has all of it.
"""

COPY_NOTES = """\
* A producer that runs again, for the sake of another output, *makes* a copy of an object that is
  finished already.
* *tell*: an object that the server has in memory travels with the order, so that its copy is
  *held* at once. What only one task reads is lent to the governor of that task, and is no copy.
* *miss*: a governor could not fetch a copy that it was thought to have. The copy counts how often
  it could not be fetched (`rain/server/core/unfetched.py`).
* When an object becomes unfinished, all of its copies go.
"""

OBJECTS = """\
## Objects as a whole
"""

OBJECT_NOTES = """\
* What a client uploads starts finished: the server has its bytes. Small results are kept by the
  server, too; so "finished" means located somewhere *or* at the server.
* *remove*: no claim holds its data any more: no client keeps it, and no task will read it. The
  object stays known as long as a client has a handle of it or of its task, or lineage needs it
  ([claims](decisions/sessions.md#claims)).
* *lose* and *revive* are ours: when the last copy of a needed object is gone, it is unfinished
  again and its producer runs again; if that needs objects that were removed, they are revived.
* *fail* is ours, too: the producer has failed, is skipped or was cancelled, or the last copy of a
  constant is lost; only in sessions that go on after failures. A failed object is nowhere (all
  copies *none*).

The twelve rows of the original, with W0 for the governor of the producer and W1 for any other
one. S0: the producer is planned; W0: its governor knows of the object; T.R: the producer is
ready; T.F: it has finished; S1, W1A, W1L: the scheduler wants a copy on W1, W1 was told to fetch
it, W1 has it. The last three columns are the sets of governors that the original keeps.
"""

DIFFERENCES = """\
Each row is covered by the copies above, seen from W0 and from W1. What is different:

* *Rows 10 and 11* (the scheduler has dropped the copy on W1, then W1 was told): a drop and its
  order are one step of one turn here, so that a dropped copy is *none* at once. As in the
  original, the server does not wait for W1's word: a task that needs the object there again is
  sent with it again.
* *Row 12*: a removed object may be revived; and it has no copies, since all holders were told to
  drop it in the turn in which it was removed.
* An object may be finished while its producer runs again, for the sake of a lost sibling. It
  keeps its copies; when the producer finishes there is one more.
"""


GOVERNORS = """\
## Governors

*Gets*: tasks may be planned on it. *Keeps*: it may have tasks that it was told of and has not
started.
"""

GOVERNOR_NOTES = """\
* A governor that has left, or is lost, is not known any more.
* *drain*: it was told to end (SIGTERM), and has told the server of all that it has started. No move
  leads back. Why it rests or drains, and when it leaves, is in `rain/server/core/rests.py` and
  `rain/server/core/draining.py` ([why](decisions/governors.md#draining)).
"""

EXECUTORS = """\
## Executors

The process of an executor, as its governor sees it. *Calls*: it gets calls. What an executor has
done wrong first is the reason of its end that users read; if it has done nothing wrong, it was
killed because of a task in it.
"""


def draw() -> str:
    """The whole page."""
    parts = [
        HEAD,
        TASKS,
        _table(("row", "state", "S", "R", "W", "Q", "meaning"), map(_task_row, TASK_TABLE)),
        _diagram((s.start.value, s.move.value, s.end.value) for s in TASK_STEPS),
        TASK_NOTES,
        RUNS,
        _table(
            ("run", "open while the task is", "causes", "tries", "meaning"),
            map(_run_row, RUN_TABLE),
        ),
        _diagram((s.start.value, s.move.value, s.end.value) for s in RUN_STEPS),
        RUN_NOTES,
        COPIES,
        _table(
            ("copy", "object", "scheduled", "told", "located", "meaning"),
            (
                (
                    f"*{facts.row.value}*",
                    "finished" if facts.finished else "unfinished",
                    _mark(facts.scheduled),
                    _mark(facts.told),
                    _mark(facts.located),
                    facts.meaning,
                )
                for facts in COPY_TABLE
            ),
        ),
        _diagram((s.start.value, s.move.value, s.end.value) for s in COPY_STEPS),
        COPY_NOTES,
        OBJECTS,
        _diagram(
            (start.name.lower(), move.value, end.name.lower())
            for move, ends in OBJECT_MOVES.items()
            for start, end in ends.items()
        ),
        OBJECT_NOTES,
        _table(
            ("", *ORIGINAL_FACTS, "state", "scheduled", "assigned", "located"),
            map(_original_row, ORIGINAL_OBJECTS),
        ),
        DIFFERENCES,
        GOVERNORS,
        _table(
            ("row", "gets", "keeps", "meaning"),
            (
                (
                    f"*{facts.row.value}*",
                    _mark(facts.gets_tasks),
                    _mark(facts.keeps_tasks),
                    facts.meaning,
                )
                for facts in GOVERNOR_TABLE
            ),
        ),
        _diagram((s.start.value, s.move.value, s.end.value) for s in GOVERNOR_STEPS),
        GOVERNOR_NOTES,
        EXECUTORS,
        _table(
            ("executor", "calls", "meaning"),
            (
                (f"*{facts.row.value}*", _mark(facts.gets_calls), facts.meaning)
                for facts in CHILD_TABLE
            ),
        ),
        _diagram((s.start.value, s.move.value, s.end.value) for s in CHILD_STEPS),
    ]
    return "\n".join(parts)


def _task_row(facts: TaskFacts) -> tuple[str, ...]:
    marks = (facts.scheduled, facts.ready, facts.assigned, facts.queued)
    state = facts.state.name.lower().replace("_", " ")
    return (f"*{facts.row.value}*", state, *map(_mark, marks), facts.meaning)


def _run_row(facts: RunFacts) -> tuple[str, ...]:
    rows = ", ".join(f"*{row.value}*" for row in facts.rows)
    causes = ", ".join(f"*{cause.value}*" for cause in facts.causes)
    return (f"*{facts.state.value}*", rows, causes, facts.tries, facts.meaning)


def _original_row(row: OriginalRow) -> tuple[str, ...]:
    marks = (_mark(mark == "x") for mark in row.facts)
    return (str(row.number), *marks, row.state.name.lower(), *row.holders)


def _mark(holds: bool | None) -> str:
    if holds is None:
        return "any"
    return "x" if holds else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _diagram(steps: Iterable[tuple[str, str, str]]) -> str:
    """One arrow for each pair of rows, with all the moves that lead along it."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for start, move, end in steps:
        arrows.setdefault((start, end), []).append(move)
    lines = [
        f"    {a.replace(' ', '_')} --> {b.replace(' ', '_')}: {', '.join(moves)}\n"
        for (a, b), moves in arrows.items()
    ]
    return f"```mermaid\nstateDiagram-v2\n{''.join(lines)}```\n"


def main() -> None:
    PAGE.write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
