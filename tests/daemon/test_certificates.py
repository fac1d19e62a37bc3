"""A daemon warns of the end of its certificate, and looks whether it was renewed."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock

from rain.base.admission import MemberKind
from rain.daemon.certificates import EVERY, WARN_EVERY, keep_looking
from rain.governor.tasks_file import TasksFile
from rain.tls.folder import AUTHORITY
from rain.tls.identity import Identity
from rain.tls.making import Authority, Wanted
from tests.support.logs import capturing_logger
from tests.support.tls import keep, keys_of

AUTHORITY_OF_ONE = Authority.read((keys_of() / AUTHORITY).read_bytes())


def warnings(days: float, looks: int, tmp_path: Path) -> list[str]:
    """What is logged in some looks at a certificate that is good for some days."""
    content = AUTHORITY_OF_ONE.issue(Wanted(MemberKind.SERVER, "s", days=days))
    identity = Identity.read(keep(tmp_path / "server.pem", content), MemberKind.SERVER)
    log, said = capturing_logger()

    async def main() -> None:
        with trio.move_on_after((looks - 0.5) * EVERY):
            await keep_looking(identity, log)

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return [entry["event"] for entry in said.entries]


def test_a_certificate_that_ends_soon_is_warned_of_each_day(tmp_path: Path) -> None:
    said = warnings(7, 2 * WARN_EVERY, tmp_path)
    assert len(said) == 2
    assert "server.pem expires in 7 days: renew it with 'rain keys renew'" in said[0]


def test_nothing_is_said_long_before_the_end(tmp_path: Path) -> None:
    assert warnings(60, WARN_EVERY, tmp_path) == []


def test_the_file_of_the_tasks_is_renewed_with_that_of_the_governor(tmp_path: Path) -> None:
    path = keep(tmp_path / "governor.pem", (keys_of() / "governor.pem").read_bytes())
    tasks = TasksFile(tmp_path / "tasks.pem", Identity.read(path, MemberKind.GOVERNOR))
    assert tasks.path.stat().st_mode & 0o777 == 0o600
    first = Identity.read(tasks.path, MemberKind.CLIENT)
    assert first.who.name == "tasks of governor"
    before = tasks.path.read_bytes()
    tasks.write()
    assert tasks.path.read_bytes() == before
    new = AUTHORITY_OF_ONE.issue(Wanted(MemberKind.GOVERNOR, "renewed", days=3))
    keep(tmp_path / "new", new).replace(path)
    tasks.write()
    assert first.who.name == "tasks of renewed"
