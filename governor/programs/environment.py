"""Lets programs wait for their environments, and takes the inputs of environments out of their
tasks.
"""

from __future__ import annotations

from collections.abc import Callable

import trio
from attrs import evolve

from rain.base.environment import read_environment
from rain.base.runs import RunCause
from rain.governor.core.effects import RunBuiltin
from rain.governor.core.events import BuiltinDone, BuiltinPrepared
from rain.governor.core.results import STOPPED, Failed
from rain.governor.environments.folder import MadeEnvironment
from rain.governor.environments.lazy import LazyEnvironments
from rain.governor.environments.not_made import NotMadeError
from rain.governor.workplace import Workplace


class WaitingPrograms:
    """Programs whose environments are being made, or are looked for."""

    def __init__(
        self, place: Workplace, start: Callable[[RunBuiltin, MadeEnvironment], None]
    ) -> None:
        self._place = place
        self._start = start
        self._scopes: dict[int, trio.CancelScope] = {}

    def begin(self, effect: RunBuiltin) -> None:
        """Starts the program as soon as its environment is there; else `BuiltinDone` follows."""
        self._scopes[effect.run] = trio.CancelScope()
        self._place.background.start(self._wait, effect)

    def stop(self, run: int) -> bool:
        """Lets a program wait no longer, if it does; says so."""
        scope = self._scopes.get(run)
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def _wait(self, effect: RunBuiltin) -> None:
        made: MadeEnvironment | Failed = STOPPED
        with self._scopes[effect.run] as scope:
            made = await _made_for(effect, self._place.environments)
        del self._scopes[effect.run]
        if scope.cancel_called:
            made = STOPPED
        if isinstance(made, Failed):
            self._place.tell(BuiltinDone(effect.run, 0.0, made))
            return
        self._place.tell(BuiltinPrepared(effect.run))
        self._start(_without_environment(effect), made)


async def _made_for(effect: RunBuiltin, environments: LazyEnvironments) -> MadeEnvironment | Failed:
    """The environment of a program, as soon as it is there, or why it cannot be made."""
    environment = read_environment(effect.kind.environment)
    if len(effect.inputs) < environment.folders:
        return Failed("the folders of its environment are not among the inputs of the task")
    own = len(effect.inputs) - environment.folders
    contents = [source.content for source in effect.inputs[own:]]
    try:
        return await environments.made(environment, contents)
    except NotMadeError as error:
        cause = RunCause.NOT_STARTED if error.short else RunCause.TASK
        return Failed(str(error), cause=cause)


def _without_environment(effect: RunBuiltin) -> RunBuiltin:
    """The run with the inputs that are files of the program."""
    folders = read_environment(effect.kind.environment).folders
    return evolve(effect, inputs=effect.inputs[: len(effect.inputs) - folders])
