"""Finds a scheduler by its name and creates it with the options of the user.

A name is one of Rain's schedulers, one that an installed package registers in the entry point group
`rain.schedulers`, or `FILE.py:CLASS` for a class in a file of the user's. Options follow the name
as in `blevel?seed=3&spread=true`; they are the keyword arguments of the class, and its annotations
(or defaults) say of which type they are.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rain.base.errors import InvariantError, StartError
from rain.scheduler import shipped
from rain.scheduler.api import Scheduler, SchedulerInterrupted

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "rain.schedulers"
SHIPPED = shipped.SCHEDULERS

Factory = Callable[..., Scheduler]


def entry_points(*, group: str) -> EntryPoints:
    """The entry points of installed packages, searched only for names that are not Rain's."""
    from importlib import metadata  # noqa: PLC0415 # takes a twentieth of a server's start

    return metadata.entry_points(group=group)


def names() -> list[str]:
    """All available names, Rain's own first."""
    return [*SHIPPED, *sorted({point.name for point in entry_points(group=GROUP)} - set(SHIPPED))]


def with_options(name: str, options: Iterable[str]) -> str:
    """Adds options of the form KEY=VALUE to a name."""
    for option in options:
        name += ("&" if "?" in name else "?") + option
    return name


def make_scheduler(name: str) -> Scheduler:
    """Creates a scheduler from a name with options."""
    return maker_of(name)()


def maker_of(name: str) -> Callable[[], Scheduler]:
    """Returns a function that creates schedulers of this name; a file is read only once, now."""
    plain, _, options = name.partition("?")
    factory = _find(plain)
    if not callable(factory):
        raise StartError(f"the scheduler {plain!r} is {factory!r}: name the class, which is called")
    schedule = getattr(factory, "schedule", None)
    if not callable(schedule):
        raise StartError(f"the scheduler {plain!r} has no method schedule(graph, news, plan)")
    if any(found(schedule) for found in _LAZY):
        raise StartError(
            f"the method schedule of the scheduler {plain!r} is a coroutine or a generator, which"
            " would plan nothing: write a plain function"
        )
    _check_signature(plain, factory)
    try:
        with _by_name(f"the scheduler {plain!r} cannot be read"):
            arguments = _read_options(factory, options)
    except ValueError as error:
        raise _refused(plain, error) from error

    def make() -> Scheduler:
        try:
            with _by_name(f"the scheduler {plain!r} cannot be made"):
                return factory(**arguments)
        except ValueError as error:
            raise _refused(plain, error) from error

    return make


def _check_signature(name: str, factory: Factory) -> None:
    """Refuses a method of a class that cannot be called as schedulers are."""
    method = inspect.getattr_static(factory, "schedule")
    if not inspect.isclass(factory) or not inspect.isfunction(method):
        return
    signature = inspect.signature(method)
    try:
        signature.bind(None, None, None, None)
    except TypeError:
        raise StartError(
            f"the method schedule{signature} of the scheduler {name!r} has to take"
            " (self, graph, news, plan)"
        ) from None


_LAZY = (
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
)


@contextmanager
def _by_name(what: str) -> Generator[None]:
    """Converts errors of plugin code to `StartError`; a `ValueError` is about its options."""
    try:
        yield
    except (KeyboardInterrupt, InvariantError, SchedulerInterrupted, StartError, ValueError):
        raise
    except BaseException as error:
        said = traceback.format_exception_only(error)[-1].strip()
        place = traceback.extract_tb(error.__traceback__)[-1]
        file, line = place.filename, place.lineno
        if isinstance(error, SyntaxError):
            file, line = error.filename or file, error.lineno
        raise StartError(f"{what}: it raised {said} ({file}, line {line})") from error


def _refused(name: str, error: ValueError) -> StartError:
    return StartError(f"the scheduler {name!r}: {error}")


def _find(name: str) -> Factory:
    if name in SHIPPED:
        return SHIPPED[name]
    return _from_file(name) if ".py:" in name else _from_package(name)


def _from_package(name: str) -> Factory:
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found and name.endswith(".py"):
        raise StartError(f"the scheduler {name!r} is a file: add its class, as in {name}:CLASS")
    if not found:
        raise StartError(
            f"there is no scheduler {name!r}; known: {', '.join(names())},"
            " and FILE.py:CLASS names one of your own"
        )
    try:
        with _by_name(f"the scheduler {name!r} cannot be loaded"):
            loaded: Factory = found[0].load()
    except ValueError as error:
        raise StartError(f"the scheduler {name!r} cannot be loaded: {error}") from error
    return loaded


def _from_file(name: str) -> Factory:
    file, _, attribute = name.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise StartError(f"the scheduler file {file} does not exist")
    module_name = f"rain_scheduler_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise StartError(f"the scheduler file {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # attrs and dataclasses resolve annotations there
    try:
        with _by_name(f"the scheduler file {file} cannot be loaded"):
            spec.loader.exec_module(module)
    except ValueError as error:
        raise StartError(f"the scheduler file {file} cannot be loaded: {error}") from error
    found: Factory | None = getattr(module, attribute, None)
    if found is None:
        raise StartError(f"the scheduler file {file} has no class {attribute!r}")
    return found


def _read_options(factory: Factory, given: str) -> dict[str, object]:
    """Parses `a=1&b=x` to keyword arguments."""
    known = _parameters(factory)
    read: dict[str, object] = {}
    for option in given.split("&") if given else ():
        key, equals, value = option.partition("=")
        if not equals:
            raise ValueError(f"the option {option!r} is not KEY=VALUE")
        if key not in known:
            there = f"it knows {', '.join(known)}" if known else "it has none"
            raise ValueError(f"there is no option {key!r}; {there}")
        kind = known[key]
        try:
            read[key] = kind(value)
        except ValueError:
            raise ValueError(f"the option {key} must be {_KINDS[kind]}, not {value!r}") from None
    missing = [name for name in _needed(factory) if name not in read]
    if missing:
        raise ValueError(f"it needs the option {missing[0]}: --scheduler-option {missing[0]}=VALUE")
    return read


def _needed(factory: Factory) -> list[str]:
    """The parameters without a default."""
    return [
        parameter.name
        for parameter in inspect.signature(factory).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    ]


def _parameters(factory: Factory) -> Mapping[str, Callable[[str], object]]:
    """The keyword parameters and how their texts are parsed."""
    # A class without its own constructor has the signature of `object`.
    signature = inspect.signature(factory, eval_str=True)
    return {
        parameter.name: _reader(parameter)
        for parameter in signature.parameters.values()
        if parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    }


def _reader(parameter: inspect.Parameter) -> Callable[[str], object]:
    kind: Any = parameter.annotation
    if kind is parameter.empty:
        kind = str if parameter.default in {None, parameter.empty} else type(parameter.default)
    readers: dict[Any, Callable[[str], object]] = {bool: _truth, int: int, float: float}
    return readers.get(kind, str)


def _truth(text: str) -> bool:
    """Parses true or false."""
    found = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in found:
        raise ValueError(text)
    return found[text.lower()]


_KINDS: dict[Callable[[str], object], str] = {
    _truth: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
