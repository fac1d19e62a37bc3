"""Execute: a task that runs an external program in a folder of its own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rain.base.caching import CONFIG_KEY
from rain.client.active import get_active_session
from rain.client.cached.plans import Cache, checked_cache, checked_cache_key, plan_of_program
from rain.client.command_files import check_files, check_kept_files
from rain.client.commands import (
    refuse_formatted,
    refuse_shell_words,
    split_args,
)
from rain.client.data import DataObject, stands_for_data, to_dataobj
from rain.client.environments import Env, parted_env, text_of
from rain.client.input import Input, InputBase, InputDir
from rain.client.output import Output, OutputBase
from rain.client.retrying import RetryCodes, attempts_of_program
from rain.client.shapes import with_memory
from rain.client.task import Task
from rain.common.content_type import merge_content_types
from rain.common.data_type import DataType
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.session import Session

STDIN_PATH = "+in"
STDOUT_PATH = "+out"


class Execute(Task):
    """Runs a program. Inputs appear as files in its folder, outputs are taken from there.

    `args` is a command line, or a sequence of texts, paths, data objects, tasks, inputs and
    outputs; data is replaced by file names. With `shell` the line goes to /bin/sh; words that mean
    something only there are refused unless `shell` is given. After `timeout` seconds the program is
    ended. `retry_on` are the exit codes that are worth another of its `tries`; by default all are.
    `env` is an `Env`, or variables: what is None there is taken away. With `cache` (True, or
    a folder) the outputs are kept for other runs; they depend on `cache_key`, too. A task that
    may run twice at a time is `idempotent`.

    >>> session.compute(tasks.Execute(["echo", "rain"], stdout=True)).get_str()
    'rain\\n'
    """

    TASK_TYPE = "buildin/run"

    def __init__(
        self,
        args: str | Sequence[Any],
        stdout: bool | str | Output | None = None,
        stdin: Any = None,
        input_paths: Iterable[Any] = (),
        output_paths: Iterable[Any] = (),
        shell: bool | None = None,
        *,
        timeout: float | None = None,
        env: Mapping[str, str | None] | Env | None = None,
        name: str | None = None,
        session: "Session | None" = None,
        cpus: int = 1,
        memory: int | str | None = None,
        resources: Mapping[str, int | str] | None = None,
        duration: float | None = None,
        constraints: Mapping[str, object] | None = None,
        tries: int = 1,
        crash_tries: int | None = None,
        memory_tries: int | None = None,
        backoff: float | None = None,
        retry_on: RetryCodes = None,
        priority: int = 0,
        cache: Cache = None,
        cache_key: object = None,
        idempotent: bool | None = None,
    ) -> None:
        args = args if isinstance(args, str) else list(args)
        refuse_formatted("Execute", args)
        given = split_args("Execute", args)
        if shell is None:
            refuse_shell_words("Execute", args)
        folder = _Folder()
        folder.add_files(stdin, input_paths, to_stdout(stdout), output_paths)
        said = folder.add_args(given)
        words = folder.command(said, shell=bool(shell))
        config: dict[str, Any] = {
            "args": words,
            "in_paths": folder.in_paths,
            "out_paths": folder.out_paths,
        }
        variables, own_env = parted_env("Execute", env)
        if variables:
            config["env"] = variables
        session = get_active_session() if session is None else session
        joined_env = session.environments.joined(own_env)
        environment = text_of(joined_env)
        kept = checked_cache("Execute", cache)
        key = checked_cache_key("Execute", cache_key, kept)
        if kept:
            if cache_key is None:
                check_kept_files("Execute", said)
            config[CONFIG_KEY] = folder.plan(session, name or words[0], config, key, environment)
        of_env = () if joined_env is None else session.environments.inputs(joined_env)
        super().__init__(
            [*folder.inputs, *((None, obj) for obj in of_env)],
            folder.outputs,
            config=config,
            name=name,
            session=session,
            cpus=cpus,
            resources=with_memory(resources, memory),
            duration=duration,
            constraints=constraints,
            attempts=attempts_of_program(
                "Execute", tries, crash_tries, backoff, timeout, retry_on, memory_tries
            ),
            priority=priority,
            cache=kept,
            idempotent=idempotent,
            environment=environment,
        )


class _Folder:
    """The task's folder: which input or output is which file. No two share a name by accident."""

    def __init__(self) -> None:
        self.inputs: list[tuple[str | None, DataObject]] = []
        self.outputs: list[OutputBase] = []
        self.in_paths: list[dict[str, Any]] = []
        self.out_paths: list[str] = []
        self._labels: set[str] = set()
        self._bare: dict[int, str] = {}  # objects without a name of their own, and their files

    def add_files(
        self,
        stdin: Any,
        input_paths: Iterable[Any],
        stdout: OutputBase | None,
        output_paths: Iterable[Any],
    ) -> None:
        """Adds everything that is not in the command line."""
        if stdin is not None:
            self.add_input(_stdin(stdin), STDIN_PATH)
        for item in input_paths:
            self.add_input(_input_path(item))
        if stdout is not None:
            self.add_output(stdout, "stdout", STDOUT_PATH)
        for item in output_paths:
            self.add_output(_output_path(item), None)

    def command(self, words: list[str], *, shell: bool) -> list[str]:
        """The command: the program that the words name, or a shell with them."""
        if not words:
            raise RainException("Execute: the program is missing, args is empty")
        if shell:
            return ["/bin/sh", "-c", " ".join(words)]
        own = [*(entry["path"] for entry in self.in_paths), *self.out_paths]
        check_files("Execute", words, own)
        return words

    def add_input(self, item: InputBase, path: str | None = None) -> str:
        """Adds an input and returns the name of its file."""
        if item.load is not None:
            raise RainException(f"{item!r}: load is for remote functions, not for programs")
        if item.dataobj is None:
            raise RainException(f"{item!r} has no data object: use {type(item).__name__}(dataobj=)")
        obj = item.dataobj
        merge_content_types(obj.content_type, item.content_type)
        path = item.path if path is None else path
        for entry, (_, there) in zip(self.in_paths, self.inputs, strict=True):
            if entry["path"] == path:
                if there is obj and entry["write"] == item.write:
                    return path
                raise RainException(f"Two inputs cannot have the same path {path!r}")
        self.inputs.append((self._unique_label(item.label), obj))
        self.in_paths.append({"path": path, "write": item.write})
        return path

    def add_output(self, item: OutputBase, label: str | None, path: str | None = None) -> str:
        """Adds an output and returns the name of its file; `label` is used if it has none."""
        if item.encode is not None:
            raise RainException(f"{item!r}: encode is for remote functions, not for programs")
        if path is None:
            path = item.path or label
        if path is None:
            raise RainException(f"{item!r} needs a label or a path")
        if path in self.out_paths:
            raise RainException(f"Two outputs cannot have the same path {path!r}")
        if item.label is None:
            item = item.merged(type(item)(label or path))
        self.outputs.append(item)
        self.out_paths.append(path)
        return path

    def add_args(self, args: Iterable[Any]) -> list[str]:
        """The words of the command line, data replaced by file names.

        Names that were asked for are given first, so that the made-up ones can avoid them.
        """
        items = list(args)
        words: list[str | None] = [None] * len(items)
        for i, item in enumerate(items):
            if isinstance(item, str):
                words[i] = item
            elif isinstance(item, OutputBase):
                words[i] = self.add_output(item, f"arg{i}")
        later: list[tuple[int, InputBase]] = []
        for i, item in enumerate(items):
            if isinstance(item, InputBase):
                later.append((i, item))
            elif words[i] is None:
                later.append((i, self._bare_input(i, item, items)))
        for i, entry in later:
            words[i] = self.add_input(entry)
        return [word for word in words if word is not None]

    def plan(
        self,
        session: "Session",
        name: str,
        config: Mapping[str, Any],
        cache_key: str,
        environment: str,
    ) -> dict[str, Any]:
        """The parts of the cache key of the results; the timeout is not among them."""
        made = [
            (item.data_type.value, path)
            for item, path in zip(self.outputs, self.out_paths, strict=True)
        ]
        command = [config["args"], self.in_paths, made]
        names = [
            label or entry["path"]
            for (label, _), entry in zip(self.inputs, self.in_paths, strict=True)
        ]
        variables = config.get("env", {})
        return plan_of_program(session, name, command, variables, cache_key, names, environment)

    def _bare_input(self, i: int, item: Any, items: Sequence[Any]) -> InputBase:
        """The input for an object that was given without a path."""
        if not stands_for_data(item):
            raise TypeError(f"args[{i}]: {item!r} is neither a text nor an input nor an output")
        obj = to_dataobj(item)
        path = self._bare.get(obj.packed_id)
        if path is None:
            taken = {entry["path"] for entry in self.in_paths}.union(
                self.out_paths,
                self._bare.values(),
                (other.path for other in items if isinstance(other, InputBase)),
            )
            path = _free_name(obj.label, taken)
            self._bare[obj.packed_id] = path
        kind = InputDir if obj.data_type is DataType.DIRECTORY else Input
        return kind(f"arg{i}", path, obj)

    def _unique_label(self, label: str | None) -> str | None:
        """The label of an input; a second input of the same name has none."""
        if label is None or label in self._labels:
            return None
        self._labels.add(label)
        return label


