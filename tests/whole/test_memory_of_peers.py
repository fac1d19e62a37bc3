"""What peers have sent does not stay with a server when they have gone."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from rain.base.admission import Role
from rain.rpc.client_endpoint import ClientConnection
from tests.support.malformed import KeepingTap, Said, enter, register, tapped
from tests.support.waiting import until_now
from tests.whole.daemons import server

pytestmark = pytest.mark.whole

MIB = 1024 * 1024
PEERS = 10
SENT = bytes(20 * MIB)
ANNOUNCED = bytes(4) + (60 * MIB // 8).to_bytes(4, "little")
SLACK = 60 * MIB  # less than half of what the peers of one round have sent


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def a_registration(port: int) -> Said:
    with tapped(KeepingTap(port)) as tap:
        client = ClientConnection("127.0.0.1", tap.port)
        tap.registered()
        client.close()
    return tap.said


def test_messages_that_never_came_to_their_end_go_with_their_peers(tmp_path: Path) -> None:
    with server(tmp_path, "--insecure") as running:
        said = a_registration(running.port)
        before = resident(running.process.pid)
        for _ in range(2):
            with ExitStack() as peers:
                for _ in range(PEERS):
                    peer = peers.enter_context(enter(running.port, Role.CLIENT))
                    register(peer, said)
                    peer.sendall(ANNOUNCED + SENT)
                assert until_now(lambda: resident(running.process.pid) > before + 2 * SLACK)
            assert until_now(lambda: resident(running.process.pid) < before + SLACK)


def test_a_peer_that_has_not_registered_cannot_fill_the_memory(tmp_path: Path) -> None:
    with server(tmp_path, "--insecure") as running:
        before = resident(running.process.pid)
        with ExitStack() as peers:
            for _ in range(PEERS):
                peer = peers.enter_context(enter(running.port, Role.CLIENT))
                with suppress(ConnectionError):
                    peer.sendall(ANNOUNCED + SENT)
                    while peer.recv(1 << 16):  # it is told why
                        pass
            assert resident(running.process.pid) < before + SLACK
