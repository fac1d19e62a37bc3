"""A caller of a client, and a server of trio in another thread."""

from __future__ import annotations

import threading
from typing import Any

import trio

from rain.rpc.caller import Caller
from rain.rpc.ended import How
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import RemoteCapability
from rain.rpc.questions import CallError
from tests.rpc.peers import COUNTER, Counter
from tests.rpc.test_link import LONGEST, wired


class Connected:
    """A caller, and a server of trio in another thread."""

    def __init__(self, *, encrypted: bool = False) -> None:
        one, other = wired(encrypted=encrypted)
        self.counter = Counter()
        self.server = Link(other, self.counter.offered, LONGEST)
        self.thread = threading.Thread(target=lambda: trio.run(self._serve))
        self.serving = threading.Event()
        self.token: Any = None
        self.thread.start()
        self.serving.wait()
        self.caller = Caller(one)
        self.root: RemoteCapability = self.caller.peer.bootstrap()

    async def _serve(self) -> None:
        self.token = trio.lowlevel.current_trio_token()
        self.serving.set()
        await self.server.run()

    def in_server(self, function: Any, *args: Any) -> Any:
        return trio.from_thread.run_sync(function, *args, trio_token=self.token)

    def call(self, method: str, **params: Any) -> Fields | CallError:
        came: list[Fields | CallError] = []
        done = threading.Event()

        def take(outcome: Fields | CallError) -> None:
            came.append(outcome)
            done.set()

        self.caller.peer.call(self.root, COUNTER.methods[method], params, take)
        assert done.wait(30)
        return came[0]

    def close(self) -> None:
        self.caller.close(How.CLOSED, "the test is over")
        self.caller.join(30)
        self.thread.join(30)
        assert not self.thread.is_alive()
