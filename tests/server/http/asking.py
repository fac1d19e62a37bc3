"""A server's HTTP for tests, and a client that asks from a thread."""

from __future__ import annotations

import http.client
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from typing import Any, TypeAlias

import trio
from attrs import frozen

from rain.daemon import program
from rain.server.core.collector import Happenings
from rain.server.core.state import State
from rain.server.history.reader import EventReader
from rain.server.history.store import EventStore
from rain.server.http.connection import Answer
from rain.server.http.listener import serve_alone, serve_http
from rain.server.http.site import HttpSite
from rain.server.settings import HttpSettings
from tests.rpc.fakes import FakeServer
from tests.rpc.fakes import serving as peers
from tests.support.logs import capturing_logger


@frozen
class Got:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask_now(
    address: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Got:
    host, _, port = address.rpartition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=20)) as connection:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return Got(
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read(),
        )


async def ask(
    address: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Got:
    return await trio.to_thread.run_sync(ask_now, address, method, path, body, headers)


def site(state: State, events: EventReader | None = None) -> HttpSite:
    log, _ = capturing_logger()
    return HttpSite.of(state, events, lambda: 2000.0, log)


Use: TypeAlias = Callable[[str], Awaitable[None]]


def serving(answer: Answer, use: Use) -> None:
    """Serves at the port of a server, and uses the address meanwhile."""

    async def main() -> int:
        log, _ = capturing_logger()
        async with (
            peers(FakeServer()) as here,
            serve_http(HttpSettings(), here.listener, answer, log) as address,
        ):
            assert address == here.listener.address
            await use(address)
        return 0

    program.run(main)


def serving_alone(answer: Answer, use: Use) -> None:
    """The same at a port for HTTP alone."""

    async def main() -> None:
        log, _ = capturing_logger()
        with trio.fail_after(60):
            async with serve_alone(("127.0.0.1", 0), answer, log) as address:
                await use(address)

    trio.run(main)


def write_all(store: EventStore, happenings: Happenings) -> None:
    store.write(1000.0, happenings.take().happenings, 0)
