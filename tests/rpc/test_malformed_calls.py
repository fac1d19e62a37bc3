"""Calls and answers whose parts cannot be read are their sender's fault, and nobody else's."""

from __future__ import annotations

import pytest

from rain.base.admission import Role
from rain.daemon import program
from rain.rpc.interface import Fields
from tests.rpc.fakes import FakeServer, serving
from tests.rpc.raw import SERVICE, Raw, connect, control, play

NO_TEXT = (b"odd", b"\xff\xfe\xff")


def test_an_address_that_is_no_text_is_the_governors_fault() -> None:
    async def scene(raw: Raw) -> None:
        assert "UTF-8" in await raw.failure_of(raw.register_governor(dataAddress="odd:1"))

    assert play(scene, Role.GOVERNOR, instead=NO_TEXT).hellos == []


def test_a_name_that_is_no_text_is_the_clients_fault() -> None:
    async def scene(raw: Raw) -> None:
        service = await raw.register_client()
        call = raw.call(SERVICE, "joinSession", {"name": "odd"}, service)
        assert "UTF-8" in await raw.failure_of(call)

    server = play(scene, instead=NO_TEXT)
    ((cause,),) = server.journal.named("client left")
    assert "UTF-8" in cause


class Kept:
    """The reply that the server waits for."""

    def __init__(self, server: FakeServer) -> None:
        self._journal = server.journal

    def answer(self, value: object) -> None:
        self._journal.write("reported", value)

    def refuse(self, reason: object) -> None:
        self._journal.write("refused", reason)


@pytest.mark.parametrize(
    ("report", "instead", "ends"),
    [
        ({"address": "odd"}, NO_TEXT, True),
        (ValueError("strange"), (b"", b""), False),
    ],
)
def test_a_report_that_cannot_be_read_ends_its_governor_and_nobody_else(
    report: Fields | Exception, instead: tuple[bytes, bytes], ends: bool
) -> None:
    async def main() -> int:
        server = FakeServer()
        async with serving(server, 20) as here:
            raw = await connect(here.nursery, here.port, Role.GOVERNOR, instead)
            await raw.register_governor(control=control(report))
            server.governors[0].report(Kept(server))
            ((reason,),) = await server.journal.until("refused")
            assert str(reason)
            if ends:
                await server.journal.until("governor left")
            else:
                assert raw.link.is_open
            raw.link.end("done")
        return 0

    program.run(main)
