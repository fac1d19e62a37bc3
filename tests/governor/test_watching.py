"""What is told of what tasks print: whole lines, each byte once, and not too many."""

from __future__ import annotations

from attrs import Factory, define
from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import SessionId, TaskId, pack
from rain.base.wire.printed import PrintedLines, Watch
from rain.common.printed import HEAD, NOTHING, TAIL, KeptText, Streams
from rain.governor.watching import (
    LONGEST_LINE,
    MOST,
    MOST_WAITING,
    STATE,
    Unsent,
    WatchedTask,
    Watching,
    as_seen,
    cut,
    look_at,
)

TASK = TaskId(pack(1, 10))


@define(eq=False)
class Printing:
    """A task whose output is in memory, and everything that was told of it."""

    watching: Watching = Factory(Watching)
    out: bytes = b""
    now: float = 100.0
    told: list[PrintedLines] = Factory(list)

    def prints(self, text: str) -> str:
        """Prints something, and gives what is told at the next look."""
        self.out += text.encode()
        self.watching.look([WatchedTask(TASK, "talk", self.look)], self.now)
        return self.taken()

    def ends(self) -> str:
        self.watching.over(WatchedTask(TASK, "talk", look_at(self._streams())))
        return self.taken()

    def taken(self) -> str:
        newest = [one for number, lines in self.watching.take() if number == 1 for one in lines]
        self.told += newest
        return "".join(one.text for one in newest)

    def look(self, stream: int, told: int) -> Unsent:
        unsent = b"" if stream else self.out[told:]
        return unsent[-MOST:], len(unsent)

    def _streams(self) -> Streams:
        out = self.out
        if len(out) > HEAD + TAIL:
            out = out[:HEAD] + out[-TAIL:]
        return KeptText(out, len(self.out)), NOTHING


def printing(watch: Watch | None = None) -> Printing:
    made = Printing()
    made.watching.watch(1, watch or Watch(frozenset([SessionId(1)])))
    return made


def test_whole_lines_are_told_and_the_rest_when_they_are_whole_or_at_the_end() -> None:
    p = printing()
    assert p.prints("one\ntwo\nthr") == "one\ntwo\n"
    assert p.prints("") == ""
    assert p.prints("ee\nfour") == "three\n"
    assert p.ends() == "four"
    assert all(one.name == "talk" and not one.errors and not one.left_out for one in p.told)


def test_what_tasks_of_tasks_print_is_told_to_who_watches_the_session_of_the_outermost() -> None:
    watching = Watching()
    for number, session in enumerate((1, 2), 1):
        watching.watch(number, Watch(frozenset([SessionId(session)])))
    nested, look = TaskId(pack(7, 10)), look_at((KeptText(b"deep\n", 5), NOTHING))
    watching.over(WatchedTask(nested, "talk", look, root=SessionId(1)))
    assert [(number, lines[0].text) for number, lines in watching.take()] == [(1, "deep\n")]


def test_a_run_of_the_same_task_begins_at_its_start() -> None:
    p = printing()
    p.prints("first\n")
    p.ends()
    p.out = b""
    assert p.prints("second\n") == "second\n"


def test_the_last_state_of_a_line_that_is_written_anew_is_told_now_and_then() -> None:
    p = printing()
    assert p.prints("\r 10%\r 20%") == " 20%"
    assert p.prints("\r 30%") == ""
    p.now += STATE
    assert p.prints("\r 40%\r 50%") == " 50%"
    assert p.prints("\r100%\n") == "100%\n"


def test_lines_with_the_ends_of_other_systems_are_lines() -> None:
    assert as_seen("one\r\ntwo\r\n") == "one\ntwo\n"


def test_a_line_without_end_is_told_in_pieces() -> None:
    p = printing()
    assert p.prints("x" * LONGEST_LINE) == ""
    assert p.prints("x") == "x" * (LONGEST_LINE + 1)


def test_the_newest_part_of_a_large_output_is_told_from_the_start_of_a_line() -> None:
    p = printing()
    lines = "".join(f"line {number}\n" for number in range(100_000))
    told = p.prints(lines)
    assert len(told) <= MOST
    assert lines.endswith("\n" + told)
    assert p.told[0].left_out == len(lines) - len(told)
    assert p.prints("more\n") == "more\n"


def test_what_was_kept_of_a_long_output_ends_what_was_told_of_it() -> None:
    p = printing()
    p.prints("x\n" * HEAD)
    p.out += b"y\n" * (HEAD + TAIL)
    p.out += b"the end"
    text = p.ends()
    assert text.endswith("y\nthe end")
    told = sum(len(one.text) + one.left_out for one in p.told)
    assert told == len(p.out)


def test_only_what_is_watched_is_told_to_each_watch_by_itself() -> None:
    p = printing(Watch(tasks=frozenset([TASK])))
    assert p.prints("one\n") == "one\n"
    p.watching.watch(2, Watch(frozenset([SessionId(1)])))
    p.watching.watch(3, Watch(frozenset([SessionId(2)]), frozenset([TaskId(pack(2, 10))])))
    p.out += b"two\n"
    p.watching.look([WatchedTask(TASK, "talk", p.look)], p.now)
    texts = {number: "".join(one.text for one in lines) for number, lines in p.watching.take()}
    assert texts == {1: "two\n", 2: "one\ntwo\n"}
    p.watching.watch(2, None)
    assert p.prints("three\n") == "three\n"
    assert not p.watching


def test_what_nobody_takes_is_only_counted() -> None:
    p = printing()
    for _ in range(3 * MOST_WAITING // MOST):
        p.out += b"x\n" * (MOST // 2)
        p.watching.look([WatchedTask(TASK, "talk", p.look)], p.now)
    p.taken()
    assert sum(len(one.text) for one in p.told) <= MOST_WAITING
    assert sum(len(one.text) + one.left_out for one in p.told) == len(p.out)
    assert p.told[-1].task == 0


@given(st.lists(st.text(st.sampled_from("ab\nü"), max_size=20), max_size=20))
def test_all_that_is_told_together_is_what_was_printed(pieces: list[str]) -> None:
    p = printing()
    told = "".join(p.prints(piece) for piece in pieces) + p.ends()
    assert told == "".join(pieces)


@given(st.binary(max_size=40), st.booleans(), st.booleans())
def test_no_byte_is_told_twice_or_forgotten(data: bytes, over: bool, due: bool) -> None:
    found = cut((data, len(data) + 5), over=over, state_due=due)
    assert found is not None
    assert 5 <= found.left_out <= found.told <= len(data) + 5
    if over:
        assert found.told == len(data) + 5
