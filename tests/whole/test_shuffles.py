"""Shuffles over several governors: what is read from where, and what a lost governor costs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from rain.client import Client
from tests.support.tls import keys_of
from tests.whole.daemons import governor, server
from tests.whole.test_losses import Gate, gate, runs

__all__ = ["gate"]

pytestmark = pytest.mark.whole

ROWS = 400_000
Array = np.ndarray[tuple[int], np.dtype[np.int64]]


class Marking:
    """Functions of a shuffle that leave a mark for each of their runs."""

    def __init__(self, marks: Path, held: Path | None = None) -> None:
        self._marks = str(marks)
        self._held = "" if held is None else str(held)

    def mark(self, name: str) -> None:
        descriptor = os.open(f"{self._marks}/{name}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, f"{os.getppid()}\n".encode())
        os.close(descriptor)

    def split(self, number: int, parts: int) -> list[Array]:
        self.mark(f"split-{number}")
        rows = np.arange(number, number + ROWS)
        return [rows[rows % parts == part] for part in range(parts)]

    def merge(self, pieces: Iterable[Array]) -> tuple[int, int, int]:
        """How many pieces there are, the sum of all, and the remainder that they have in common."""
        count = total = 0
        remainders: set[int] = set()
        for piece in pieces:
            if not count:
                self.mark(f"begin-{int(piece[0]) % 4}")
            if self._held and not count:
                self._wait()
            count += 1
            total += int(piece.sum())
            remainders.update(np.unique(piece % 4).tolist())
        (part,) = remainders
        self.mark(f"merge-{part}")
        return count, total, part

    def _wait(self) -> None:
        for name, flags in (("started", os.O_WRONLY), ("go", os.O_RDONLY)):
            descriptor = os.open(f"{self._held}/{name}", flags)
            if flags == os.O_RDONLY:
                os.read(descriptor, 1)
            else:
                os.write(descriptor, f"{os.getppid()}\n".encode())
            os.close(descriptor)


def expected(inputs: int) -> list[tuple[int, int, int]]:
    rows = [np.arange(number, number + ROWS) for number in range(inputs)]
    return [
        (inputs, sum(int(one[one % 4 == part].sum()) for one in rows), part) for part in range(4)
    ]


@pytest.mark.parametrize("encrypted", [False, True], ids=["open", "encrypted"])
def test_parts_are_read_from_other_governors_by_sockets(tmp_path: Path, encrypted: bool) -> None:
    # given: two governors that share no files
    tls = ("--tls", str(keys_of())) if encrypted else ()
    alone = (*tls, "--no-share-store")
    functions = Marking(tmp_path / "marks")
    (tmp_path / "marks").mkdir()
    with (
        server(tmp_path, *tls, "--scheduler", "round-robin") as serving,
        governor(tmp_path, "one", serving.address, 1, *alone) as one,
        governor(tmp_path, "two", serving.address, 1, *alone) as two,
        Client("127.0.0.1", serving.port, tls=keys_of() if encrypted else None) as client,
    ):
        # when
        parts = client.shuffle(range(5), functions.split, functions.merge, parts=4)

        # then
        assert client.gather(parts) == expected(5)
        marks = [runs(tmp_path / "marks" / f"split-{number}") for number in range(5)]
        assert {pid for mark in marks for pid in mark} == {one.process.pid, two.process.pid}


def test_a_governor_that_is_killed_in_the_middle_costs_what_it_had_and_no_more(
    tmp_path: Path, gate: Gate
) -> None:
    # given: two governors with the pieces of some inputs each, and each merges a part
    marks = tmp_path / "marks"
    marks.mkdir()
    functions = Marking(marks, gate.folder)
    with (
        server(tmp_path, "--scheduler", "round-robin") as serving,
        governor(tmp_path, "one", serving.address) as one,
        governor(tmp_path, "two", serving.address) as two,
        Client("127.0.0.1", serving.port) as client,
    ):
        parts = client.shuffle(range(6), functions.split, functions.merge, parts=4)
        first = {gate.next_start(), gate.next_start()}
        assert first == {one.process.pid, two.process.pid}
        before = {n: runs(marks / f"split-{n}") for n in range(6)}

        # when: two parts are merged; then one governor is killed while it merges another one
        gate.let_go(2)
        done, _ = client.wait(parts, num_returns=2)
        for _ in range(2):
            gate.next_start()
        merging = {part: runs(marks / f"begin-{part}") for part in range(4)}
        one.kill()

        # then: what was merged is not merged again, and what is still there is not split again
        gate.let_go(20)
        assert client.gather(parts) == expected(6)
        for number, (ran,) in before.items():
            again = [two.process.pid] if ran == one.process.pid else []
            assert runs(marks / f"split-{number}") == [ran, *again]
        merged = {part.result()[2] for part in done}
        for part in merged:
            assert runs(marks / f"begin-{part}") == merging[part]
            assert len(runs(marks / f"merge-{part}")) == 1

        # and the merges at work begin anew, also the one whose governor is still there
        for part in set(range(4)) - merged:
            assert runs(marks / f"begin-{part}") == [*merging[part], two.process.pid]
            assert len(runs(marks / f"merge-{part}")) == 1
        assert {runs(marks / f"begin-{part}")[0] for part in set(range(4)) - merged} == first


class LastWaits(Marking):
    """The last input waits at a gate before it is split."""

    def split(self, number: int, parts: int) -> list[Array]:
        if number == 5:
            self._wait()
        return super().split(number, parts)


def test_in_rounds_pieces_are_collected_before_the_last_input_is_split_and_a_loss_changes_nothing(
    tmp_path: Path, gate: Gate
) -> None:
    # given: two governors that share no files; the last of six inputs is not split yet
    (tmp_path / "marks").mkdir()
    functions = LastWaits(tmp_path / "marks", gate.folder)
    merging = Marking(tmp_path / "marks")
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address, 1, "--no-share-store") as one,
        governor(tmp_path, "two", serving.address, 1, "--no-share-store") as two,
        Client("127.0.0.1", serving.port) as client,
    ):
        exchange = client.exchange(range(6), functions.split, parts=4, rounds=3)
        parts = [client.submit(merging.merge, part) for part in exchange]
        at_work = gate.next_start()

        # then: what the first rounds have made comes to where it will be merged
        collected = [one for each in vars(exchange)["_collected"].values() for one in each]
        assert len(collected) == 8
        client.wait(collected)
        assert not any(part.done() for part in parts)

        # when: the other governor is lost, with what it had collected
        (other,) = (each for each in (one, two) if each.process.pid != at_work)
        other.kill()
        gate.let_go(20)

        # then
        assert client.gather(parts) == expected(6)
        assert runs(tmp_path / "marks" / "split-5") == [at_work]
