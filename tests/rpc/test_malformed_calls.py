"""Calls and answers whose parts cannot be read are their sender's fault, and nobody else's."""

from threading import Thread

import pytest
import trio

from rain.base.admission import Role
from rain.base.wire import CLIENT_VERSION, GOVERNOR_VERSION
from rain.rpc import host, schema
from rain.rpc.codec.border import Capability, OfferedServer
from rain.rpc.connection import Connection, dial
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeServer
from tests.rpc.test_registration import failure_of, play
from tests.support.malformed import KeepingTap

NO_TEXT = b"\xff\xfe\xff"


def a_registration(bootstrap: Capability) -> Capability:
    request = bootstrap.registerGovernor_request()
    request.version, request.incarnation, request.dataAddress = GOVERNOR_VERSION, 77, "host:1"
    return request


def test_an_address_that_is_no_text_is_the_governors_fault() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        request = a_registration(bootstrap)
        request.dataAddress = NO_TEXT
        assert (await failure_of(request.send())).startswith("registerGovernor: ")

    assert play(scene, Role.GOVERNOR).hellos == []


@pytest.mark.parametrize("incarnation", [0, -1, -(2**63)])
def test_an_incarnation_that_no_address_can_name_is_refused(incarnation: int) -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        request = a_registration(bootstrap)
        request.incarnation = incarnation
        assert "must be above 0" in await failure_of(request.send())

    assert play(scene, Role.GOVERNOR).hellos == []


def test_a_resource_is_named_once() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        request = a_registration(bootstrap)
        for row in request.init("resources", 2):
            row.name, row.amount = "gpus", 1
        assert "a resource is named twice" in await failure_of(request.send())

    assert play(scene, Role.GOVERNOR).hellos == []


def test_more_resources_than_anybody_has_are_refused_before_they_are_read() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        request = a_registration(bootstrap)
        request.init("resources", 2000)
        assert "2000 resources; there may be 1000" in await failure_of(request.send())

    assert play(scene, Role.GOVERNOR).hellos == []


def test_a_name_that_is_no_text_is_the_clients_fault() -> None:
    async def scene(connection: Connection, bootstrap: Capability) -> None:
        service = (await bootstrap.registerClient(version=CLIENT_VERSION)).service
        request = service.joinSession_request()
        request.name = NO_TEXT
        assert (await failure_of(request.send())).startswith("joinSession: ")

    server = play(scene)
    ((cause,),) = server.journal.named("client left")
    assert cause.startswith("joinSession: ")


class SpoilingTap(KeepingTap):
    """Puts what is no text in the place of a word."""

    def piece(self, said: bytes) -> bytes:
        return said.replace(b"odd", NO_TEXT)


def reporting(name: object, fault: Exception | None = None) -> OfferedServer:
    """What a governor offers whose report is wrong."""
    control = schema.governor.GovernorControl.Server()

    async def report(context: Capability) -> None:
        if fault is not None:
            raise fault
        context.results.init("report").address = name

    async def stop(context: Capability) -> None:
        """It is over anyway."""

    control.report_context, control.stop_context = report, stop
    return control


class Kept:
    """The reply that the server waits for."""

    def __init__(self, journal: FakeServer) -> None:
        self._journal = journal.journal

    def answer(self, value: object) -> None:
        self._journal.write("reported", value)

    def refuse(self, reason: object) -> None:
        self._journal.write("refused", reason)


@pytest.mark.parametrize("fault", [None, ValueError("strange"), ValueError("odd")])
def test_a_report_that_cannot_be_read_ends_its_governor_and_nobody_else(
    fault: Exception | None,
) -> None:
    async def main() -> int:
        server = FakeServer()
        listener = listen("127.0.0.1", 0, server)
        connections: list[Connection] = []
        tap = SpoilingTap(listener.port)
        passing_on = Thread(target=tap.run)
        passing_on.start()

        async def live() -> None:
            connection = await dial("127.0.0.1", tap.port, 5, Role.GOVERNOR)
            connections.append(connection)
            request = a_registration(connection.call(schema.server.ServerBootstrap))
            request.control = reporting(NO_TEXT, fault)
            await request.send()

        with trio.fail_after(20):
            await host.in_host(live)
            server.governors[0].report(Kept(server))
            ((reason,),) = await server.journal.until("refused")
            assert "report" in str(reason)
            if str(fault) != "strange":
                await server.journal.until("governor left")
        connections[0].end("done")
        listener.close()
        await trio.to_thread.run_sync(passing_on.join)
        return 0

    host.run(main)
