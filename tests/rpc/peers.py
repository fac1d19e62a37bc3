"""Two peers that are joined in memory, and an object for them to call."""

from __future__ import annotations

from collections import deque
from typing import Any

from rain.rpc.interface import Fields, Interface
from rain.rpc.offered import IncomingCall, Offered
from rain.rpc.peer import Peer
from rain.rpc.questions import CallError
from tests.rpc.counter import schemas

COUNTER = Interface.of(schemas.Counter)
LISTENER = Interface.of(schemas.Listener)


class Counter:
    """Serves `Counter`. What waits is answered by the test."""

    def __init__(self, label: str = "first") -> None:
        self.label = label
        self.sum = 0
        self.waiting: list[IncomingCall] = []
        self.given_up = 0
        self.listeners: list[Any] = []
        self.opened: list[Counter] = []
        self.offered = Offered(
            COUNTER,
            {
                "add": self._add,
                "wait": self._wait,
                "open": self._open,
                "tell": self._tell,
                "fail": self._fail,
            },
        )

    def _add(self, params: Fields, call: IncomingCall) -> None:
        self.sum += params["number"]
        call.answer({"sum": self.sum})

    def _wait(self, params: Fields, call: IncomingCall) -> None:
        def give_up() -> None:
            self.given_up += 1
            self.waiting.remove(call)

        call.on_give_up = give_up
        self.waiting.append(call)

    def _open(self, params: Fields, call: IncomingCall) -> None:
        opened = Counter(params["label"])
        self.opened.append(opened)
        call.answer({"counter": opened.offered, "label": opened.label})

    def _tell(self, params: Fields, call: IncomingCall) -> None:
        self.listeners.append(params["listener"])
        call.answer()

    def _fail(self, params: Fields, call: IncomingCall) -> None:
        call.fail(params["reason"])


class Pair:
    """A peer that calls and one that serves; what they say lies in between until `run`."""

    def __init__(self) -> None:
        self.counter = Counter()
        self.up: deque[bytes] = deque()  # to the one that serves
        self.down: deque[bytes] = deque()
        self.caller = Peer(self.up.append)
        self.server = Peer(self.down.append, self.counter.offered)
        self.root = self.caller.bootstrap()
        self.returned: list[Fields | CallError] = []

    def call(self, method: str, target: Any = None, **params: Any) -> Any:
        return self.caller.call(
            target or self.root, COUNTER.methods[method], params, self.returned.append
        )

    def run(self, piece: int = 0) -> None:
        """Carries all that was said, in pieces of this many bytes if that is wanted."""
        while self.up or self.down:
            for said, hears in ((self.up, self.server), (self.down, self.caller)):
                while said:
                    content = said.popleft()
                    for start in range(0, len(content), piece or len(content)):
                        hears.receive(content[start : start + (piece or len(content))])
