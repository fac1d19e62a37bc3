"""A client whose holder breaks off goes on from another one, from where it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from attrs import Factory, define

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, pack
from rain.base.leading import Servers
from rain.base.states import ObjectState
from rain.base.wire.answers import Fetched, ObjectReport
from rain.daemon import program
from rain.rpc import client_fetch, client_incoming
from rain.rpc.client_fetch import Downloads
from rain.stream.protocol import Ask
from rain.stream.sockets import BUFFER
from tests.support.streams import MADE_AT, Holding, breaking, listening_streams
from tests.support.watching import Watching

SIZE = 4 * BUFFER
OBJECT = ObjectId(pack(1, 10))
NOWHERE = "127.0.0.1:1"


def at(holder: str) -> Fetched:
    return Fetched(ObjectReport(OBJECT, ObjectState.FINISHED, SIZE), None, holder)


def play(content: Path | None, scene: Callable[[str], object]) -> None:
    """Beside a real holder, which a scene is told."""

    async def main() -> int:
        holding = Holding({} if content is None else {OBJECT: content})
        with trio.fail_after(60):
            async with listening_streams(holding) as there:
                await trio.to_thread.run_sync(scene, there.address)
        return 0

    program.run(main)


@define
class Case:
    """A client that wants an object."""

    tmp_path: Path
    into: str
    watch: Watching = Factory(Watching)
    sent_to: list[str] = Factory(list)  # after nobody had the object where it was first
    received: int = 0  # bytes of the answers that have come whole

    def fetch(self, first: str, server: str, again: str) -> bytes:
        """What comes from the first holder, from the server, or from where it is found again."""

        def ask_again(_: ObjectId) -> Fetched:
            self.sent_to.append(again)
            return at(again)

        path = self.tmp_path / "into" if self.into == "a path" else None
        downloads = Downloads(Servers.of(server), watch=self.watch)
        try:
            data = downloads.complete(at(first), path, ask_again).data
        finally:
            downloads.close()
        self.received = downloads.reader.received
        return path.read_bytes() if path is not None else bytes(data or b"")

    @property
    def moved(self) -> list[int]:
        """What watchers were told of the bytes."""
        (told,) = self.watch.transfers
        assert (told.length, told.is_over) == (SIZE, True)
        return told.moved


@pytest.fixture(params=["bytes", "a file without a name", "a path"])
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    if request.param == "a file without a name":
        monkeypatch.setattr(client_incoming, "FILE_FROM", 1)
        monkeypatch.setattr(client_incoming, "memory_left", lambda: 0)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return Case(tmp_path, request.param)


def a_copy(path: Path, data: bytes) -> Path:
    """A file that another governor has received from where the data was made."""
    path.write_bytes(data)
    os.utime(path, ns=(MADE_AT, MADE_AT))
    return path


def test_the_server_gives_the_rest(case: Case) -> None:
    data = os.urandom(SIZE)

    def scene(there: str) -> None:
        with breaking(data, SIZE * 3 // 4) as first:
            assert case.fetch(first.address, there, NOWHERE) == data
        assert case.received == SIZE // 4
        assert case.moved == sorted(case.moved)
        assert case.moved[-1] == SIZE
        assert [asked.ask for asked in first.asked] == [Ask.READ]

    play(a_copy(case.tmp_path / "second", data), scene)


def test_the_server_gives_the_rest_of_a_holder_that_says_nothing_any_more(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_fetch, "PATIENCE", 0.5)
    data = os.urandom(SIZE)

    def scene(there: str) -> None:
        with breaking(data, SIZE * 3 // 4, hangs=True) as first:
            assert case.fetch(first.address, there, NOWHERE) == data
        assert case.received == SIZE // 4

    play(a_copy(case.tmp_path / "second", data), scene)


def test_a_holder_that_is_found_later_gives_the_rest(case: Case) -> None:
    data = os.urandom(SIZE)

    def scene(there: str) -> None:
        with breaking(data, SIZE * 3 // 4) as first:
            assert case.fetch(first.address, NOWHERE, there) == data
        assert case.received == SIZE // 4
        assert case.sent_to == [there]

    play(a_copy(case.tmp_path / "second", data), scene)


def test_what_was_made_again_comes_from_its_beginning(case: Case) -> None:
    second = case.tmp_path / "second"
    second.write_bytes(os.urandom(SIZE // 2))  # and is shorter

    def scene(there: str) -> None:
        with breaking(os.urandom(SIZE), SIZE * 3 // 4) as first:
            assert case.fetch(first.address, there, NOWHERE) == second.read_bytes()
        assert case.received == SIZE // 2
        assert max(case.moved) == SIZE * 3 // 4
        assert case.moved[-1] == SIZE // 2

    play(second, scene)


def test_what_nobody_can_finish_is_told(case: Case) -> None:
    def scene(there: str) -> None:
        with (
            breaking(os.urandom(SIZE), SIZE // 2) as first,
            pytest.raises(RefusedError, match="cannot be fetched: the holder does not have"),
        ):
            case.fetch(first.address, there, there)
        assert case.moved[-1] == SIZE // 2

    play(None, scene)
