"""The environment of an external program: which inputs of its task belong to it, and its making."""

from __future__ import annotations

from attrs import evolve

from rain.base.environment import read_environment
from rain.base.runs import RunCause
from rain.governor.effects import RunBuiltin
from rain.governor.environment_folder import MadeEnvironment, NotMadeError
from rain.governor.lazy_environments import LazyEnvironments
from rain.governor.results import Failed


async def made_for(effect: RunBuiltin, environments: LazyEnvironments) -> MadeEnvironment | Failed:
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


def without_environment(effect: RunBuiltin) -> RunBuiltin:
    """The run with the inputs that are files of the program."""
    folders = read_environment(effect.kind.environment).folders
    return evolve(effect, inputs=effect.inputs[: len(effect.inputs) - folders])
