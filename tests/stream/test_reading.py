"""Objects go over streams as they are; a peer that breaks off or stalls harms nobody else."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rain.base.admission import MemberKind, Secret
from rain.base.errors import RefusedError
from rain.base.wire.orders import SERVER
from rain.common.fs import pack_directory
from rain.stream.admission import accept_tls, admit
from rain.stream.archive import receive_folder
from rain.stream.connections import Transfer
from rain.stream.errors import NotHereError, StoppedError, UnreachableError
from rain.stream.protocol import (
    ANSWER_SIZE,
    HELLO,
    Ask,
    Say,
    SharedPlace,
    StreamAnswer,
    StreamRequest,
)
from rain.stream.reading import StreamReader
from rain.stream.serving import StreamServer
from rain.stream.sockets import Connected, Incoming, receive, receive_file
from rain.tls.keys import Keys
from tests.stream.serving import (
    MACHINE,
    ME,
    A,
    B,
    Having,
    certificate,
    let_in,
    listening,
    reading,
    way,
)
from tests.support.no_threads import refused_threads
from tests.support.streams import Collected

SECRET = Secret.of("correct-horse-battery-staple")
OTHER = Secret.of("incorrect-horse-battery-staple")


class IntoFile:
    """Takes an object into a file, without its bytes passing through Python."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take_shared(self, place: SharedPlace, length: int) -> bool:
        return False

    def take(self, connected: Incoming, length: int) -> None:
        with self.path.open("wb") as file:
            receive_file(connected, file.fileno(), length)


class IntoFolder(IntoFile):
    """Unpacks a directory while it arrives."""

    def take(self, connected: Incoming, length: int) -> None:
        receive_folder(connected, self.path, length)


def a_file(path: Path, size: int) -> Path:
    path.write_bytes(os.urandom(size))
    return path


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_001, 40_000_000])
def test_an_object_arrives_whole(tmp_path: Path, size: int) -> None:
    file = a_file(tmp_path / "file", size)
    with listening(Having({A: file, B: file.read_bytes()})) as there, reading() as reader:
        for object_id in (A, B):
            taken = Collected()
            reader.read(there.address, object_id, taken)
            assert taken.data == file.read_bytes()
        reader.read(there.address, A, IntoFile(tmp_path / "copy"))
        assert (tmp_path / "copy").read_bytes() == file.read_bytes()
        assert reader.received == 3 * size
        assert there.accepted == 1  # the connection is used again


def test_a_directory_is_unpacked_while_it_arrives(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "link").symlink_to("file")
    (folder / "empty").mkdir()
    a_file(folder / "deep" / "file", 2_000_003)
    a_file(folder / ("long" * 40), 10)
    with listening(Having({A: folder, B: b"next"})) as there, reading() as reader:
        reader.read(there.address, A, IntoFolder(tmp_path / "copy"))
        assert pack_directory(tmp_path / "copy") == pack_directory(folder)
        # And the connection is still in order
        taken = Collected()
        reader.read(there.address, B, taken)
        assert taken.data == b"next"
        assert there.accepted == 1


def test_what_is_not_here_is_said_so_and_harms_nothing() -> None:
    with listening(Having({A: b"x"})) as there, reading() as reader:
        with pytest.raises(NotHereError):
            reader.read(there.address, B, Collected())
        reader.read(there.address, A, Collected())
        assert there.accepted == 1


def test_another_program_at_the_same_address_does_not_answer_for_the_first_one() -> None:
    with listening(Having({A: b"not that one"})) as there, reading() as reader:
        reader.read(f"{there.address}#{ME}", A, Collected())
        with pytest.raises(NotHereError):
            reader.read(f"{there.address}#{ME + 1}", A, Collected())


def test_a_reader_on_the_same_machine_is_told_the_place_and_may_still_want_the_bytes(
    tmp_path: Path,
) -> None:
    file = a_file(tmp_path / "file", 1000)
    place = SharedPlace(str(file), file.stat().st_dev, file.stat().st_ino)
    with (
        listening(Having({A: file}), machine=MACHINE) as there,
        reading(machine=MACHINE) as here,
        reading(machine=bytes(16)) as elsewhere,
    ):
        shared = Collected(shares=True)
        here.read(there.address, A, shared)
        assert (shared.places, shared.data, here.received) == ([place], b"", 0)
        refused = Collected()
        here.read(there.address, A, refused)
        assert (refused.places, refused.data) == ([place], file.read_bytes())
        foreign = Collected()
        elsewhere.read(there.address, A, foreign)
        assert (foreign.places, foreign.data) == ([], file.read_bytes())


def test_a_file_that_is_removed_while_it_is_sent_arrives_all_the_same(tmp_path: Path) -> None:
    file = a_file(tmp_path / "file", 30_000_000)
    data = file.read_bytes()

    class Removing(Collected):
        def take(self, connected: Incoming, length: int) -> None:
            file.unlink()
            super().take(connected, length)

    with listening(Having({A: file})) as there, reading() as reader:
        taken = Removing()
        reader.read(there.address, A, taken)
        assert taken.data == data


