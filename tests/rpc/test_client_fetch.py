"""Several large objects are read side by side, and each arrives in its place."""

from __future__ import annotations

import threading

import pytest

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId
from rain.base.leading import Servers
from rain.base.states import ObjectState
from rain.base.wire.answers import Fetched, ObjectReport
from rain.rpc.client_fetch import Downloads
from rain.rpc.client_incoming import IntoMemory
from rain.stream.errors import NotHereError
from rain.stream.reading import ResumingTaker

HOLDER = "there:7000#5"


class Meeting(Downloads):
    """Reads none of which ends before that many have begun."""

    def __init__(self, count: int) -> None:
        super().__init__(Servers.of("127.0.0.1:1"))
        self._all_have_begun = threading.Barrier(count, timeout=20)

    def read(self, holder: str, object_id: ObjectId, taker: ResumingTaker) -> None:
        self._all_have_begun.wait()
        assert isinstance(taker, IntoMemory)
        taker.data = b"%d" % object_id


class Without(Downloads):
    """Nobody has anything."""

    def read(self, holder: str, object_id: ObjectId, taker: ResumingTaker) -> None:
        raise NotHereError("the holder does not have it")


def found(number: int, data: bytes | None = None) -> Fetched:
    report = ObjectReport(ObjectId(number), ObjectState.FINISHED)
    return Fetched(report, data, HOLDER)


def test_several_objects_are_read_side_by_side_and_come_in_their_order() -> None:
    downloads = Meeting(3)
    asked = [found(1), found(2, b"came along"), found(3), found(4)]
    completed = downloads.complete_all(asked, lambda one: found(int(one)))
    assert [one.data for one in completed] == [b"1", b"came along", b"3", b"4"]
    downloads.close()


def test_one_that_cannot_be_had_is_told() -> None:
    downloads = Without(Servers.of("127.0.0.1:1"))
    with pytest.raises(RefusedError, match="0/2 cannot be fetched: the holder does not have it"):
        downloads.complete_all([found(2), found(2)], lambda one: found(int(one)))
    downloads.close()
