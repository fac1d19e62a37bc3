"""Converts happenings to rows of the event log. No I/O; runs in the writer process.

Rows of one type, time and session are grouped, so that the store can insert them together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from attrs import frozen

from rain.base.ids import NUMBER_MASK, SessionId, session_of
from rain.server.core.happenings import (
    ClientInvalidRequest,
    ClientNew,
    ClientRemoved,
    ClientSubmit,
    ClientUnkeep,
    GovernorDrains,
    GovernorNew,
    GovernorRemoved,
    GovernorRests,
    Happening,
    Monitoring,
    ObjectsFinished,
    RunFailed,
    SchedulerFailed,
    SecondRun,
    SessionClosed,
    SessionNew,
    TaskFailed,
    TaskNotes,
    TasksFinished,
    TasksSkipped,
    TasksStarted,
)
from rain.server.history import forms

MOST_ROWS = 500
"""The most rows in a group; larger groups are not faster."""


@frozen
class Rows:
    """A group of rows that differ only in the event."""

    time: str
    event_type: str
    session: SessionId | None
    events: list[str]  # JSON
    foreign: bool = False  # they contain JSON of users, which may be deeply nested


def rows_of(happening: Happening) -> Iterator[Rows]:
    """The rows of a happening, in order."""
    time = forms.timestamp(happening.time)
    match happening:
        case TasksStarted():
            yield from _started(happening, time)
        case TasksFinished():
            yield from _finished(happening, time)
        case ObjectsFinished():
            yield from _objects(happening, time)
        case TaskFailed():
            yield from _failed(happening, time)
        case RunFailed():
            yield from _run_failed(happening, time)
        case SecondRun():
            yield _second_run(happening, time)
        case TasksSkipped():
            yield from _skipped(happening, time)
        case ClientSubmit():
            event = forms.submission(happening)
            yield Rows(time, "ClientSubmit", happening.session, [event])
        case ClientUnkeep():
            session = session_of(happening.objects[0]) if happening.objects else None
            event = f'{{"type":"ClientUnkeep","dataobjs":{forms.identities(happening.objects)}}}'
            yield Rows(time, "ClientUnkeep", session, [event])
        case SessionNew() | SessionClosed():
            yield _session(happening, time)
        case Monitoring():
            yield Rows(time, "Monitoring", None, [_monitoring(happening)])
        case _:
            yield _peer(happening, time)


def session_closed(happening: SessionClosed) -> str:
    """The event of the end of a session."""
    return (
        f'{{"type":"SessionClosed","session":{happening.session}'
        f',"reason":"{happening.reason.value}","message":{forms.quoted(happening.message)}}}'
    )


def events_lost(time: float, count: int) -> Rows:
    """The row that marks a gap in the log."""
    event = f'{{"type":"EventsLost","count":{count}}}'
    return Rows(forms.timestamp(time), "EventsLost", None, [event])


def _session(happening: SessionNew | SessionClosed, time: str) -> Rows:
    if isinstance(happening, SessionClosed):
        return Rows(time, "SessionClosed", happening.session, [session_closed(happening)])
    whose = happening.belongs_to
    of_user = f',"belongs_to":{forms.quoted(whose)}' if whose else ""
    event = (
        f'{{"type":"SessionNew","session":{happening.session},"client":"{happening.client}"'
        f'{of_user},"spec":{forms.session_spec(happening.name, happening.user)}}}'
    )
    return Rows(time, "SessionNew", happening.session, [event])


def _peer(
    happening: GovernorNew
    | GovernorDrains
    | GovernorRemoved
    | GovernorRests
    | ClientNew
    | ClientRemoved
    | ClientInvalidRequest
    | SchedulerFailed,
    time: str,
) -> Rows:
    event_type = type(happening).__name__
    if isinstance(happening, GovernorNew | GovernorDrains | GovernorRemoved | GovernorRests):
        event = f'{{"type":"{event_type}","governor":{forms.quoted(happening.governor)}'
    elif isinstance(happening, SchedulerFailed):
        event = f'{{"type":"{event_type}","scheduler":{forms.quoted(happening.scheduler)}'
    else:
        event = f'{{"type":"{event_type}","client":"{happening.client}"'
    if not isinstance(happening, GovernorNew | GovernorDrains | ClientNew):
        event += f',"error_msg":{forms.quoted(happening.error_msg)}'
    return Rows(time, event_type, None, [event + "}"])


def _monitoring(happening: Monitoring) -> str:
    sample = happening.sample
    network = zip(sample.interfaces, sample.received, sample.sent, strict=True)
    event = {
        "type": "Monitoring",
        "governor": happening.governor,
        "cpu_usage": sample.cpu_usage,
        "mem_usage": sample.mem_usage,
        "task_memory": sample.task_memory,
        "net_stat": {name: [received, sent] for name, received, sent in network},
    }
    return json.dumps(event, separators=(",", ":"))


def _runs(ids: list[int]) -> Iterator[tuple[SessionId, range]]:
    """Splits a column into runs of one session, each not too long."""
    end = 0
    for session, run in groupby(ids, session_of):
        start, end = end, end + sum(1 for _ in run)
        for first in range(start, end, MOST_ROWS):
            yield session, range(first, min(first + MOST_ROWS, end))


def _alike(event_type: str, ids: list[int], fields: str, time: str) -> Iterator[Rows]:
    """Equal events of several tasks."""
    tail = f"],{fields}}}"
    for session, run in _runs(ids):
        head = f'{{"type":"{event_type}","task":[{session},'
        events = [f"{head}{ids[place] & NUMBER_MASK}{tail}" for place in run]
        yield Rows(time, event_type, session, events)


def _started(happening: TasksStarted, time: str) -> Iterator[Rows]:
    info = forms.task_info(happening.address, time)
    yield from _alike("TaskStarted", [*happening.ids], f'"info":{info}', time)


def _finished(happening: TasksFinished, time: str) -> Iterator[Rows]:
    starts = _starts(happening.starts)
    ids: list[int] = [*happening.ids]
    governor = forms.quoted(happening.address)
    sudden = [ids[place] for place in happening.sudden]
    for session, run in _runs(sudden):
        head = f'{{"type":"TaskStarted","task":[{session},'
        tail = f'","governor":{governor}}}}}'
        yield Rows(
            time,
            "TaskStarted",
            session,
            [
                f'{head}{sudden[place] & NUMBER_MASK}],"info":{{"start_time":"'
                f"{starts[happening.sudden[place]]}{tail}"
                for place in run
            ],
        )
    durations, notes = happening.durations, happening.notes
    for session, run in _runs(ids):
        head = f'{{"type":"TaskFinished","task":[{session},'
        tail = f',"governor":{governor}}}}}'
        events = [
            f'{head}{ids[place] & NUMBER_MASK}],"info":{{"start_time":"{starts[place]}"'
            f',"duration":{durations[place]:.3f}{tail}'
            for place in run
        ]
        if notes:
            for index, place in enumerate(run):
                note = notes.get(happening.ids[place])
                if note is not None:
                    info = forms.task_info(
                        happening.address, starts[place], durations[place], "", note
                    )
                    events[index] = (
                        f'{{"type":"TaskFinished","task":{forms.identity(ids[place])}'
                        f',"info":{info}}}'
                    )
        yield Rows(time, "TaskFinished", session, events, foreign=bool(notes))


def _starts(starts: list[float]) -> list[str]:
    timestamps = forms.Timestamps()
    return [timestamps.of(start) for start in starts]


def _span(happening: TaskFailed | RunFailed) -> tuple[str, float | None]:
    """When it started and how long it ran, as far as that is known."""
    if not happening.start:
        return "", None
    return forms.timestamp(happening.start), happening.time - happening.start


def _start_of(happening: TaskFailed | RunFailed, governor: str, time: str) -> Iterator[Rows]:
    """Adds a start if none was reported, because counting running tasks needs one for each end."""
    if not happening.start:
        task, info = forms.identity(happening.task), forms.task_info(governor)
        event = f'{{"type":"TaskStarted","task":{task},"info":{info}}}'
        yield Rows(time, "TaskStarted", session_of(happening.task), [event])


def _failed(happening: TaskFailed, time: str) -> Iterator[Rows]:
    session, task = session_of(happening.task), forms.identity(happening.task)
    yield from _start_of(happening, happening.address, time)
    info = forms.task_info(happening.address, *_span(happening), happening.error, happening.notes)
    event = f'{{"type":"TaskFinished","task":{task},"info":{info}}}'
    yield Rows(time, "TaskFinished", session, [event])


def _run_failed(happening: RunFailed, time: str) -> Iterator[Rows]:
    session, task = session_of(happening.task), forms.identity(happening.task)
    run = happening.run
    yield from _start_of(happening, run.governor, time)
    notes = TaskNotes("", run.debug)
    cause = "" if run.cause is None else run.cause.value
    info = forms.task_info(run.governor, *_span(happening), run.message, notes)
    event = (
        f'{{"type":"TaskRunFailed","task":{task},"run":{run.number}'
        f',"cause":{forms.quoted(cause)},"info":{info}}}'
    )
    yield Rows(time, "TaskRunFailed", session, [event])


def _second_run(happening: SecondRun, time: str) -> Rows:
    event = (
        f'{{"type":"TaskSecondRun","task":{forms.identity(happening.task)}'
        f',"governor":{forms.quoted(happening.governor)},"state":"{happening.state.value}"'
    )
    if happening.error:
        event += f',"error_msg":{forms.quoted(happening.error)}'
    return Rows(time, "TaskSecondRun", session_of(happening.task), [event + "}"])


def _skipped(happening: TasksSkipped, time: str) -> Iterator[Rows]:
    cause = "null" if happening.cause is None else forms.identity(happening.cause)
    fields = f'"cause":{cause},"error":{forms.quoted(happening.error)}'
    event_type = "TaskCancelled" if happening.cancelled else "TaskSkipped"
    yield from _alike(event_type, [*happening.ids], fields, time)


def _objects(happening: ObjectsFinished, time: str) -> Iterator[Rows]:
    ids: list[int] = [*happening.ids]
    governor = forms.quoted(happening.address)
    for session, run in _runs(ids):
        yield Rows(
            time,
            "DataObjectFinished",
            session,
            [
                f'{{"type":"DataObjectFinished","dataobject":{forms.identity(ids[place])}'
                f',"governor":{governor},"info":'
                + forms.object_info(
                    happening.sizes[place],
                    happening.content_types[place],
                    happening.users[place],
                )
                + "}"
                for place in run
            ],
            foreign=True,
        )
