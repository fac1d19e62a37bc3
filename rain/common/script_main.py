"""The `__main__` of a task: the classes and functions of its script, by the names that they have.

Functions and classes of a script travel by value. While a task runs, its executor has a module
`__main__` in which they are found under their names, by `typing.get_type_hints`, by `pickle`, and
by whatever else looks there. Each function that was sent has such a module of its own, so nothing
in it is of an earlier or later version of the script, or of another program. What only the
arguments of a call bring is there as long as the call runs.

A class is one object in a process, and a pickle with another version of it changes that object. So
the classes that a function was sent with are made what they were then when the function runs, and
arguments do not change them. A class of the program itself is not changed by the results that it
reads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary, WeakSet

MAIN = "__main__"
CHILDS_MAIN = "__mp_main__"
"""What multiprocessing calls the module of a script in the processes that it spawns."""

MAINS = frozenset({MAIN, CHILDS_MAIN})

ABSENT = object()
"""What stands in the place of something that a reader cannot import."""

Setter: TypeAlias = Callable[[Any, Any], Any]

_OWN_ORIGIN = os.urandom(8).hex()

_read: WeakSet[type] = WeakSet()  # the classes that pickles have made here
_empty: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()  # their first attributes
_versions: WeakKeyDictionary[type, bytes] = WeakKeyDictionary()  # which version a class is now


class ClassContent(NamedTuple):
    """What a pickle brings for a class."""

    setter: Setter
    state: Any
    version: bytes  # none if it is not known

    def put_into(self, cls: type) -> None:
        """Makes the class what it was when it was sent, unless it is that already.

        As long as the version is the same, the class keeps what tasks have added to it.
        """
        if self.version and _versions.get(cls) == self.version:
            return
        for name in vars(cls).keys() - self.state[0].keys() - _empty.get(cls, vars(cls).keys()):
            type.__delattr__(cls, name)
        self.setter(cls, self.state)
        _versions[cls] = self.version


class Main:
    """The `__main__` of one function that was sent."""

    def __init__(self, origin: str) -> None:
        self.origin = origin  # which program the function is of
        self.module = ModuleType(MAIN)
        # With this spec, processes that a task spawns do not run the script again.
        self.module.__spec__ = ModuleSpec(MAIN, None)
        self.is_childs = False  # the script calls itself `__mp_main__`
        self.brought: list[str] = []  # the names that are there only during the call
        self.classes: dict[type, ClassContent] = {}  # as the function was sent with them

    def note_home(self, module: str) -> None:
        """Something of the script says that it is of this module."""
        if module == CHILDS_MAIN and not self.is_childs:
            self.is_childs = True
            sys.modules[CHILDS_MAIN] = self.module

    def define(self, names: dict[str, Any]) -> None:
        """Adds what the function was sent with."""
        vars(self.module).update(names)

    def bring(self, names: dict[str, Any]) -> None:
        """Adds what an argument has brought, unless the function has its own."""
        there = vars(self.module)
        for name, value in names.items():
            if name not in there:
                there[name] = value
                self.brought.append(name)

    def forget_brought(self) -> None:
        """The call has ended."""
        there = vars(self.module)
        for name in self.brought:
            there.pop(name, None)
        self.brought.clear()


_current: Main | None = None  # of the task that runs here
_reader: tuple[int, Main] | None = None  # the thread that reads a function, for this one


def current_main() -> Main | None:
    """That of the function that runs here, or has run here last."""
    return _current


def origin() -> str:
    """The program that runs here, or of which a task runs here."""
    return _OWN_ORIGIN if _current is None else _current.origin


def enter(main: Main) -> None:
    """The function of this one will run."""
    global _current  # noqa: PLW0603 # one for the process, as `sys.modules`
    _current = main
    sys.modules[MAIN] = main.module
    if main.is_childs:
        sys.modules[CHILDS_MAIN] = main.module
    else:
        sys.modules.pop(CHILDS_MAIN, None)
    for cls, content in main.classes.items():
        content.put_into(cls)


@contextmanager
def reading(main: Main) -> Generator[None]:
    """Meanwhile this thread reads the function of this one."""
    global _reader  # noqa: PLW0603 # one for the process, as above
    enter(main)
    _reader = threading.get_ident(), main
    try:
        yield
    finally:
        _reader = None


def tidy() -> None:
    """The call has ended: what its arguments have brought goes."""
    if _current is not None and _current.brought:
        _current.forget_brought()


def is_called(value: FunctionType | type, names: Mapping[str, Any]) -> bool:
    """Whether a script has it under its own name."""
    found: Any = names.get(value.__qualname__.partition(".")[0])
    for part in value.__qualname__.split(".")[1:]:
        found = getattr(found, part, None)
    return found is value


def make_class(identity: str, make: Callable[..., type], arguments: tuple[Any, ...]) -> type:
    """Called by pickles: the class if it is known here, or an empty one.

    What a base of the script does with its subclasses it has done where they were defined.
    """
    library: Any = sys.modules["cloudpickle.cloudpickle"]  # of which `make` is
    known: type | None = library._DYNAMIC_CLASS_TRACKER_BY_ID.get(identity)
    if known is not None:
        return known
    bases = dict.fromkeys(cls for cls in _bases(arguments) if "__init_subclass__" in vars(cls))
    hooks = [(cls, vars(cls)["__init_subclass__"]) for cls in bases if cls in _read]
    for cls, _ in hooks:
        type.__delattr__(cls, "__init_subclass__")
    try:
        made = make(*arguments)
    finally:
        for cls, hook in hooks:
            type.__setattr__(cls, "__init_subclass__", hook)
    _empty[made] = frozenset(vars(made))
    _read.add(made)
    return made


def _bases(arguments: tuple[Any, ...]) -> Iterator[type]:
    """All bases of a class that is to be made."""
    bases: Any
    for bases in arguments:
        for base in bases if isinstance(bases, tuple) else ():
            yield from getattr(base, "__mro__", ())  # pyright: ignore[reportUnknownArgumentType] # classes, and aliases of them


def set_function(function: FunctionType, told: tuple[Setter, Any, bool]) -> None:
    """Called by pickles: fills a function."""
    setter, state, is_named = told
    names: dict[str, Any] = state[1]["__globals__"]
    _drop_absent(names)
    setter(function, state)
    main = _read_for()
    if main is None or function.__module__ not in MAINS:
        return
    main.define({name: value for name, value in names.items() if _names_itself(value)})
    if is_named:
        main.define({function.__qualname__: function})
    file = function.__globals__.get("__file__")
    if file is not None:
        main.define({"__file__": file})
    main.note_home(function.__module__)


def set_class(cls: type, told: tuple[dict[str, Any], Setter, Any, str, bytes]) -> None:
    """Called by pickles: fills a class, or changes it if it is known here."""
    names, setter, state, its_origin, version = told
    if _current is None and cls not in _read:
        return  # it is the program's own
    _drop_absent(names)
    content = ClassContent(setter, state, version)
    main = _read_for()
    if main is not None:
        content.put_into(cls)
        main.classes[cls] = content
        main.define(names)
        main.note_home(cls.__module__)
    elif _current is None:
        content.put_into(cls)
    elif cls not in _current.classes:
        content.put_into(cls)
        if its_origin == _current.origin:
            _current.bring(names)
            _current.note_home(cls.__module__)


def _read_for() -> Main | None:
    """The function that this thread reads is for this one."""
    reader = _reader
    return reader[1] if reader is not None and reader[0] == threading.get_ident() else None


def _names_itself(value: object) -> bool:
    """Whether a script's value says where it is found: a class, a function, a type variable."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return isinstance(name, str) and getattr(value, "__module__", None) in MAINS


def _drop_absent(names: dict[str, Any]) -> None:
    for name in [name for name, value in names.items() if value is ABSENT]:
        del names[name]
