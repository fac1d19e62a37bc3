"""The scheduled-ready queue of a governor: the best task first."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import ClientId, SessionId
from rain.base.states import TaskRow
from rain.graph import Client, Session, Task
from rain.graph.ready_queue import ReadyQueue
from tests.graph.test_moves import task_in


def tasks_of(priorities: list[int]) -> list[Task]:
    """Tasks with these priorities, in this order."""
    tasks = [task_in(TaskRow.QUEUED) for _ in priorities]
    for order, (task, priority) in enumerate(zip(tasks, priorities, strict=True)):
        task.order, task.priority = order, priority
    return tasks


@given(st.lists(st.integers(-3, 3)), st.data())
def test_tasks_come_out_by_priority_and_then_in_their_order(
    priorities: list[int], data: st.DataObject
) -> None:
    # given: tasks that were put in in any order
    tasks = tasks_of(priorities)
    queue = ReadyQueue()
    for task in data.draw(st.permutations(tasks)):
        queue.add(task)
    expected = sorted(tasks, key=lambda task: (-task.priority, task.order))

    # when / then
    assert list(queue) == expected
    assert list(reversed(queue)) == expected[::-1]
    assert [queue.pop() for _ in tasks] == expected
    assert len(queue) == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=30), st.integers(0, 5))
def test_whatever_comes_and_goes_the_best_are_taken_first(
    steps: list[tuple[int, int]], count: int
) -> None:
    # given: what is left after tasks came in runs, and some went
    tasks = iter(tasks_of([priority for _, priority in steps for _ in range(3)]))
    queue = ReadyQueue()
    left: list[Task] = []
    for what, _ in steps:
        coming = [next(tasks) for _ in range(3)]
        if what < 3:
            for task in coming:
                queue.add(task)
            left += coming
        elif left:
            gone = left.pop(len(left) // 2)
            queue.remove(gone)
            assert gone not in queue
    left.sort(key=lambda task: (-task.priority, task.order))

    # when / then
    assert list(queue) == left
    assert list(reversed(queue)) == left[::-1]
    assert queue.take(count) == left[:count]
    assert list(queue) == left[count:]
    assert all(task in queue for task in left[count:])


def with_priorities(
    given: list[tuple[bool, int, int]],
) -> tuple[list[Task], dict[Session, list[Task]]]:
    """Tasks of two sessions with places and the priorities of users, and those of each session."""
    tasks = tasks_of([place for _, place, _ in given])
    sessions = [Session(SessionId(number), Client(ClientId(1))) for number in (1, 2)]
    for task, (second, _, priority) in zip(tasks, given, strict=True):
        task.session = sessions[second]
        task.kind = evolve(task.kind, priority=priority)
        task.session.has_priorities = task.session.has_priorities or priority != 0
    return tasks, {one: [task for task in tasks if task.session is one] for one in sessions}


@given(
    st.lists(st.tuples(st.booleans(), st.integers(-9, 9), st.integers(-2, 2)), max_size=20),
    st.lists(st.integers(0, 99), max_size=8),
)
def test_the_places_of_a_session_go_to_its_tasks_of_the_largest_priority(
    given: list[tuple[bool, int, int]], leaving: list[int]
) -> None:
    # given: tasks of two sessions, some of which have left again
    tasks, by_session = with_priorities(given)
    queue = ReadyQueue()
    for task in tasks:
        queue.add(task)
    for number in leaving:
        if tasks:
            gone = tasks.pop(number % len(tasks))
            queue.remove(gone)
            by_session[gone.session].remove(gone)
            assert gone not in queue
    # then: each session goes through its tasks by priority, and by place among equal ones
    for of_one in by_session.values():
        of_one.sort(key=lambda task: (-task.kind.priority, -task.priority, task.order))
    expected = list(queue)
    assert {one: [t for t in expected if t.session is one] for one in by_session} == by_session
    assert list(reversed(queue)) == expected[::-1]
    # and the sessions take turns as their places say, which are those of the tasks
    places = sorted((-task.priority, task.order, task.session.id) for task in tasks)
    if not leaving:
        assert [task.session.id for task in expected] == [session for _, _, session in places]
    assert queue.take(len(expected)) == expected
    if not leaving:
        assert [-task.priority for task in expected] == [place for place, _, _ in places]
    assert len(queue) == 0


def test_tasks_that_came_before_their_session_had_priorities_take_their_turn_too() -> None:
    tasks, _ = with_priorities([(False, 9, 0), (False, 8, 0), (False, 1, 5)])
    session = tasks[0].session
    session.has_priorities = False
    queue = ReadyQueue()
    for task in tasks[:2]:
        queue.add(task)
    session.has_priorities = True
    # when
    queue.add(tasks[2])
    # then
    assert list(queue) == [tasks[2], tasks[0], tasks[1]]
    assert queue.take_first_of(session) is tasks[2]
    assert tasks[2].priority == 9
    assert list(queue) == tasks[:2]


def test_a_task_can_leave_from_anywhere() -> None:
    tasks = tasks_of([1, 2, 3])
    queue = ReadyQueue()
    for task in tasks:
        queue.add(task)
    queue.remove(tasks[1])
    assert tasks[1] not in queue
    assert tasks[0] in queue
    assert list(queue) == [tasks[2], tasks[0]]


def test_a_session_takes_all_of_its_tasks_with_it() -> None:
    # given: tasks of two sessions, in their order and out of it
    tasks = tasks_of([3, 1, 2, 0])
    other = Session(SessionId(2), Client(ClientId(1)))
    tasks[0].session = tasks[2].session = other
    queue = ReadyQueue()
    for task in tasks:
        queue.add(task)
    # when
    queue.forget(other)
    # then
    assert list(queue) == [tasks[1], tasks[3]]
