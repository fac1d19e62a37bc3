"""The class `Program`: an external program that is called with data objects like a function."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rain.client.cached.plans import Cache, checked_cache, checked_cache_key
from rain.client.commands import (
    refuse_formatted,
    refuse_shell_words,
    split_args,
)
from rain.client.environments import Env, parted_env
from rain.client.execute import Execute, to_stdout
from rain.client.input import Input, InputBase
from rain.client.output import Output, OutputBase, to_output
from rain.client.retrying import RetryCodes, attempts_of_program
from rain.client.shapes import checked_idempotent, checked_priority
from rain.client.task import Task
from rain.common.errors import RainException


class Program:
    """A template of `Execute` tasks: the labels of its inputs are the parameters of a call.

    A call gets a data object for each label and makes a task in the active session. The other
    arguments are those of `Execute`.

    >>> count = Program(["wc", "-c"], stdin="text", stdout=True)
    >>> session.compute(count(text=blob("rain"))).get_str()
    '4\\n'
    """

    def __init__(
        self,
        args: str | Sequence[Any],
        stdout: bool | str | Output | None = None,
        stdin: str | InputBase | None = None,
        input_paths: Iterable[str | InputBase] = (),
        output_paths: Iterable[str | OutputBase] = (),
        shell: bool | None = None,
        name: str | None = None,
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
        timeout: float | None = None,
        env: Mapping[str, str | None] | Env | None = None,
        cache: Cache = None,
        cache_key: object = None,
        idempotent: bool | None = None,
    ) -> None:
        args = args if isinstance(args, str) else list(args)
        refuse_formatted("Program", args)
        words = split_args("Program", args)
        if shell is None:
            refuse_shell_words("Program", args)
        for word in words:
            if not isinstance(word, str | InputBase | OutputBase):
                raise TypeError(f"args: {word!r} is neither a text nor an Input nor an Output")
        self.args = [_placeholder(word) if isinstance(word, InputBase) else word for word in words]
        self.stdout = to_stdout(stdout)
        self.stdin = None if stdin is None else _placeholder(stdin)
        self.input_paths = [_placeholder(item) for item in input_paths]
        self.output_paths = [to_output(item) for item in output_paths]
        for output in (*self.output_paths, *(w for w in words if isinstance(w, OutputBase))):
            if output.encode is not None:
                raise RainException(f"{output!r}: encode is for remote functions, not for programs")
        self.shell = bool(shell)
        self.name = name
        retry_on = tuple(retry_on) if isinstance(retry_on, Iterable) else retry_on
        attempts_of_program("Program", tries, crash_tries, backoff, timeout, retry_on, memory_tries)
        checked_cache_key("Program", cache_key, checked_cache("Program", cache))
        variables, own_env = parted_env("Program", env)
        self._options: dict[str, Any] = {
            "cpus": cpus,
            "memory": memory,
            "resources": resources,
            "duration": duration,
            "constraints": constraints,
            "tries": tries,
            "crash_tries": crash_tries,
            "memory_tries": memory_tries,
            "backoff": backoff,
            "retry_on": retry_on,
            "priority": checked_priority("Program", priority),
            "timeout": timeout,
            "env": own_env or variables,
            "cache": cache,
            "cache_key": cache_key,
            "idempotent": checked_idempotent("Program", idempotent),
        }

    def __call__(self, name: Any = None, **data: Any) -> Task:
        """The task that runs the program on these data objects.

        `name` is the name of the task, unless an input has this label.
        """
        if "name" in self._labels():
            name, data = None, data if name is None else {**data, "name": name}
        if not isinstance(name, str | None):
            labels = ", ".join(f"{label}=..." for label in sorted(map(str, self._labels())))
            raise RainException(
                f"Program: an argument without a label is the name of the task, not {name!r:.60};"
                f" write program({labels})"
            )

        def filled(item: InputBase) -> InputBase:
            label = item.label
            if label is None or label not in data:
                raise KeyError(f"the input {label!r} of the program is missing")
            return item.bound(label, data[label])

        return Execute(
            [filled(word) if isinstance(word, InputBase) else word for word in self.args],
            self.stdout if isinstance(self.stdout, Output) else None,
            None if self.stdin is None else filled(self.stdin),
            [filled(item) for item in self.input_paths],
            self.output_paths,
            self.shell,
            name=name or self.name,
            **self._options,
        )

    def _labels(self) -> set[str | None]:
        """The labels to which calls give data."""
        items = [*self.args, *self.input_paths, self.stdin]
        return {item.label for item in items if isinstance(item, InputBase)}

    def __repr__(self) -> str:
        return f"<Program {self.name or self.args!r}>"


def _placeholder(item: str | InputBase) -> InputBase:
    """An input that a call fills."""
    if isinstance(item, str):
        return Input(item)
    if item.label is None:
        raise RainException("Program: each Input needs a label")
    if item.dataobj is not None:
        raise RainException(f"Program: {item!r} cannot have a data object before the call")
    if item.load is not None:
        raise RainException(f"Program: {item!r}: load is for remote functions, not for programs")
    return item