def test_a_source_that_ends_in_the_middle_breaks_the_transfer_by_name(tmp_path: Path) -> None:
    file = a_file(tmp_path / "file", 30_000_000)

    with listening(Having({A: file})) as there, reading() as reader:

        class Ending(Collected):
            def take(self, connected: Incoming, length: int) -> None:
                there.server.close()
                super().take(connected, length)

        with pytest.raises(UnreachableError, match=there.address):
            reader.read(there.address, A, Ending())


def test_nobody_at_an_address_is_told_by_its_name() -> None:
    with reading() as reader:
        with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1: Connection refused"):
            reader.read("127.0.0.1:1", A, Collected())
        with pytest.raises(UnreachableError, match="is not an address"):
            reader.read("nonsense", A, Collected())


def test_a_transfer_that_is_stopped_ends_at_once_and_the_next_one_is_in_order(
    tmp_path: Path,
) -> None:
    file = a_file(tmp_path / "file", 30_000_000)
    transfer = Transfer()

    class Stopping(Collected):
        def take(self, connected: Incoming, length: int) -> None:
            transfer.stop()
            super().take(connected, length)

    with listening(Having({A: file})) as there, reading() as reader:
        with pytest.raises(StoppedError):
            reader.read(there.address, A, Stopping(), transfer)
        with pytest.raises(StoppedError):
            reader.read(there.address, A, Collected(), transfer)
        reader.read(there.address, A, Collected())


def test_the_server_passes_on_what_another_holder_has(tmp_path: Path) -> None:
    file = a_file(tmp_path / "file", 3_000_000)
    with (
        listening(Having({A: file})) as governor,
        listening(Having(elsewhere={A: ("127.0.0.1:1", governor.address), B: ()})) as server,
        reading(server.address) as reader,
    ):
        taken = Collected()
        reader.read(SERVER, A, taken)
        assert taken.data == file.read_bytes()
        with pytest.raises(NotHereError):
            reader.read(SERVER, B, Collected())
        assert server.accepted == 1


def test_an_upload_that_is_refused_says_why_and_the_connection_goes_on() -> None:
    with listening(Having({A: b"x"})) as there, reading(there.address) as reader:
        with pytest.raises(RefusedError, match="the disk is full"):
            reader.upload(bytes(16), B, b"data")
        reader.read(SERVER, A, Collected())


# What strangers do.


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"], autouse=True)
def is_encrypted(request: pytest.FixtureRequest) -> Iterator[None]:
    """All that is tested here holds for both."""
    way["encrypted"] = request.param
    yield
    way["encrypted"] = False


def drained(connected: Connected) -> bytes:
    """All that comes until the other side closes."""
    got = b""
    with closing(connected):
        while piece := _received(connected):
            got += piece
    return got


def _received(connected: Connected) -> bytes:
    try:
        return connected.recv(1 << 16)
    except ConnectionResetError:
        return b""


def first_word() -> float:
    """Over soon, and long enough for a reader on a busy machine to be let in."""
    return 0.5 if way["encrypted"] else 0.05


ASKED = StreamRequest(Ask.READ, A).encode()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"R",
        b"GET / HTTP/1.1\r\n\r\n" + bytes(100),
        HELLO,
        HELLO + ASKED[:10],
        HELLO + bytes([77]) + ASKED[1:],
        b"\xff" * 4096,
    ],
)
def test_silence_cut_headers_and_garbage_are_closed_within_a_limit_and_harm_nobody(
    said: bytes,
) -> None:
    with (
        listening(Having({A: b"fine"}), first_word=first_word(), stall_limit=0.05) as there,
        reading() as reader,
    ):
        stranger = there.connect()
        if said:
            stranger.sendall(said)
        assert drained(stranger) == b""
        taken = Collected()
        reader.read(there.address, A, taken)
        assert taken.data == b"fine"


def test_a_reader_that_takes_nothing_is_closed_within_a_limit(tmp_path: Path) -> None:
    file = a_file(tmp_path / "file", 30_000_000)
    with listening(Having({A: file, B: b"fine"}), stall_limit=0.05) as there, reading() as reader:
        stalling = there.connect()
        stalling.sendall(HELLO + ASKED)
        stalling.recv(1)
        taken = Collected()
        reader.read(there.address, B, taken)
        assert taken.data == b"fine"
        reader.close()
        there.server.join()
        assert there.server.open_streams == 0
        stalling.close()


def test_a_reader_that_comes_when_all_threads_are_busy_waits_for_a_turn() -> None:
    with (
        listening(Having({A: b"fine"}), threads_at_once=1) as there,
        closing(there.connect()) as first,
        reading() as reader,
    ):
        first.sendall(HELLO)
        done: list[bytes] = []

        def read() -> None:
            taken = Collected()
            reader.read(there.address, A, taken)
            done.append(taken.data)

        waiting = threading.Thread(target=read)
        waiting.start()
        first.sendall(ASKED)
        assert first.recv(1)
        first.shutdown(socket.SHUT_RDWR)
        waiting.join()
        assert done == [b"fine"]


