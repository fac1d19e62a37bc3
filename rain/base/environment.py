"""The software environment that a kind of tasks needs: packages, variables and files.

The client writes it as a text into the kind, and the governor reads it. Equal texts are one
environment. Files and wheels are in the text only by their digests. Their contents are the last
inputs of each task, in this order, if there are any.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from math import inf
from typing import Any, Final, TypeGuard

from attrs import frozen

SECONDS: Final = 600.0
"""How long it may take to make an environment, unless its user says otherwise."""

VARIABLE: Final = "RAIN_ENVIRONMENT"
"""The variable with the text of the environment, for tasks that submit tasks."""

FILES: Final = "RAIN_ENVIRONMENT_FILES"
"""The variable with the folder of its files, for tasks that read these."""

WHEELS: Final = "RAIN_ENVIRONMENT_WHEELS"
"""The variable with the folder of its wheels."""


@frozen
class Environment:
    """What tasks need of the machine that they run on."""

    packages: tuple[str, ...] = ()  # the lines of a requirements file
    variables: tuple[tuple[str, str], ...] = ()  # sorted by name
    files: str = ""  # the digest of a folder, "" for none
    wheels: str = ""  # the digest of a folder with packages to install from, "" for none
    seconds: float = SECONDS  # as long as it may take to make it
    conda: str = ""  # the text of an environment.yml, "" for none
    conda_name: str = ""  # the name or path of a conda environment that is there, "" for none

    @property
    def text(self) -> str:
        """The form in which it travels."""
        said: dict[str, Any] = {
            "packages": self.packages,
            "variables": dict(self.variables),
            "files": self.files,
            "wheels": self.wheels,
            "seconds": self.seconds,
        }
        conda = {"conda": self.conda, "conda_name": self.conda_name}
        # The other texts stay as they were: keys of kept results contain them.
        said |= {name: value for name, value in conda.items() if value}
        return json.dumps(said, separators=(",", ":"))

    @property
    def key(self) -> str:
        """The name of its folder on the disk, which does not depend on variables and seconds."""
        content = [self.packages, self.files, self.wheels, *([self.conda] if self.conda else [])]
        return blake2b(json.dumps(content).encode(), digest_size=12).hexdigest()

    @property
    def name(self) -> str:
        """A name that is unique in one governor."""
        return blake2b(self.text.encode(), digest_size=12).hexdigest()

    @property
    def folders(self) -> int:
        """How many of the last inputs of its tasks belong to it."""
        return bool(self.files) + bool(self.wheels)

    @property
    def is_on_disk(self) -> bool:
        """Whether anything must be made for it."""
        return bool(self.packages or self.files or self.conda)


def read_environment(text: str) -> Environment:
    """The environment of a kind; ValueError, in one line, when the text is none."""
    try:
        told: Any = json.loads(text)
        if not _is_table(told):
            raise TypeError("not a table")
        packages, variables = told["packages"], told["variables"]
        files, wheels, seconds = told["files"], told["wheels"], told["seconds"]
        conda, conda_name = told.get("conda", ""), told.get("conda_name", "")
        if not _is_list(packages) or not _is_table(variables):
            raise TypeError("not a list of packages and a table of variables")
        texts: list[Any] = [
            *packages,
            *variables,
            *variables.values(),
            files,
            wheels,
            conda,
            conda_name,
        ]
        if not all(isinstance(one, str) and "\0" not in one for one in texts):
            raise TypeError("texts are expected, without zero bytes")
        if not isinstance(seconds, int | float) or not 0 < seconds < inf:
            raise TypeError("the seconds are no number above 0")
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"its environment cannot be read: {error}") from None
    return Environment(
        tuple(packages),
        tuple(sorted(variables.items())),
        files,
        wheels,
        float(seconds),
        conda,
        conda_name,
    )


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_table(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict)
