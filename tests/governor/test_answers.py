"""What executors answer is not believed."""

from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import msgpack
import pytest
from attrs import Factory, define

from rain.base import executor_protocol as protocol
from rain.base.errors import ProtocolError
from rain.base.wire.update import TaskNote
from rain.common.notes import NOTES_LIMIT
from rain.governor.core.results import Failed, Made, Outputs, PassedOn, Stored
from rain.governor.executors import messages
from rain.governor.executors.messages import AnswerReader, adopt_all
from rain.governor.storage.errors import StoreError
from tests.governor.words import object_id, task_id
from tests.support.malformed import spoiled

STAGE = Path("/there/stage")


@define(eq=False)
class Shelf:
    """A store that takes what is not called "missing"; to take what ends in ".many" takes long."""

    files: set[int] = Factory(set)

    def adopt(self, path: Path) -> Stored:
        if path.stem == "missing":
            raise StoreError("it is missing")
        self.files.add(int(path.stem))
        return Stored(int(path.stem), 1000)

    def adopts_at_once(self, path: Path) -> bool:
        return path.suffix != ".many"

    def discard(self, outputs: Outputs) -> None:
        for output in outputs:
            if isinstance(output, Made) and isinstance(output.content, Stored):
                self.files.remove(output.content.file)


def reader(shelf: Shelf | None = None) -> AnswerReader:
    return AnswerReader(3, [STAGE], shelf or Shelf())


def packed(*row: Any) -> bytes:
    """An answer to a call that began after ten seconds; the second word is how long it took."""
    if len(row) > 1 and type(row[1]) is float:
        row = (row[0], 10.0, 10.0 + row[1], *row[2:])
    return msgpack.packb(list(row))


def test_answers_become_columns_wherever_their_bytes_are_cut() -> None:
    reading = reader()
    data = packed(task_id(1), 0.5, [b"one"]) + packed(task_id(2), 0.25, "wrong")
    assert reading.feed(data[:20]) is None
    done = reading.feed(data[20:])
    assert done is not None
    assert (done.executor, done.tasks) == (3, [task_id(1), task_id(2)])
    assert done.durations == [0.5, 0.25]
    assert done.starts == [10.0, 10.0]
    assert done.results == [[b"one"], Failed("wrong")]
    assert done.notes == []


def test_words_are_notes_of_what_succeeded_and_debug_lines_of_what_failed() -> None:
    data = packed(task_id(1), 0.5, [], "debug", '{"a": 1}') + packed(
        task_id(2), 0.5, "wrong", "debug", ""
    )
    done = reader().feed(data)
    assert done is not None
    assert done.notes == [TaskNote(task_id(1), '{"a": 1}', "debug")]
    assert done.results == [[], Failed("wrong", "debug")]


def test_what_was_printed_comes_with_the_answer_also_of_a_failure() -> None:
    printed = [[b"out", 3], [b"err\n", 4]]
    data = packed(task_id(1), 0.5, [], "debug", "", printed)
    data += packed(task_id(2), 0.5, "wrong", "", "", printed)
    done = reader().feed(data)
    assert done is not None
    logs = "out\n[stderr]\nerr\n"
    assert done.notes == [TaskNote(task_id(1), "", "debug", logs), TaskNote(task_id(2), logs=logs)]
    streams = ((b"out", 3), (b"err\n", 4))
    assert done.printed == [(task_id(1), streams), (task_id(2), streams)]


def test_outputs_are_bytes_files_and_inputs() -> None:
    outputs = [
        b"plain",
        [protocol.BYTES, b"text", "text", ""],
        [protocol.FILE, "/there/stage/7", "", '{"a": 1}'],
        [protocol.INPUT, object_id(10), "", ""],
    ]
    done = reader().feed(packed(task_id(1), 0.5, outputs))
    assert done is not None
    assert done.results == [
        [
            b"plain",
            Made(b"text", "text"),
            Made(Stored(7, 1000), "", '{"a": 1}'),
            Made(PassedOn(object_id(10))),
        ]
    ]


def test_a_file_that_cannot_be_stored_fails_the_task() -> None:
    outputs = [[protocol.FILE, "/there/stage/missing", "", ""]]
    done = reader().feed(packed(task_id(1), 0.5, outputs))
    assert done is not None
    assert done.results == [Failed("it is missing")]


@pytest.mark.parametrize("kind", ["", ".many"], ids=["at once", "later"])
def test_when_one_file_cannot_be_stored_the_others_of_the_task_do_not_stay(kind: str) -> None:
    shelf = Shelf()
    reading = reader(shelf)
    names = ["7", f"8{kind}", f"missing{kind}", f"9{kind}"]
    outputs = [[protocol.FILE, f"/there/stage/{name}", "", ""] for name in names]
    done = reading.feed(packed(task_id(1), 0.5, [b"beside", *outputs]))
    assert done is not None
    whole = adopt_all(done, reading.take_staged(), shelf)
    assert whole.results == [Failed("it is missing")]
    assert not shelf.files


