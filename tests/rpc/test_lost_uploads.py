"""Large constants whose stream breaks: refused by name if the connection lives, else sent again."""

from __future__ import annotations

import pytest

from rain.base.errors import RefusedError
from rain.base.ids import KindId, ObjectId
from rain.base.wire.requests import Submit
from rain.base.wire.submission import ConstantColumns, Submission
from rain.rpc.client_calls import ClientCalls
from rain.rpc.client_endpoint import ClientConnection
from rain.stream.errors import UnreachableError
from rain.stream.reading import StreamReader
from rain.stream.sockets import Note
from tests.rpc.client_scenes import SESSION, play
from tests.rpc.fakes import FakeClient

LARGE = bytes(100_000)
SUBMIT = Submit(
    Submission(SESSION, constants=ConstantColumns([ObjectId(5)], [KindId(3)], [LARGE], []))
)


def fail(monkeypatch: pytest.MonkeyPatch, times: int) -> list[bytes]:
    """The first streams break; gives the keys with which constants were sent."""
    keys: list[bytes] = []
    upload = StreamReader.upload

    def broken(
        self: StreamReader, key: bytes, object_id: ObjectId, data: bytes, note: Note | None = None
    ) -> None:
        keys.append(key)
        if len(keys) <= times:
            raise UnreachableError("the stream broke")
        upload(self, key, object_id, data, note)

    monkeypatch.setattr(StreamReader, "upload", broken)
    return keys


@pytest.mark.parametrize("token", [b"", b"it may come back"])
def test_a_stream_that_breaks_alone_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, token: bytes
) -> None:
    keys = fail(monkeypatch, 99)
    monkeypatch.setattr(FakeClient, "token", token)

    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match="cannot be uploaded: the stream broke"):
            client.ask(SUBMIT)

    play(scene)
    assert len(keys) == 1


def test_constants_are_sent_again_if_the_connection_was_lost_with_their_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = fail(monkeypatch, 1)
    monkeypatch.setattr(FakeClient, "token", b"it may come back")

    def was_cut(self: ClientCalls) -> bool:
        return True

    monkeypatch.setattr(ClientCalls, "was_cut", was_cut)
    play(lambda client: client.ask(SUBMIT))
    assert len(keys) == 2
