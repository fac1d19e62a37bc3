"""Sessions that have left a log, for tests of what is made of it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from attrs import frozen

from rain.server.core.collector import Happenings
from rain.server.dashboard.digest import Digest
from rain.server.dashboard.reading import catch_up
from rain.server.history.store import FILE, open_store
from tests.support.events import listen
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.world import World, new_world


@frozen
class Story:
    """A world whose happenings go into a file when they are asked for."""

    path: Path
    world: World
    happenings: Happenings
    governors: list[FakeGovernor]
    client: FakeClient

    def write(self) -> Path:
        """Brings the file up to date."""
        with closing(open_store(self.path)) as store:
            store.write(self.world.now, self.happenings.take().happenings, 0)
        return self.path

    def digest(self, session: int) -> Digest:
        """What the log says of a session by now."""
        digest = Digest(session)
        assert catch_up(self.write(), digest) == 1.0
        return digest


def story(folder: Path, governors: int = 1, cpus: int = 4) -> Story:
    """A world with some governors and a client."""
    world = new_world()
    happenings = listen(world)
    return Story(
        folder / FILE,
        world,
        happenings,
        [world.governor(cpus=cpus) for _ in range(governors)],
        world.client(),
    )


def by_hand(*names: str) -> Digest:
    """A session whose tasks 10, 11, ... have these names, and nothing has happened yet."""
    digest = Digest(1)
    digest.happened([[1, "SessionNew", 100.0, {"client": "1", "spec": {"name": "made"}}]])
    digest.submitted(100.0, len(names), 0)
    digest.learn([[10 + place, name, [], []] for place, name in enumerate(names)])
    return digest


def ran(digest: Digest, number: int, start: float, end: float, governor: str = "one:1") -> None:
    """A task has run from one moment to another."""
    started = digest.last + 1
    digest.happened([[started, "TaskStarted", start, [number, iso(start), None, governor, None]]])
    finish = [number, iso(start), end - start, governor, None]
    digest.happened([[started + 1, "TaskFinished", end, finish]])


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