def _free_name(label: str | None, taken: set[str]) -> str:
    """A file name that resembles the label and is not taken."""
    wanted = (label or "input").strip("/").replace("/", "_") or "input"
    if wanted in {".", ".."} or wanted.startswith(("-", "+")):
        wanted = f"input{wanted}"
    name = wanted
    number = 2
    while name in taken:
        name = f"{wanted}-{number}"
        number += 1
    return name


def _stdin(item: Any) -> InputBase:
    return item if isinstance(item, InputBase) else Input("stdin", dataobj=item)


def _input_path(item: Any) -> InputBase:
    if not isinstance(item, InputBase):
        raise TypeError(f"input_paths: an Input is expected, not {item!r}")
    return item


def _output_path(item: Any) -> OutputBase:
    if isinstance(item, str):
        return Output(item)
    if not isinstance(item, OutputBase):
        raise TypeError(f"output_paths: a path or an Output is expected, not {item!r}")
    return item


def to_stdout(value: bool | str | Output | None) -> OutputBase | None:
    """The output that catches what a program prints, if it is wanted."""
    if value is None or value is False:
        return None
    if value is True:
        return Output("stdout")
    if isinstance(value, str):
        return Output(value)
    if not isinstance(value, Output):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
        raise TypeError(f"stdout: True, a label or an Output is expected, not {value!r}")
    return value
