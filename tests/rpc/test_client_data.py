"""Large data of a client: read from governors themselves, and sent ahead of its submission."""

import errno
import filecmp
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from attrs import define

from rain.base.errors import RefusedError
from rain.base.ids import KindId, ObjectId, SessionId, pack
from rain.base.states import ObjectState
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import Fetched, ObjectReport
from rain.base.wire.requests import Fetch, Submit
from rain.base.wire.submission import ConstantColumns, GivenConstants, Submission
from rain.daemon import program
from rain.rpc import client_incoming
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.handlers import Reply
from rain.server.spool import Spool, Upload
from rain.stream.holder import Held
from rain.stream.machine import machine_id
from rain.stream.memory import AHEAD_FROM
from rain.stream.staged import STAGED_FROM, Staged
from rain.stream.watching import WATCHED_FROM, Direction
from tests.rpc.fakes import FakeServer, serving
from tests.support.streams import Holding, listening_streams
from tests.support.watching import Watching

SESSION = SessionId(1)
OBJECT = ObjectId(pack(1, 10))
LARGE = 32 << 20


@define
class Scene:
    """A server, a governor that holds the object, and a client."""

    client: ClientConnection
    server: FakeServer
    governor: Holding
    watch: Watching  # of the client


def play(
    content: bytes | Path,
    scene: Callable[[Scene], object],
    *,
    reachable: bool = True,
    machine: bytes = bytes(16),
    server_machine: bytes = bytes(16),
    size: int = 0,
) -> None:
    async def main() -> int:
        server = FakeServer()
        governor = Holding({OBJECT: content})

        def script(port: int) -> None:
            watch = Watching()
            client = ClientConnection("127.0.0.1", port, watch=watch)
            try:
                scene(Scene(client, server, governor, watch))
            finally:
                client.close()

        async with (
            serving(server, machine=server_machine) as here,
            listening_streams(governor, machine) as streams,
        ):
            server.holders[OBJECT] = (streams.address,)
            holder = streams.address if reachable else "127.0.0.1:1"

            def fetch(reply: Reply[Fetched]) -> None:
                report = ObjectReport(OBJECT, ObjectState.FINISHED, size)
                reply.answer(Fetched(report, None, holder))

            server.rules["fetch"] = fetch
            await trio.to_thread.run_sync(script, here.port)
        return 0

    program.run(main)


@pytest.mark.parametrize("size", [INLINE_LIMIT + 1, 3_000_000, AHEAD_FROM + 1])
def test_a_client_reads_from_the_governor_itself(size: int) -> None:
    data = os.urandom(size)

    def scene(here: Scene) -> None:
        here.server.holders.clear()  # so that the server could not pass it on
        found = here.client.complete(here.client.ask(Fetch(OBJECT))).data
        assert found == data
        assert isinstance(found, bytes), "they would be copied when somebody wants bytes"

    play(data, scene)


def test_what_is_large_for_the_memory_that_is_left_is_kept_in_a_file_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_incoming, "FILE_FROM", 3_000_000)
    monkeypatch.setattr(client_incoming, "memory_left", lambda: 4 * 3_000_000 - 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = os.urandom(3_000_000)

    def scene(here: Scene) -> None:
        found = here.client.complete(here.client.ask(Fetch(OBJECT))).data
        assert isinstance(found, memoryview)
        assert found.readonly
        assert found == data
        assert not [path for path in tmp_path.iterdir() if path.is_file()]

    play(data, scene)


def test_what_fits_into_the_memory_that_is_left_needs_no_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_incoming, "FILE_FROM", 3_000_000)
    monkeypatch.setattr(client_incoming, "memory_left", lambda: 4 * 3_000_000)
    data = os.urandom(3_000_000)

    def scene(here: Scene) -> None:
        found = here.client.complete(here.client.ask(Fetch(OBJECT))).data
        assert isinstance(found, bytes)
        assert found == data

    play(data, scene)