def test_a_reader_for_whom_there_is_no_thread_is_closed_and_the_next_one_is_served() -> None:
    with listening(Having({A: b"fine"})) as there:
        with (
            reading() as unlucky,
            refused_threads(_of_streams) as refused,
            pytest.raises(UnreachableError),
        ):
            unlucky.read(there.address, A, Collected())
        assert refused == ["rain-stream"]
        taken = Collected()
        with reading() as reader:
            reader.read(there.address, A, taken)
        assert taken.data == b"fine"


def test_readers_that_wait_are_served_although_there_was_no_thread_for_one_of_them() -> None:
    with (
        listening(Having({A: b"fine"}), threads_at_once=1) as there,
        closing(there.connect()) as first,
        socket.create_server(("127.0.0.1", 0)) as port,
    ):
        unlucky, lucky = (waiting_at(there.server, port) for _ in range(2))
        with (
            closing(unlucky),
            refused_threads(lambda name: _of_streams(name) and not refused) as refused,
        ):
            first.sendall(HELLO + ASKED)
            assert unlucky.recv(1) == b""
            let_in(lucky).close()


def waiting_at(server: StreamServer, port: socket.socket) -> socket.socket:
    """The other end of a connection that a server has taken."""
    connected = socket.create_connection(port.getsockname(), 20)
    server.take(port.accept()[0])
    return connected


def _of_streams(name: str) -> bool:
    return name == "rain-stream"


def talking(answer: bytes) -> tuple[socket.socket, threading.Thread]:
    """Somebody who answers one question with given bytes, and closes."""
    port = socket.create_server(("127.0.0.1", 0))

    def talk() -> None:
        accepted, _ = port.accept()
        with accepted:
            connected = accept_tls(accepted, certificate(MemberKind.GOVERNOR))
            admit(connected, None)
            receive(connected, len(HELLO) + len(ASKED))
            connected.sendall(answer)

    thread = threading.Thread(target=talk)
    thread.start()
    return port, thread


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00",
        bytes([99]) + bytes(15),
        StreamAnswer(Say.BYTES, 100).encode(),
        StreamAnswer(Say.BYTES, 100).encode() + b"x" * 99,
        StreamAnswer(Say.SHARED, 100, "no place").encode(),
        StreamAnswer(Say.SHARED, 100, f"{'9' * 5000} 1 /file").encode(),
        StreamAnswer(Say.DONE).encode(),
        StreamAnswer(Say.SHARED, 1, "x" * 100).encode()[:50],
        StreamAnswer(Say.REFUSED, 0, "x" * 100).encode()[:ANSWER_SIZE],
        b"\x00\x00\x00\x00\xff\xff\xff\xff" + bytes(8),
    ],
)
def test_an_answer_that_makes_no_sense_is_as_good_as_none(answer: bytes) -> None:
    port, thread = talking(answer)
    with port, reading() as reader:
        host, number = port.getsockname()
        with pytest.raises(UnreachableError, match=f"{host}:{number}"):
            reader.read(f"{host}:{number}", A, Collected())
        thread.join()


def test_a_source_that_stalls_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as port, reading(stall=0.05) as reader:
        host, number = port.getsockname()
        with pytest.raises(UnreachableError, match=r"stalls|too slowly|closed"):
            reader.read(f"{host}:{number}", A, Collected())


def test_what_a_taker_raises_reaches_the_reader_and_only_that_connection_is_lost() -> None:
    class Full(Collected):
        def take(self, connected: Incoming, length: int) -> None:
            raise OSError("no space left")

    with listening(Having({A: b"x" * 100})) as there, reading() as reader:
        with pytest.raises(OSError, match="no space left"):
            reader.read(there.address, A, Full())
        reader.read(there.address, A, Collected())
        assert there.accepted == 2


def test_a_closed_reader_keeps_no_connection() -> None:
    reader = StreamReader(keys=Keys(identity=certificate(MemberKind.CLIENT)))
    reader.close()
    with listening(Having({A: b"x"})) as there:
        for _ in range(2):
            reader.read(there.address, A, Collected())
        assert there.accepted == 2


@pytest.mark.parametrize(("secret", "may"), [(SECRET, True), (OTHER, False), (None, False)])
def test_data_is_read_with_the_secret_only(secret: Secret | None, may: bool) -> None:
    with listening(Having({A: b"fine"}), secret=SECRET) as there, reading(secret=secret) as reader:
        taken = Collected()
        if may:
            reader.read(there.address, A, taken)
        else:
            with pytest.raises(UnreachableError, match="secret"):
                reader.read(there.address, A, taken)
        assert taken.data == (b"fine" if may else b"")
