"""A run that was written down is made again, to the last effect."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.base.ids import ClientId, GovernorId, KindId, RequestId, SessionId, TaskId
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.wire.requests import Submit, WaitFor
from rain.base.wire.submission import Submission
from rain.base.wire.update import TaskFailure, TaskNote, Update
from rain.graph import Graph
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.rain import RainScheduler
from rain.scheduler.throttle import Thresholds
from rain.server.core.messages import (
    Asked,
    ClientLeft,
    GovernorJoined,
    GovernorUpdated,
    SchedulerFailed,
    TurnInput,
)
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.framing import frame
from rain.server.plain import Forms
from rain.server.plugins import maker_of
from rain.server.recording import (
    MAGIC,
    Header,
    Recorder,
    Recording,
    RecordingEnded,
    RecordingError,
    decode,
    encode,
    replay,
)
from tests.support.chaos import ChaoticScheduler
from tests.support.full_disk import files_no_larger_than
from tests.support.runs import wild_run
from tests.support.world import new_world

SETTINGS = ReactorSettings(overbooking=3, fetch_tries=2, debug=True, thresholds=Thresholds(0.1))


def maker(name: str) -> Callable[[], Scheduler]:
    return (lambda: ChaoticScheduler(Random(5))) if name == "chaos" else maker_of(name)


def recorded(turns: list[TurnInput], scheduler: str = "rain") -> bytes:
    records = [encode(Header(scheduler, SETTINGS)), *[encode(turn) for turn in turns]]
    return MAGIC + b"".join(frame(record) for record in records)


def test_a_recording_on_a_full_disk_counts_up_to_its_last_whole_turn(tmp_path: Path) -> None:
    # given
    run = wild_run(4, maker("rain"), SETTINGS).world
    file, whole = tmp_path / "run", recorded(run.turns)
    # when
    with (
        files_no_larger_than(len(whole) // 2),
        Recorder.create(file, Header("rain", SETTINGS)) as recorder,
        pytest.raises(RecordingEnded, match=r"cannot go on with the recording .*run: File too"),
    ):
        deque(map(recorder, run.turns), maxlen=0)
    # then
    with file.open("rb") as opened:
        outputs = list(replay(Recording(opened), maker("rain")))
    assert 0 < len(outputs) < len(run.turns)
    assert [output.effects for output in outputs] == run.effects[: len(outputs)]


@pytest.mark.parametrize("name", ["rain", "round-robin", "chaos"])
def test_a_run_that_was_written_down_has_the_same_effects_when_it_is_replayed(
    name: str, tmp_path: Path
) -> None:
    # given: a run with losses, failures and late reports, written down turn by turn
    run = wild_run(4, maker(name), SETTINGS).world
    file = tmp_path / "run"
    with Recorder.create(file, Header(name, SETTINGS)) as recorder:
        for given in run.turns:  # as the server does it: how a turn went is known afterwards
            recorder(evolve(given, interrupted_after=None))
            if given.interrupted_after is not None:
                recorder.interrupted(given.interrupted_after)

    # when: it is read back and made again
    with file.open("rb") as opened:
        recording = Recording(opened)
        outputs = list(replay(recording, maker(recording.header.scheduler)))
        effects = [output.effects for output in outputs]

    # then
    assert recording.header == Header(name, SETTINGS)
    assert recording.cut == 0
    assert sum(map(len, effects)) > 100
    assert effects == run.effects
    assert [turn.interrupted_after for turn in run.turns] == [
        output.interrupted_after for output in outputs
    ]
    assert any(output.interrupted_after for output in outputs)


class Hanging(RainScheduler):
    """Goes on for ever when tasks come, whatever is raised in it."""

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        new = bool(news.submitted)
        while new:
            try:
                super().schedule(graph, news, plan)
                news = News()
                while True:
                    pass
            except BaseException:  # noqa: BLE001 # as strangers do
                continue
        super().schedule(graph, news, plan)


QUICK = evolve(SETTINGS, scheduler_limit=0.02)


def hung(tmp_path: Path, *, interrupted_after: int | None) -> Recording:
    """Two tasks come, and the scheduler hangs."""
    world = new_world(settings=QUICK)
    world.governor(cpus=2)
    client = world.client()
    draft = client.session()
    for _ in range(2):
        draft.task()
    client.submit(draft)
    file = tmp_path / "run"
    with Recorder.create(file, Header("hanging", QUICK)) as recorder:
        for given in world.turns:
            recorder(given)
        if interrupted_after is not None:
            recorder.interrupted(interrupted_after)
    return Recording(BytesIO(file.read_bytes()))


@pytest.mark.usefixtures("no_collections")
def test_a_replay_ends_by_name_where_the_server_was_killed_in_a_hanging_scheduler(
    tmp_path: Path,
) -> None:
    recording = hung(tmp_path, interrupted_after=None)
    with pytest.raises(RecordingError, match="the scheduler does not end in the turn of 1970"):
        list(replay(recording, Hanging))


@pytest.mark.usefixtures("no_collections")
def test_a_replay_of_an_interruption_ends_though_the_scheduler_swallows_it(tmp_path: Path) -> None:
    recording = hung(tmp_path, interrupted_after=2)
    *_, last = replay(recording, Hanging)
    assert last.interrupted_after == 2
    assert any(isinstance(effect, SchedulerFailed) for effect in last.effects)


@pytest.mark.usefixtures("no_collections")
def test_a_replay_ends_by_name_when_the_scheduler_does_not_do_what_it_did(tmp_path: Path) -> None:
    recording = hung(tmp_path, interrupted_after=3)
    with pytest.raises(RecordingError, match="after 2 steps, and in the recording after 3"):
        list(replay(recording, Hanging))


def test_every_part_of_an_event_survives() -> None:
    # given: one of everything that is not a plain number, with text that UTF-8 cannot hold
    kind = TaskKind(KindId(7), "py/", "f", Resources(2, (("gpus", 1),)), ("a", ""), (KindId(8),))
    objects = [ObjectKind(KindId(8), "out", data_type=DataType.DIRECTORY)]
    failure = TaskFailure(TaskId(1), 2, "no file 'caf\udce9'")
    update = Update(failed=[failure], task_notes=[TaskNote(TaskId(1), "{}")])
    turn = TurnInput(
        1.5,
        [
            GovernorJoined(GovernorId(2**64 - 1), "a:1", Resources(4)),
            GovernorUpdated(GovernorId(3), update),
        ],
        [
            Asked(ClientId(1), RequestId(1), Submit(Submission(SessionId(1), [kind], objects))),
            Asked(ClientId(1), RequestId(2), WaitFor(SessionId(1), (TaskId(5),), (), "all")),
            ClientLeft(ClientId(1), "gone"),
        ],
        0.25,
    )

    # when / then
    assert decode(TurnInput, encode(turn)) == turn


@pytest.mark.parametrize("missing", [1, 5, 9])
def test_a_cut_tail_ends_the_recording_at_the_last_whole_turn(missing: int) -> None:
    # given: the writer was killed in the middle of its last record
    turns = [TurnInput(1.0), TurnInput(2.0, [], [ClientLeft(ClientId(1), "x")])]
    whole = recorded(turns)

    # when
    recording = Recording(BytesIO(whole[:-missing]))
    read = list(recording.turns())

    # then
    assert read == turns[:1]
    assert recording.cut == len(frame(encode(turns[1]))) - missing


def test_a_tail_that_is_cut_inside_of_a_length_is_no_turn_either() -> None:
    turns = [TurnInput(1.0), TurnInput(2.0)]
    whole = recorded(turns)
    recording = Recording(BytesIO(whole[: len(whole) - len(frame(encode(turns[1]))) + 3]))
    assert list(recording.turns()) == turns[:1]
    assert recording.cut == 3


def test_a_flipped_byte_is_told_by_name() -> None:
    damaged = bytearray(recorded([TurnInput(1.0), TurnInput(2.0)]))
    damaged[-1] ^= 1
    recording = Recording(BytesIO(bytes(damaged)))
    with pytest.raises(RecordingError, match="damaged before byte"):
        list(recording.turns())


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a recording"),
        (b"#!/bin/sh\n" * 5, "not a recording"),
        (MAGIC, "ends before its header"),
        (MAGIC + frame(encode(TurnInput(1.0))), "cannot be read as Header"),
        (MAGIC + frame(b"\xc1"), "cannot be read as Header"),
    ],
)
def test_what_is_no_recording_is_refused_by_name(content: bytes, complaint: str) -> None:
    with pytest.raises(RecordingError, match=complaint):
        Recording(BytesIO(content))


def test_a_recording_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot write the recording"):
        Recorder.create(tmp_path / "missing" / "run", Header("rain", SETTINGS))


def test_a_full_disk_is_told_by_name() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no device that is always full")
    with pytest.raises(StartError, match="cannot go on with the recording /dev/full"):
        Recorder.create(full, Header("rain", SETTINGS))


@pytest.mark.parametrize("kind", [object, set[int], int | str, dict[str, int]])
def test_a_type_without_a_plain_form_is_noticed_at_once(kind: object) -> None:
    with pytest.raises(TypeError, match="no plain form"):
        Forms().of(kind)
