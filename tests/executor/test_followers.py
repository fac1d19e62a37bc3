"""Calls whose inputs come without content, because calls before them have made these."""

from typing import Any

from rain.base import executor_protocol as protocol
from tests.executor.child import PICKLED, PLAIN, TEXT, Child, number


def follower(row: list[Any], kind: int = PLAIN) -> list[Any]:
    """The first output of a call, as an input that the executor has itself."""
    return [row[4][0], number(kind), "", "", 0, None]


def answers(executor: Child, *calls: tuple[list[Any], list[Any]]) -> list[list[Any]]:
    executor.post(len(calls))
    kinds, rows = [kind for kind, _ in calls], [row for _, row in calls]
    executor.say(protocol.CALLS, 1, kinds, [], [], rows, None)
    return [executor.answer() for _ in calls]


def grow(ctx: Any, *parts: Any) -> bytes:
    data = ctx.input(1, "", None).get_bytes() if not parts else b"".join(parts)
    return bytes(data) + b"+"


def test_a_call_reads_what_the_one_before_it_has_made(executor: Child) -> None:
    function = executor.remember(grow)
    first = executor.row(function, b"a", outputs=(PLAIN,))
    second = executor.row(function, outputs=(PLAIN,), inputs=(follower(first[1]),))
    third = executor.row(function, outputs=(PLAIN,), inputs=(follower(second[1]),))
    made = [answer[2] for answer in answers(executor, first, second, third)]
    assert made == [[b"a+"], [b"a++"], [b"a+++"]]


def test_the_content_type_that_was_found_is_known_to_the_follower(executor: Child) -> None:
    function = executor.remember(lambda ctx: "text")
    read = executor.remember(lambda ctx: ctx.input(1, "", None).content_type.encode())
    first = executor.row(function, outputs=(PLAIN,))
    second = executor.row(read, outputs=(PLAIN,), inputs=(follower(first[1]),))
    assert answers(executor, first, second)[1][2] == [b"text"]


def test_what_follows_a_failed_call_is_not_run(executor: Child) -> None:
    fail = executor.remember(lambda ctx: 1 / 0)
    function = executor.remember(grow)
    first = executor.row(fail, outputs=(PLAIN,))
    second = executor.row(function, outputs=(PLAIN,), inputs=(follower(first[1]),))
    third = executor.row(function, outputs=(PLAIN,), inputs=(follower(second[1]),))
    results = [answer[2] for answer in answers(executor, first, second, third)]
    assert "ZeroDivisionError" in results[0]
    assert results[1:] == [None, None]


def test_an_output_that_is_made_again_and_fails_is_not_read_as_it_was(executor: Child) -> None:
    # given: a call that has made its output, and fails when it is run again
    def once(ctx: Any) -> bytes:
        runs.append(1)
        return b"once" if len(runs) == 1 else bytes(1 // 0)

    runs: list[int] = []
    unsteady = executor.remember(once)
    function = executor.remember(grow)
    kind, row = executor.row(unsteady, outputs=(PLAIN,))
    assert answers(executor, (kind, row))[0][2] == [b"once"]

    # when
    after = executor.row(function, outputs=(PLAIN,), inputs=(follower(row),))
    results = [answer[2] for answer in answers(executor, (kind, row), after)]

    # then
    assert "ZeroDivisionError" in results[0]
    assert results[1] is None


def test_large_outputs_and_those_of_forgotten_sessions_are_not_kept(executor: Child) -> None:
    large = executor.remember(lambda ctx: b"x" * (protocol.INLINE_RESULT + 1))
    small = executor.remember(lambda ctx: "small")
    function = executor.remember(grow)
    first = executor.row(large, outputs=(PLAIN,))
    second = executor.row(function, outputs=(PLAIN,), inputs=(follower(first[1]),))
    assert answers(executor, first, second)[1][2] is None

    third = executor.row(small, outputs=(TEXT,))
    assert answers(executor, third)[0][2] == [b"small"]
    executor.say(protocol.DROP, [], [5])
    executor.tell_kinds()
    fourth = executor.row(executor.remember(grow), outputs=(PLAIN,), inputs=(follower(third[1]),))
    assert answers(executor, fourth)[0][2] is None
    assert executor.value(lambda ctx: 3, outputs=(PICKLED,)) == 3
