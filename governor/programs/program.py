"""The configuration of an external program: arguments, files, environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from rain.base.executor_protocol import VISIBLE_GPUS
from rain.base.thread_limits import thread_limits
from rain.governor.programs.builtin_files import BuiltinJob
from rain.governor.programs.sandbox import BuiltinError


@frozen
class ProgramConfig:
    """The configuration: arguments, the files of inputs and outputs, and the optional settings."""

    args: list[str]
    in_paths: list[dict[str, Any]]
    out_paths: list[str]
    env: dict[str, str | None]  # None removes a variable

    @staticmethod
    def of(job: BuiltinJob) -> ProgramConfig:
        args: list[Any] = job.setting("args", list)
        in_paths: list[Any] = job.setting("in_paths", list)
        if not args or not all(isinstance(word, str) for word in args):
            raise BuiltinError("there is no program to run: args is empty or contains a non-text")
        if not all(isinstance(entry, dict) for entry in in_paths):
            raise BuiltinError("in_paths is not a list of tables")
        config: dict[str, Any] = job.config()
        program = ProgramConfig(
            args,
            in_paths,
            job.setting("out_paths", list),
            _env(config.get("env", {})),
        )
        if len(program.in_paths) != len(job.effect.inputs):
            raise BuiltinError("in_paths does not name a file for each input")
        if len(program.out_paths) != len(job.effect.outputs):
            raise BuiltinError("out_paths does not name a file for each output")
        return program

    def environment(
        self, given: Mapping[str, str], cpus: int, gpus: tuple[str, ...] | None
    ) -> dict[str, str]:
        """Returns the environment of the program, based on that of the governor."""
        environment = {**given, **thread_limits(cpus, given, self.env)}
        if gpus is not None:
            environment[VISIBLE_GPUS] = ",".join(gpus)
        for name, value in self.env.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        return environment


def _env(given: Any) -> dict[str, str | None]:
    if not isinstance(given, dict):
        raise BuiltinError("env is not a table of variables")
    env: dict[str, str | None] = given
    for name, value in env.items():
        if not (value is None or isinstance(value, str)):  # pyright: ignore[reportUnnecessaryIsInstance] # it has come as JSON
            raise BuiltinError(f"the value of the variable {name!r} in env is not a text")
    return env