NONSENSE: list[bytes] = [
    b"\xc1",
    packed(),
    packed(task_id(1), 0.5),
    packed("task", 0.5, []),
    packed(task_id(1), -0.5, []),
    packed(task_id(1), nan, []),
    packed(task_id(1), 1, 2, []),
    packed(task_id(1), "long", []),
    packed(task_id(1), 0.5, 7),
    packed(task_id(1), 0.5, {}),
    packed(task_id(1), 0.5, [7]),
    packed(task_id(1), 0.5, [[7, b"", "", ""]]),
    packed(task_id(1), 0.5, [[protocol.BYTES, "text", "", ""]]),
    packed(task_id(1), 0.5, [[protocol.FILE, "/etc/passwd", "", ""]]),
    packed(task_id(1), 0.5, [], "only one word"),
    packed(task_id(1), 0.5, [], "", "", "printed"),
    packed(task_id(1), 0.5, [], "", "", [[b"out", 2], [b"", 0]]),
    packed(task_id(1), 0.5, [], "", "", [["out", 3], [b"", 0]]),
    packed(task_id(1), inf, []),
    packed(task_id(1), 1e13, []),
    msgpack.packb([task_id(1), -1e300, -1e300, []]),
    packed(task_id(1), 0.5, [], "", "x" * (NOTES_LIMIT + 1)),
    packed(task_id(1), 0.5, [], "", 7),
    packed(task_id(1), 0.5, [[protocol.BYTES, b"", "x" * (NOTES_LIMIT + 1), ""]]),
    packed(task_id(1), 0.5, [[protocol.BYTES, b"", "", "x" * (NOTES_LIMIT + 1)]]),
    packed(task_id(1), 0.5, "wrong", "", "", "", b"x" * (NOTES_LIMIT + 1)),
    msgpack.packb(7),
]


LIES = 3000


def test_whatever_an_executor_answers_is_understood_or_its_fault(tmp_path: Path) -> None:
    row = [
        task_id(1),
        10.0,
        10.5,
        [
            b"plain",
            [protocol.BYTES, b"text", "text", "{}"],
            [protocol.INPUT, object_id(10), "", ""],
        ],
        *("debug", "{}", [[b"out", 3], [b"err", 3]]),
    ]
    failed = [task_id(1), 10.0, 10.5, "wrong", "debug", "", "", b"pickled", True]
    handed_on = [task_id(1), 10.0, 10.5, {protocol.HANDED_ON: [object_id(10)]}]
    understood = 0
    for seed in range(LIES):
        random = Random(seed)
        said = spoiled(random, msgpack.packb(random.choice((row, failed, handed_on))))
        try:
            reading = AnswerReader(3, [tmp_path], Shelf())
            reading.feed(said)
            understood += 1
        except ProtocolError:
            pass
    assert 0 < understood < LIES


@pytest.mark.parametrize("data", NONSENSE)
def test_nonsense_is_the_executors_fault(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="the executor 3"):
        reader().feed(data)


def test_what_follows_an_answer_in_a_wrong_form_gets_none_of_its_files() -> None:
    reading = reader()
    with pytest.raises(ProtocolError):
        reading.feed(packed(task_id(1), 0.5, [[protocol.FILE, "/there/stage/8.many", "", ""], 7]))
    done = reading.feed(packed(task_id(2), 0.5, [b"plain"]))
    assert done is not None
    assert reading.take_staged() == []


def test_an_answer_without_end_is_the_executors_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LARGEST_ANSWER", 1000)
    reading = reader()
    endless = msgpack.packb([bytes(10_000)])
    with pytest.raises(ProtocolError, match="the executor 3"):
        reading.feed(endless)


def test_what_takes_long_to_adopt_is_put_off_and_adopted_in_its_place() -> None:
    reading = reader()
    rows = [
        packed(task_id(1), 0.5, [b"quick"]),
        packed(task_id(2), 0.5, [b"beside", [protocol.FILE, "/there/stage/8.many", "text", ""]]),
        packed(task_id(3), 0.5, [[protocol.FILE, "/there/stage/missing.many", "", ""]]),
    ]
    done = reading.feed(b"".join(rows))
    assert done is not None
    staged = reading.take_staged()
    assert [(one.task, one.output) for one in staged] == [(1, 1), (2, 0)]

    whole = adopt_all(done, staged, Shelf())

    stored = Made(Stored(8, 1000), "text")
    assert whole.results == [[b"quick"], [b"beside", stored], Failed("it is missing")]
    assert reading.take_staged() == []
