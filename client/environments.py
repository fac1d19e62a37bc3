"""Software environments of tasks: packages, variables and files that their machines may not have.

`Env` is what users write. A session knows which environment its tasks have, and sends the content
of each once, as constants that the tasks read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from os import PathLike
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from rain.base.environment import (
    FILES,
    SECONDS,
    VARIABLE,
    WHEELS,
    Environment,
    read_environment,
)
from rain.base.sizes import spell_size
from rain.client.commands import checked_variables
from rain.client.conda import conda_of
from rain.client.data import DataObject
from rain.client.guards import is_sequence
from rain.client.handles import constant_object
from rain.client.shapes import ObjectShape, checked_seconds
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.common.fs import pack_directory

if TYPE_CHECKING:
    from rain.client.session import Session

LARGEST: Final = 256 << 20
"""Bytes of a folder that an environment may take along."""

MOST_TEXT: Final = 100 << 10
"""Bytes of packages, variables and a conda description: processes get them in a variable, and the
system allows 128 KiB."""

_OURS = "RAIN_"


class Env:
    """The packages, variables and files that tasks need; each governor makes them once.

    Its packages come on top of those of the governor, and its tasks run in processes of their own.
    Folders are read when the environment is described.

    >>> from rain.client import Client, Env
    >>> import os
    >>> with Client(cpus=1) as client:
    ...     loud = client.options(env=Env(vars={"LEVEL": "loud"}))
    ...     loud.submit(os.getenv, "LEVEL").result()
    'loud'

    Args:
        pip: the packages, as `pip install` takes them, or the path of a requirements file.
        vars: environment variables.
        conda: in place of `pip`, the path of an environment.yml or what it says, from which the
            machine makes a conda environment; or the name or path of one that it has.
        files: a folder; tasks import modules from it, and find it as RAIN_ENVIRONMENT_FILES.
        wheels: a folder with all packages that are to be installed; nothing is downloaded then.
        timeout: the seconds that it may take to make the environment.
    """

    __slots__ = ("archives", "environment")

    def __init__(
        self,
        pip: Sequence[str] | str | PurePath = (),
        vars: Mapping[str, str] | None = None,  # noqa: A002 # as users of Ray know it
        files: str | PathLike[str] | None = None,
        wheels: str | PathLike[str] | None = None,
        timeout: float | None = None,
        conda: str | PurePath | Mapping[str, Any] | None = None,
    ) -> None:
        packages = _packages(pip)
        if conda is not None and packages:
            raise RainException(
                "Env: an environment has either pip= or conda=; with conda, name the packages of"
                ' pip in its dependencies: {"pip": [...]}'
            )
        described, named = conda_of(conda)
        if wheels is not None and not packages:
            raise RainException("Env: wheels=... is where pip finds packages; name them in pip=")
        packed = [None if folder is None else _packed(folder) for folder in (files, wheels)]
        digests = ["" if data is None else _digest(data) for data in packed]
        self.environment = Environment(
            packages,
            _variables(vars or {}),
            digests[0],
            digests[1],
            SECONDS if timeout is None else checked_seconds("Env", "timeout", timeout),
            described,
            named,
        )
        _check_length(self.environment)
        self.archives = {
            digest: data for digest, data in zip(digests, packed, strict=True) if data is not None
        }

    def over(self, base: Env | None) -> Env:
        """This environment on top of another one. Variables are merged, and those of this one win.
        Everything else that this one sets replaces the setting of the other one.

        >>> Env(vars={"A": "1"}).over(Env(vars={"A": "0", "B": "2"}, pip=["attrs"]))
        <Env pip=['attrs'] vars=['A', 'B']>
        """
        if base is None or base == self:
            return self
        own, other = self.environment, base.environment
        software = own if own.packages or own.conda or own.conda_name else other
        joined = Environment(
            software.packages,
            tuple(sorted({**dict(other.variables), **dict(own.variables)}.items())),
            own.files or other.files,
            software.wheels,
            own.seconds if own.seconds != SECONDS else other.seconds,
            software.conda,
            software.conda_name,
        )
        return _env_of(joined, {**base.archives, **self.archives})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Env) and other.environment == self.environment

    def __hash__(self) -> int:
        return hash(self.environment)

    def __repr__(self) -> str:
        environment = self.environment
        said = [
            f" pip={list(environment.packages)}" if environment.packages else "",
            f" conda={environment.conda_name!r}" if environment.conda_name else "",
            " conda" if environment.conda else "",
            f" vars={[name for name, _ in environment.variables]}" if environment.variables else "",
            " files" if environment.files else "",
            " wheels" if environment.wheels else "",
        ]
        return f"<Env{''.join(said)}>"


def _check_length(environment: Environment) -> None:
    length = len(environment.text)
    if length > MOST_TEXT:
        raise RainException(
            f"Env: its packages, variables and conda environment have {spell_size(length)} of text,"
            f" and {spell_size(MOST_TEXT)} are allowed"
        )


def _env_of(environment: Environment, archives: Mapping[str, bytes]) -> Env:
    """An environment whose folders were read before; the archives are named by their digests."""
    _check_length(environment)
    made = Env.__new__(Env)
    made.environment, made.archives = environment, dict(archives)
    return made


def _folders_of(env: Env) -> Iterator[tuple[str, bytes]]:
    """The names and archives of its folders, in the order in which tasks read them."""
    environment = env.environment
    for name, digest in (("files", environment.files), ("wheels", environment.wheels)):
        if digest:
            yield f"environment {name}", env.archives[digest]


class SessionEnvironments:
    """The environments of one session: the default of its tasks, and those that were sent."""

    def __init__(self, session: Session, default: Env | None) -> None:
        self._session = session
        self.default = default
        self._joined: dict[Env, Env] = {}
        self._sent: dict[str, tuple[int, DataObject]] = {}  # by digest, with the refusals before it

    def joined(self, env: Env | None) -> Env | None:
        """The environment of a task that asks for this one."""
        default = self.default
        if env is None or default is None:
            return default if env is None else env
        known = self._joined.get(env)
        if known is None:
            known = self._joined[env] = env.over(default)
        return known

    def inputs(self, env: Env) -> tuple[DataObject, ...]:
        """The constants that its tasks read, at the end of their inputs."""
        client = self._session.client
        if client is not None and client.address == "local":
            raise RainException(
                "In local mode tasks run in this process, so they cannot have an environment of"
                " their own: leave out env="
            )
        return tuple(self._input(name, data) for name, data in _folders_of(env))

    def inputs_with(
        self, env: Env | None, inputs: tuple[DataObject, ...], labels: tuple[str | None, ...]
    ) -> tuple[tuple[DataObject, ...], tuple[str | None, ...]]:
        """The inputs of a task and their labels, with those of its environment behind them."""
        if env is None:
            return inputs, labels
        added = self.inputs(env)
        return inputs + added, labels + (None,) * len(added) if labels else labels

    def _input(self, name: str, data: bytes) -> DataObject:
        digest, refusals = _digest(data), self._session.refusals
        before, obj = self._sent.get(digest, (-1, None))
        if obj is None or before != refusals:  # it may have been refused with its submission
            shape = ObjectShape(name, None, DataType.DIRECTORY.value)
            obj = constant_object(self._session, shape, data)
            obj.keep()
            self._sent[digest] = refusals, obj
        return obj


def inherited() -> Env | None:
    """The environment of the running task, which is that of the tasks that it submits."""
    told = os.environ.get(VARIABLE)
    if told is None:
        return None
    environment = read_environment(told)
    folders = ((environment.files, FILES), (environment.wheels, WHEELS))
    archives = {digest: _packed(os.environ[name]) for digest, name in folders if digest}
    return _env_of(environment, archives)


def checked_env(what: str, env: object) -> Env | None:
    """An environment or none; RainException for anything else."""
    if env is None or isinstance(env, Env):
        return env
    raise RainException(f"{what}: env is {env!r}; write env=Env(pip=[...], vars={{...}})")


def parted_env(
    what: str, env: Mapping[str, str | None] | Env | None
) -> tuple[dict[str, str | None], Env | None]:
    """The `env` of a program: variables of its own, where None removes one, or an environment."""
    if isinstance(env, Env):
        return {}, env
    return checked_variables(what, env), None


def text_of(env: Env | None) -> str:
    """The part of a cache key for an environment."""
    return "" if env is None else env.environment.text


def said_of(env: Env | None) -> list[str]:
    """The part of a larger cache key for an environment; nothing without one, so that the key stays
    the same.
    """
    return [] if env is None else [text_of(env)]


def _packages(pip: Any) -> tuple[str, ...]:
    if isinstance(pip, str | PurePath):
        path = Path(pip)
        try:
            lines: Iterable[Any] = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise RainException(
                f"Env: the requirements file {path} cannot be read: {error.strerror}; packages are"
                " named in a list: pip=[...]"
            ) from None
    elif is_sequence(pip):
        lines = pip
    else:
        raise RainException(f"Env: pip is a list of packages, not {pip!r}")
    found: list[str] = []
    for line in lines:
        if not isinstance(line, str):
            raise RainException(f"Env: a package is named by a text, not by {line!r}")
        said = line.strip()
        if "\n" in said or "\0" in said:
            raise RainException(f"Env: {line!r} names no package")
        if said and not said.startswith("#"):
            found.append(said)
    return tuple(found)


def _variables(given: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise RainException(f"Env: the variable {name!r} is {value!r}; both must be texts")
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise RainException(f"Env: {name!r} cannot be an environment variable")
        if name.startswith(_OURS):
            raise RainException(f"Env: {name} belongs to Rain: choose another name")
    return tuple(sorted(given.items()))


def _packed(folder: str | PathLike[str]) -> bytes:
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise RainException(f"Env: there is no folder {path}")
    data = pack_directory(path, _is_left_out)
    if len(data) > LARGEST:
        raise RainException(
            f"Env: {path} has {spell_size(len(data))}, and an environment takes at most"
            f" {spell_size(LARGEST)} along: give data to calls with client.put"
        )
    return data


def _is_left_out(name: str) -> bool:
    return name == "__pycache__" or name.startswith(".") or name.endswith(".pyc")


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
