"""A client whose holder breaks off goes on from another one, from where it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, pack
from rain.base.leading import Servers
from rain.base.states import ObjectState
from rain.base.wire.answers import Fetched, ObjectReport
from rain.daemon import program
from rain.rpc import client_incoming
from rain.rpc.client_fetch import Downloads
from rain.stream.protocol import Ask
from rain.stream.sockets import BUFFER
from tests.support.streams import MADE_AT, Holding, breaking, listening_streams

SIZE = 4 * BUFFER
OBJECT = ObjectId(pack(1, 10))
NOWHERE = "127.0.0.1:1"

INTO = ["bytes", "a file without a name", "a path"]


def at(holder: str) -> Fetched:
    return Fetched(ObjectReport(OBJECT, ObjectState.FINISHED), None, holder)


def play(content: Path | None, scene: Callable[[str], object]) -> None:
    """Beside a real holder, which a scene is told."""

    async def main() -> int:
        holding = Holding({} if content is None else {OBJECT: content})
        with trio.fail_after(60):
            async with listening_streams(holding) as there:
                await trio.to_thread.run_sync(scene, there.address)
        return 0

    program.run(main)


def fetched(
    tmp_path: Path, into: str, first: str, server: str, again: str, patch: pytest.MonkeyPatch
) -> tuple[bytes, int, list[str]]:
    """What a client gets that is sent to the first holder; how many bytes came from other ones that
    have ended their answer, and whom it was sent to afterwards."""
    if into == "a file without a name":
        patch.setattr(client_incoming, "FILE_FROM", 1)
        patch.setattr(client_incoming, "memory_left", lambda: 0)
        patch.setattr("tempfile.tempdir", str(tmp_path))
    sent_to: list[str] = []

    def ask_again(_: ObjectId) -> Fetched:
        sent_to.append(again)
        return at(again)

    path = tmp_path / "into" if into == "a path" else None
    downloads = Downloads(Servers.of(server))
    try:
        data = downloads.complete(at(first), path, ask_again).data
    finally:
        downloads.close()
    got = path.read_bytes() if path is not None else bytes(data or b"")
    return got, downloads.reader.received, sent_to


def a_copy(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    os.utime(path, ns=(MADE_AT, MADE_AT))
    return path


@pytest.mark.parametrize("into", INTO)
def test_the_server_gives_the_rest(
    into: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(SIZE)

    def scene(there: str) -> None:
        with breaking(data, SIZE * 3 // 4) as first:
            found = fetched(tmp_path, into, first.address, there, NOWHERE, monkeypatch)
        assert found == (data, SIZE // 4, [])
        assert [asked.ask for asked in first.asked] == [Ask.READ]

    play(a_copy(tmp_path / "second", data), scene)


@pytest.mark.parametrize("into", INTO)
def test_a_holder_that_is_found_later_gives_the_rest(
    into: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(SIZE)

    def scene(there: str) -> None:
        with breaking(data, SIZE * 3 // 4) as first:
            found = fetched(tmp_path, into, first.address, NOWHERE, there, monkeypatch)
        assert found == (data, SIZE // 4, [there])

    play(a_copy(tmp_path / "second", data), scene)


@pytest.mark.parametrize("into", INTO)
def test_what_was_made_again_comes_from_its_beginning(
    into: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tmp_path / "second"
    second.write_bytes(os.urandom(SIZE // 2))  # and is shorter

    def scene(there: str) -> None:
        with breaking(os.urandom(SIZE), SIZE * 3 // 4) as first:
            found = fetched(tmp_path, into, first.address, there, NOWHERE, monkeypatch)
        assert found == (second.read_bytes(), SIZE // 2, [])

    play(second, scene)


@pytest.mark.parametrize("into", INTO)
def test_what_nobody_can_finish_is_told(
    into: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scene(there: str) -> None:
        with (
            breaking(os.urandom(SIZE), SIZE // 2) as first,
            pytest.raises(RefusedError, match="cannot be fetched: the holder does not have"),
        ):
            fetched(tmp_path, into, first.address, there, there, monkeypatch)

    play(None, scene)
