"""The life of a governor in the process of its server."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import structlog
import trio

from rain.base.errors import InvariantError
from rain.base.resources import Resources
from rain.daemon import program
from rain.embedded.main import governed
from rain.governor.settings import GovernorSettings
from rain.scheduler.rain import RainScheduler
from rain.server.clock import Clock
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.service import Service
from rain.server.spool import Spool

pytestmark = pytest.mark.whole


def beside_its_governor(folder: Path, scene: Callable[[Service], Awaitable[object]]) -> None:
    """Plays a scene with a server; what ends the governor by a mistake is raised here."""
    state = State(ReactorSettings(debug=True))
    spool = Spool(folder)
    settings = GovernorSettings(
        resources=Resources(cpus=1), work_folder=folder / "work", monitoring_seconds=0.0
    )

    async def main() -> int:
        log = structlog.get_logger()
        service = Service(RainScheduler, state, Clock(), log, spool)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(service.turns.run)
            with trio.fail_after(60):
                async with governed(settings, {}, service, "127.0.0.1:1", folder, log):
                    await scene(service)
                    service.stop("the test is over")
            nursery.cancel_scope.cancel()
        return 0

    program.run(main)


def test_it_is_there_at_once_and_its_folder_goes_with_the_server(tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        assert len(service.links.governors) == 1
        assert (tmp_path / "work").is_dir()

    beside_its_governor(tmp_path, scene)
    assert not (tmp_path / "work").exists()


def test_the_server_is_asked_to_end_when_its_only_governor_was_stopped(tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        (link,) = service.links.governors.values()
        link.stop("it was dismissed")
        await service.links.end_asked.wait()

    beside_its_governor(tmp_path, scene)


def test_a_governor_that_loses_its_server_is_a_mistake_that_ends_both(tmp_path: Path) -> None:
    async def scene(service: Service) -> None:
        (link,) = service.links.governors.values()
        link.close("orders make no sense")
        await trio.sleep_forever()

    with pytest.raises(InvariantError, match="the governor ends: orders make no sense"):
        beside_its_governor(tmp_path, scene)
    assert not (tmp_path / "work").exists()
