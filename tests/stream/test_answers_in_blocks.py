"""What goes in blocks besides files: parts, directories, ranges, and uploads from memory."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from pathlib import Path

import pytest

from rain.base.ids import ObjectId
from rain.base.wire.answers import DataLink
from rain.stream.archive import Archive
from rain.stream.connections import Transfer
from rain.stream.host_links import HostLink
from rain.stream.packing import Gauge
from rain.stream.part_reading import PartPieces, Piece
from rain.stream.parts import laid_out
from rain.stream.ranges import Range
from rain.stream.reading import StreamReader
from tests.stream.serving import MACHINE, ME, A, Having, Listening, listening, reading
from tests.stream.test_blocks import SLOW, Constant, noise, text
from tests.stream.test_reading_blocks import Taking
from tests.support.streams import Collected, bytes_of

ELSEWHERE = "127.0.0.2"
"""What listens here seems to be another machine."""


@pytest.fixture(autouse=True)
def slow_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def gauge(link: HostLink) -> Gauge:
        return Constant(SLOW)

    monkeypatch.setattr(HostLink, "gauge", gauge)


def sent_by(there: Listening) -> DataLink:
    """What went over its link. It is counted when all was sent, so look when it has ended."""
    (link,) = there.server.links.report()
    return link


def read_part(
    reader: StreamReader, address: str, part: int, objects: Sequence[ObjectId]
) -> list[Piece]:
    parts = PartPieces(part, objects)
    reader.exchange(address, parts.exchange, Transfer())
    return [parts.pieces[one] for one in objects]


def having_parts(folder: Path, pieces: Sequence[bytes]) -> Having:
    """Objects with these pieces as part 1, every second one in memory."""
    having = Having()
    for number, piece in enumerate(pieces):
        data = b"".join(laid_out([[b"other"], [piece] if piece else [], [noise(1000)]]))
        having.contents[number + 1] = data
        if number % 2:
            (folder / str(number)).write_bytes(data)
            having.contents[number + 1] = folder / str(number)
    return having


@pytest.mark.parametrize("size", [10_000, 300_000])
def test_parts_are_compressed_together_on_their_way_to_another_machine(
    tmp_path: Path, size: int
) -> None:
    pieces = [[text(size), b"", text(size + number)][number % 3] for number in range(150)]
    having = having_parts(tmp_path, pieces)
    ids = [ObjectId(number) for number in having.contents]
    with listening(having, host=ELSEWHERE) as there, reading() as reader:
        for _ in range(2):
            found = read_part(reader, there.address, 1, ids)
            assert [bytes(piece or b"") for piece in found] == pieces
        assert there.accepted == 1
    link = sent_by(there)
    assert link.sent < link.bytes / 10
    assert link.compressed > link.bytes * 0.9
    assert link.bytes > 1.5 * sum(map(len, pieces))  # a few last ones are too small


def test_noise_among_parts_goes_as_it_is(tmp_path: Path) -> None:
    pieces = [noise(300_000), text(300_000), noise(700_000)] * 3
    having = having_parts(tmp_path, pieces)
    ids = [ObjectId(number) for number in having.contents]
    with listening(having, host=ELSEWHERE) as there, reading() as reader:
        found = read_part(reader, there.address, 1, ids)
    assert [bytes(piece or b"") for piece in found] == pieces


def test_parts_stay_compressed_on_their_way_through_a_relay(tmp_path: Path) -> None:
    pieces = [text(100_000), b"", text(200_000)] * 30
    having = having_parts(tmp_path, pieces)
    ids = [ObjectId(number) for number in having.contents]
    with listening(having, host=ELSEWHERE) as there:
        source = f"{there.address}#{ME}"
        between = Having(elsewhere=dict.fromkeys(ids, (source,)))
        with listening(between) as relay, reading() as reader:
            parts = PartPieces(1, ids)
            reader.exchange(
                relay.address,
                lambda connected, _, machine: parts.exchange(connected, ME, machine),
                Transfer(),
            )
            assert [bytes(parts.pieces[one] or b"") for one in ids] == pieces
            assert not relay.server.links.report()
    assert sent_by(there).sent < sum(map(len, pieces)) / 10


def test_large_parts_of_one_machine_are_mapped_and_not_sent(tmp_path: Path) -> None:
    pieces = [b"", text(1000), b"", text(300_000)]
    having = having_parts(tmp_path, pieces)
    ids = [ObjectId(number) for number in having.contents]
    with listening(having, machine=MACHINE) as there, reading(machine=MACHINE) as reader:
        found = read_part(reader, there.address, 1, ids)
    assert [bytes(piece or b"") for piece in found] == pieces
    assert isinstance(found[3], memoryview)
    assert isinstance(found[3].obj, mmap.mmap)


def test_directories_are_compressed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    for number in range(200):
        (folder / "below" / f"{number}").write_bytes(text(number * 20))
    (folder / "large").write_bytes(text(2_000_000))
    (folder / "noise").write_bytes(noise(300_000))
    having = Having({A: folder})
    with listening(having, host=ELSEWHERE) as there, reading() as reader:
        taken = Collected()
        reader.read(there.address, A, taken)
        assert taken.data == bytes_of(having.find(A, 0))
    assert sent_by(there).bytes == Archive.of(folder).length
    assert sent_by(there).sent < 600_000


def test_ranges_are_compressed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(text(3_000_000))
    with listening(Having({A: tmp_path / "file"}), host=ELSEWHERE) as there, reading() as reader:
        piece = reader.read_range(there.address, A, Range(7, 2_000_007))
        assert piece.data == text(3_000_000)[7:2_000_007]
        assert piece.size == 3_000_000
        assert len(reader.read_range(there.address, A, Range(0, 100)).data) == 100
    assert sent_by(there).sent < 100_000
    assert sent_by(there).bytes == 2_000_000  # what is so small is not sent in blocks


def test_uploads_from_memory_are_compressed(tmp_path: Path) -> None:
    taking = Taking(path=tmp_path / "file")
    notes: list[int] = []
    with listening(taking, host=ELSEWHERE) as there, reading(there.address) as reader:
        reader.upload(bytes(16), A, text(600_000), notes.append)
        assert taking.is_complete
        assert (tmp_path / "file").read_bytes() == text(600_000)
        (link,) = reader.uploads.report()
        assert (link.bytes, link.compressed) == (600_000, 600_000)
        assert link.sent < 60_000
    assert notes[-1] == 600_000
