"""Makes the software environments of tasks, and keeps track of existing ones.

An executor of an environment starts when the environment is ready. If it cannot be made, its
executors fail to start, and so do their tasks. It is not tried again for a while, since otherwise
each of many tasks would try.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import trio
from structlog.typing import FilteringBoundLogger

from rain.base.admission import TLS_FILE
from rain.base.environment import Environment
from rain.base.shortage import is_shortage
from rain.common.printed import readable
from rain.common.secret_file import VARIABLE as SECRET_FILE
from rain.governor.environments.conda import prefix_at, prefix_of
from rain.governor.environments.folder import (
    EnvironmentFolder,
    Folder,
    MadeEnvironment,
)
from rain.governor.environments.not_made import NotMadeError
from rain.governor.machine.strays import kill_tree, marked
from rain.governor.machine.warden import Warden
from rain.rpc.background import in_a_thread

TRY_AGAIN_AFTER: Final = 30.0
"""Seconds for which the failure to make an environment holds."""

LOOK_EVERY: Final = 0.25
"""Seconds between two looks whether another governor of the machine has made an environment: no
loop can wait for the lock of a file."""

NO_EXECUTOR: Final = 0
"""The number under which the processes run that make environments."""

TAIL: Final = 4096
"""Bytes of the log of pip that a user is shown."""


class Environments:
    """The environments of one governor. All of it belongs to the thread of trio."""

    def __init__(
        self,
        root: Path,
        limit: int,
        warden: Warden,
        log: FilteringBoundLogger,
        conda: str | None = None,
    ) -> None:
        self._root = root
        self._conda = conda  # the program that makes conda environments; None to look for one
        self._limit = limit
        self._warden = warden
        self._origin = warden.origin
        self._log = log
        self._prefixes: dict[str, Path] = {}  # of conda environments of the user, by their names
        self._made: dict[str, EnvironmentFolder] = {}  # by the key of the environment
        self._making: dict[str, trio.Event] = {}
        self._failed: dict[str, tuple[float, str]] = {}  # until when, and why

    async def made(self, environment: Environment, folders: Sequence[Folder]) -> MadeEnvironment:
        """The environment, as soon as it is there; its folders are only read if it is not."""
        named: Path | None = None
        if environment.conda_name:
            named = await self._named(environment.conda_name, environment.seconds)
        if not environment.is_on_disk:
            return MadeEnvironment(environment, None, named)
        key = environment.key
        while (going_on := self._making.get(key)) is not None:
            await going_on.wait()
        known = self._made.get(key)
        if known is None:
            until, why = self._failed.get(key, (0.0, ""))
            if time.monotonic() < until:
                raise NotMadeError(why)
            self._failed.pop(key, None)
            event = self._making[key] = trio.Event()
            try:
                known = self._made[key] = await self._make(environment, folders)
            except NotMadeError as failure:
                if not failure.short:
                    self._failed[key] = time.monotonic() + TRY_AGAIN_AFTER, str(failure)
                raise
            finally:
                del self._making[key]
                event.set()
        return MadeEnvironment(environment, known.path, named)

    def close(self) -> None:
        """The governor ends, and uses none any more."""
        for folder in self._made.values():
            folder.give_up()
        self._made.clear()

    async def _named(self, name: str, seconds: float) -> Path:
        """Where a conda environment of the user is, by its name or path."""
        if name.startswith("/"):
            return prefix_at(name)
        if name not in self._prefixes:
            with trio.move_on_after(seconds) as scope:
                self._prefixes[name] = await prefix_of(name, self._conda)
            if scope.cancelled_caught:
                raise NotMadeError(f"conda environments were not listed within {seconds:g} s")
        return prefix_at(str(self._prefixes[name]))

    async def _make(self, environment: Environment, folders: Sequence[Folder]) -> EnvironmentFolder:
        folder = EnvironmentFolder(self._root, environment)
        began = time.monotonic()
        is_ready = False
        try:
            await in_a_thread(folder.open, abandon=False)
            while (there := await in_a_thread(folder.is_there, abandon=False)) is None:  # noqa: ASYNC110 # see LOOK_EVERY
                await trio.sleep(LOOK_EVERY)
            if not there:
                await self._fill(folder, environment, folders)
            is_ready = True
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise NotMadeError(
                f"the environment cannot be made below {self._root}: {error.strerror}{where}",
                short=is_shortage(error),
            ) from None
        finally:
            if not is_ready:
                folder.give_up()
        seconds = round(time.monotonic() - began, 3)
        self._log.info("environment is there", path=str(folder.path), seconds=seconds)
        return folder

    async def _fill(
        self, folder: EnvironmentFolder, environment: Environment, folders: Sequence[Folder]
    ) -> None:
        if len(folders) != environment.folders:
            # What has its content is not read here any more: another task brings it.
            raise NotMadeError("the content of the environment is not here any more", short=True)
        rest = list(folders)
        files = rest.pop(0) if environment.files else None
        wheels = rest.pop(0) if environment.wheels else None
        await in_a_thread(partial(folder.begin, files, wheels), abandon=False)
        steps = folder.steps(self._conda)
        ends = trio.current_time() + environment.seconds
        for place, words in enumerate(steps):
            await self._run(words, folder.log, ends, environment.seconds)
            if not place:
                folder.see_packages_of_governor()
        await in_a_thread(partial(folder.finish, self._limit), abandon=False)

    async def _run(self, words: Sequence[str], log: Path, ends: float, seconds: float) -> None:
        """Runs a command, and waits for its end."""
        process = self._started(words, log)
        self._warden.watch(process.pid)
        status: int | None = None
        try:
            with trio.move_on_at(ends):
                await _end_of(process)
                status = process.wait()
        finally:
            if status is None:
                kill_tree(process.pid)
                process.wait()
            self._warden.release(process.pid)
        if status is None:
            raise NotMadeError(f"the environment was not made within {seconds:g} s{_said(log)}")
        if status:
            command = " ".join([Path(words[0]).name, *words[1:4]])
            raise NotMadeError(f"{command} has ended with the exit code {status}{_said(log)}")

    def _started(self, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        variables = marked(os.environ, self._origin.executor(NO_EXECUTOR))
        for hidden in (SECRET_FILE, TLS_FILE):
            variables.pop(hidden, None)
        with log.open("ab") as printed:
            return subprocess.Popen(
                words,
                cwd=log.parent,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


async def _end_of(process: subprocess.Popen[bytes]) -> None:
    """Waits until the process has ended, and can be reaped."""
    descriptor = os.pidfd_open(process.pid)
    try:
        await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _said(log: Path) -> str:
    """The end of what was printed."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - TAIL, 0))
        said = readable(file.read()).strip()
    return f":\n{said}" if said else ""