def test_the_server_passes_on_what_is_out_of_the_clients_reach(tmp_path: Path) -> None:
    data = os.urandom(3_000_000)

    def scene(here: Scene) -> None:
        assert here.client.complete(here.client.ask(Fetch(OBJECT))).data == data
        here.client.complete(here.client.ask(Fetch(OBJECT)), tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == data
        assert here.governor.asked == [OBJECT, OBJECT]

    play(data, scene, reachable=False)


def test_a_download_is_never_in_memory(tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    stored.write_bytes(os.urandom(LARGE))

    def scene(here: Scene) -> None:
        fetched = here.client.ask(Fetch(OBJECT))
        tracemalloc.start()
        try:
            here.client.complete(fetched, tmp_path / "file")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert here.client.bytes_received == LARGE
        assert peak < LARGE // 16
        assert filecmp.cmp(tmp_path / "file", stored, shallow=False)

    play(stored, scene)


@pytest.mark.parametrize("into", ["bytes", "file"])
def test_who_looks_is_told_of_bytes_while_they_come(into: str, tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    stored.write_bytes(bytes(LARGE))

    def scene(here: Scene) -> None:
        fetched = here.client.ask(Fetch(OBJECT))
        here.client.complete(fetched, tmp_path / "file" if into == "file" else None)
        (told,) = here.watch.transfers
        assert (told.direction, told.length, told.is_over) == (Direction.RECEIVING, LARGE, True)
        assert len(told.moved) > 1
        assert told.moved == sorted(told.moved)
        assert told.moved[-1] == LARGE

    play(stored, scene, size=LARGE)


def test_who_looks_knows_the_sum_of_what_is_read_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = Holding.find

    def scene(here: Scene) -> None:
        told_before: list[int] = []

        def found(self: Holding, object_id: ObjectId) -> Held | None:
            told_before.append(len(here.watch.transfers))
            return find(self, object_id)

        monkeypatch.setattr(Holding, "find", found)
        here.client.complete_all([here.client.ask(Fetch(OBJECT))] * 3)
        assert told_before == [3, 3, 3]

    play(bytes(WATCHED_FROM), scene, size=WATCHED_FROM)


def test_nobody_is_told_of_what_is_small() -> None:
    def scene(here: Scene) -> None:
        here.client.complete(here.client.ask(Fetch(OBJECT)))
        here.client.ask(Submit(a_submission(WATCHED_FROM - 1)))
        assert here.watch.transfers == []

    play(bytes(WATCHED_FROM - 1), scene, size=WATCHED_FROM - 1)


def test_what_is_mapped_and_linked_moves_no_bytes(tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    stored.write_bytes(bytes(LARGE))

    def scene(here: Scene) -> None:
        here.client.complete(here.client.ask(Fetch(OBJECT)))
        here.client.ask(Submit(a_submission(LARGE)))
        assert [told.moved for told in here.watch.transfers] == [[], []]

    play(stored, scene, size=LARGE, machine=machine_id(), server_machine=machine_id())


@pytest.mark.parametrize("of", ["bytes", "file"])
def test_who_looks_is_told_of_bytes_while_they_are_uploaded(of: str) -> None:
    def scene(here: Scene) -> None:
        submission = a_submission(4 * WATCHED_FROM)
        if of == "file":
            submission, _ = staged_submission(here.client, bytes(4 * WATCHED_FROM))
        here.client.ask(Submit(submission))
        (told,) = here.watch.transfers
        assert (told.direction, told.is_over) == (Direction.SENDING, True)
        assert told.moved == [number * WATCHED_FROM for number in (1, 2, 3, 4)]

    play(b"", scene)


def test_a_client_on_the_governors_machine_looks_at_the_stored_file_itself(tmp_path: Path) -> None:
    # given
    stored = tmp_path / "stored"
    stored.write_bytes(os.urandom(3_000_000))
    data = stored.read_bytes()

    def scene(here: Scene) -> None:
        found = here.client.complete(here.client.ask(Fetch(OBJECT)))
        here.client.complete(here.client.ask(Fetch(OBJECT)), tmp_path / "mine")
        # then: nothing went through a socket, and the view outlives the file
        assert here.client.bytes_received == 0
        stored.unlink()
        assert found.data == data
        assert (tmp_path / "mine").read_bytes() == data

    play(stored, scene, machine=machine_id())


def a_submission(*sizes: int) -> Submission:
    columns = ConstantColumns()
    for number, size in enumerate(sizes):
        columns.ids.append(ObjectId(pack(1, 20 + number)))
        columns.kinds.append(KindId(pack(1, 12)))
        columns.data.append(os.urandom(size))
    return Submission(SESSION, constants=columns)


def test_large_constants_go_ahead_and_wait_in_files() -> None:
    submission = a_submission(INLINE_LIMIT, INLINE_LIMIT + 1, 3_000_000)

    def scene(here: Scene) -> None:
        here.client.ask(Submit(submission))
        ((arrived,),) = here.server.journal.named("submit")
        assert arrived.constants.data == [submission.constants.data[0], b"", b""]
        assert arrived.constants.sizes == [INLINE_LIMIT, INLINE_LIMIT + 1, 3_000_000]
        for object_id, data in list(
            zip(submission.constants.ids, submission.constants.data, strict=True)
        )[1:]:
            assert here.server.uploads.data(object_id) == data

    play(b"", scene)


def inode_of(server: FakeServer, object_id: ObjectId) -> int:
    found = server.uploads.spool.find(object_id)
    assert found is not None
    found.close()
    return found.path.stat().st_ino


def staged_submission(client: ClientConnection, data: bytes) -> tuple[Submission, Staged]:
    ids = a_submission(0).constants
    made = client.stage([data])
    assert made is not None
    given = GivenConstants(ids.ids, ids.kinds, [b""], files={ids.ids[0]: made})
    return Submission(SESSION, constants=given), made


def test_a_client_of_the_servers_machine_gives_its_file_away() -> None:
    data = os.urandom(3_000_000)

    def scene(here: Scene) -> None:
        submission, made = staged_submission(here.client, data)
        here.client.ask(Submit(submission))
        (name,) = submission.constants.ids
        assert here.server.uploads.data(name) == data
        assert inode_of(here.server, name) == os.fstat(made.descriptor).st_ino
        ((arrived,),) = here.server.journal.named("submit")
        assert arrived.constants.sizes == [3_000_000]

    play(b"", scene, server_machine=machine_id())


def test_bytes_of_a_client_of_the_servers_machine_are_not_sent_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[ObjectId] = []
    begin = Spool.begin_upload

    def through_a_socket(self: Spool, key: bytes, object_id: ObjectId, length: int) -> Upload:
        begun.append(object_id)
        return begin(self, key, object_id, length)

    monkeypatch.setattr(Spool, "begin_upload", through_a_socket)
    submission = a_submission(STAGED_FROM - 1, STAGED_FROM)
    small, large = submission.constants.ids

    def scene(here: Scene) -> None:
        here.client.ask(Submit(submission))
        assert begun == [small]
        assert here.server.uploads.data(large) == submission.constants.data[1]

    play(b"", scene, server_machine=machine_id())


@pytest.mark.parametrize("how", ["another machine", "another file system", "linked before"])
def test_a_file_that_cannot_be_linked_to_is_sent(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = os.urandom(3_000_000)

    def scene(here: Scene) -> None:
        submission, made = staged_submission(here.client, data)
        if how != "another machine":
            number = errno.EXDEV if how == "another file system" else errno.ENOENT

            def link(self: Staged, path: str) -> None:
                raise OSError(number, os.strerror(number))

            monkeypatch.setattr(Staged, "link", link)
        here.client.ask(Submit(submission))
        (name,) = submission.constants.ids
        assert here.server.uploads.data(name) == data
        assert inode_of(here.server, name) != os.fstat(made.descriptor).st_ino
        assert len(list(here.server.uploads.folder.iterdir())) == 1

    play(b"", scene, server_machine=bytes(16) if how == "another machine" else machine_id())


def test_a_refused_submission_leaves_no_file() -> None:
    def scene(here: Scene) -> None:
        here.server.rules["submit"] = lambda reply: reply.refuse("two producers")
        with pytest.raises(RefusedError, match="two producers"):
            here.client.ask(Submit(a_submission(3_000_000)))
        assert len(here.server.uploads.spool) == 0

    play(b"", scene)


def test_a_full_disk_refuses_that_submission_and_the_next_one_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reserve = os.posix_fallocate

    def full(descriptor: int, offset: int, length: int) -> None:
        if length > 1_000_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(descriptor, offset, length)

    monkeypatch.setattr(os, "posix_fallocate", full)

    def scene(here: Scene) -> None:
        with pytest.raises(RefusedError, match=r"1/21 cannot be stored: .*No space left"):
            here.client.ask(Submit(a_submission(100_000, 3_000_000, 100_000)))
        assert len(here.server.uploads.spool) == 0
        assert here.server.journal.named("submit") == []
        here.client.ask(Submit(a_submission(100_000)))
        assert len(here.server.uploads.spool) == 1

    play(b"", scene)
