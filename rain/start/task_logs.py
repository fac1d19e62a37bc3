"""The output of a task, for `rain logs`; after the end of its session it is in the event log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from attrs import evolve

from rain.base.address import split_address
from rain.base.errors import (
    ConnectionLostError,
    RainError,
    RefusedError,
    SessionFailedError,
    StartError,
)
from rain.base.ids import NUMBER_BITS, TaskId, pack, session_of, spell, unpack
from rain.base.states import TaskState
from rain.base.wire.printed import Watch
from rain.base.wire.requests import JoinSession, ReportsOf, Request, TakePrinted, WatchPrinted
from rain.rpc.client_endpoint import ClientConnection
from rain.start.reaching import ReachedServer, http_of
from rain.start.status import ask_http

A = TypeVar("A")

LOOK = 0.5
"""Seconds between two questions of a command that follows a task."""

_OVER = (TaskState.FINISHED, TaskState.FAILED, TaskState.CANCELLED)

Write = Callable[[str, bool], object]
"""Writes text: what was printed on stdout, or (True) on stderr."""


class LogServer(Protocol):
    """The request to the server."""

    def ask(self, request: Request[A]) -> A: ...

    def say(self, said: WatchPrinted) -> None: ...


def parse_task(text: str) -> TaskId:
    """The id of a task as it is shown everywhere: SESSION/NUMBER."""
    session, slash, number = text.partition("/")
    if slash and session.isdecimal() and number.isdecimal():
        whole = int(session), int(number)
        if 0 < whole[0] < 1 << 31 and whole[1] < 1 << NUMBER_BITS:
            return TaskId(pack(*whole))
    raise StartError(f"{text!r} is not the id of a task: write it as 3/12, SESSION/NUMBER")


def show_logs(reached: ReachedServer, task: TaskId, write: Write, *, follow: bool) -> None:
    """Writes what a task has printed; `follow` goes on until it has ended."""
    host, port = split_address(reached.address)
    connection = ClientConnection(host, port, keys=reached.keys)
    try:
        try:
            connection.ask(JoinSession(session_of(task), "", numbers=False))
        except (RefusedError, SessionFailedError) as error:  # it is over, or never was
            if not reached.http:
                reached = evolve(reached, http=http_of(connection, reached.address))
            write(logs_in_event_log(reached, task, error), False)
            return
        if follow:
            follow_task(connection, task, write)
        else:
            write(_logs(connection, task), False)
    except (ConnectionLostError, RefusedError, SessionFailedError) as error:
        raise StartError(f"the server at {reached.address} says: {_said(error)}") from error
    finally:
        connection.close()


def follow_task(
    server: LogServer, task: TaskId, write: Write, sleep: Callable[[float], object] = time.sleep
) -> None:
    """Writes lines as they come, from the first one of the run, until the task has ended."""
    server.say(WatchPrinted(Watch(tasks=frozenset([task]))))
    shown = over = False
    while not over:
        (report,), _ = server.ask(ReportsOf((task,), ()))
        over = report.state in _OVER  # looked at first: lines of a run come before its end
        for lines in server.ask(TakePrinted(wait=False)):
            shown = True
            if lines.left_out:
                write(f"[... {lines.left_out} bytes are left out here ...]\n", lines.errors)
            ends = lines.text.endswith("\n") or not lines.text
            write(lines.text if ends else f"{lines.text}\n", lines.errors)
        if not over:
            sleep(LOOK)
    if not shown:  # it had ended before
        write(_logs(server, task), False)


def _logs(server: LogServer, task: TaskId) -> str:
    (report,), _ = server.ask(ReportsOf((task,), (), logs=True))
    return report.logs


def logs_in_event_log(reached: ReachedServer, task: TaskId, error: RainError) -> str:
    """The output of a task whose session is over."""
    if not reached.http:
        raise StartError(f"{_said(error)}, and without HTTP its event log cannot be read")
    session, number = unpack(task)
    try:
        told = ask_http(
            reached.http,
            reached.keys,
            f"/api/task?session={session}&task={number}",
        )
    except StartError as unknown:
        raise StartError(f"{_said(error)}, and its event log does not help: {unknown}") from None
    return read_logs(told, task)


def read_logs(told: Mapping[str, Any], task: TaskId) -> str:
    """The output of the last run, from the answer of `/api/task`."""
    try:
        texts = [str(entry["info"].get("logs", "")) for entry in told["story"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise StartError(
            f"the answer of the server about {spell(task)} cannot be parsed"
        ) from error
    return next((text for text in reversed(texts) if text), "")


def _said(error: RainError) -> str:
    if isinstance(error, SessionFailedError):
        return "the session of the task has failed"
    return str(error)
