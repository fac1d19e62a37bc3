import fnmatch
import inspect
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import cloudpickle
import numpy as np
import pytest

import rain
from rain.common import by_value, code
from rain.common.by_value import dumps
from rain.common.code import HERE, OtherPythonError
from rain.common.content_type import decode_value, encode_value
from rain.common.importable import is_imported
from rain.common.pickles import PICKLE_PROTOCOL

_SOURCE = """
def outer(x):
    def inner():
        return 1 / x
    return inner()
"""


def function_of(file: Path) -> Callable[..., Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(_SOURCE, str(file), "exec"), names)  # noqa: S102 # as Python runs a script
    function: Callable[..., Any] = names["outer"]
    return function


def test_a_function_that_travels_shows_its_file_and_lines_in_tracebacks(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SOURCE)
    travelled = decode_value(encode_value(function_of(script), "pickle"), "pickle")
    with pytest.raises(ZeroDivisionError) as raised:
        travelled(0)
    shown = "".join(traceback.format_exception(raised.value))
    assert f'File "{script}", line 5, in outer\n    return inner()' in shown
    assert f'File "{script}", line 4, in inner\n    return 1 / x' in shown


def test_equal_functions_make_equal_pickles() -> None:
    file = Path("script.py")
    one, other = function_of(file), function_of(file)
    assert dumps(one, PICKLE_PROTOCOL) == dumps(other, PICKLE_PROTOCOL)


def script(source: str) -> dict[str, Any]:
    """The names of a script that has run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(source, names)  # noqa: S102 # as Python runs a script
    return names


def travelled(value: Any) -> Any:
    """As another process reads it, which knows none of the classes."""
    data = encode_value(value, "pickle")
    with pytest.MonkeyPatch.context() as elsewhere:
        library: Any = cloudpickle.cloudpickle
        by_name: Any = WeakValueDictionary()
        by_class: Any = WeakKeyDictionary()
        elsewhere.setattr(library, "_DYNAMIC_CLASS_TRACKER_BY_ID", by_name)
        elsewhere.setattr(library, "_DYNAMIC_CLASS_TRACKER_BY_CLASS", by_class)
        return decode_value(data, "pickle")


def test_a_class_of_this_process_is_not_changed_by_its_instances_that_come_back() -> None:
    names = script(
        "class Base:\n"
        "    known = []\n"
        "    def __init_subclass__(cls, *, name): Base.known.append(name)\n"
        "class Counter(Base, name='counter'):\n"
        "    count = 0\n"
        "    def step(self): pass\n"
    )
    counter, known = names["Counter"], names["Base"].known
    step = counter.step
    data = encode_value(counter(), "pickle")
    counter.count = 5
    assert type(decode_value(data, "pickle")) is counter
    assert (counter.count, counter.step, names["Base"].known) == (5, step, known)
    assert known == ["counter"]


@pytest.mark.parametrize("definition", ["NewType('K', int)", "ParamSpec('K')", "TypeVarTuple('K')"])
def test_what_typing_makes_for_a_script_travels(definition: str) -> None:
    names = script(f"from typing import *\nK = {definition}\ndef use(): return K")
    kind = travelled(names["use"])()
    assert (type(kind), kind.__name__) == (type(names["K"]), "K")


def test_a_function_with_a_cache_travels_with_its_code_and_an_empty_cache() -> None:
    names = script(
        "from functools import lru_cache\n"
        "@lru_cache(maxsize=100, typed=True)\n"
        "def fib(n):\n"
        '    "Of Pisa."\n'
        "    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
    )
    names["fib"](5)
    fib = travelled(names["fib"])
    assert fib.cache_info().currsize == 0
    assert fib(50) == 12586269025
    assert fib.cache_info().currsize == 51  # its calls of itself use the same cache
    assert fib.cache_parameters() == {"maxsize": 100, "typed": True}
    assert fib.__doc__ == "Of Pisa."


def test_a_function_that_calls_one_with_a_cache_travels() -> None:
    names = script(
        "from functools import cache\n"
        "@cache\n"
        "def model(): return [1]\n"
        "def use(): return model() is model()\n"
    )
    assert travelled(names["use"])()


def test_a_partial_call_with_a_cache_travels() -> None:
    assert travelled(lru_cache(partial(pow, 2)))(5) == 32


def test_a_function_with_a_cache_of_a_module_stays_in_its_module() -> None:
    assert travelled(fnmatch._compile_pattern) is fnmatch._compile_pattern  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # a cache of the standard library's own


def test_a_class_with_cached_properties_and_methods_with_a_cache_travels() -> None:
    names = script(
        "from functools import cached_property, lru_cache\n"
        "class Service:\n"
        "    count = 0\n"
        "    @cached_property\n"
        "    def slow(self):\n"
        '        "Takes long."\n'
        "        self.count += 1\n"
        "        return self.count\n"
        "    @lru_cache\n"
        "    def add(self, n): return n + 1\n"
    )
    service: Any = travelled(names["Service"]())
    assert (service.slow, service.slow, service.add(1)) == (1, 1, 2)
    assert inspect.getdoc(service.__class__.slow) == "Takes long."


def test_fields_of_a_dataclass_that_travels_still_know_that_they_have_no_default() -> None:
    names = script(
        "from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\n    y: int = 1\n"
    )
    point: Any = travelled(names["Point"](2))
    x, y = fields(point)
    assert (x.default, x.default_factory, y.default_factory) == (MISSING, MISSING, MISSING)
    assert y.default == 1


def test_a_single_dispatch_function_travels_with_all_its_implementations() -> None:
    names = script(
        "from functools import singledispatch\n"
        "class Circle: pass\n"
        "@singledispatch\n"
        "def show(value):\n"
        '    "Shows it."\n'
        "    return 'something'\n"
        "@show.register\n"
        "def _(value: int): return 'a number'\n"
        "@show.register(list)\n"
        "def _(value): return [show(one) for one in value]\n"
        "@show.register\n"
        "def _(value: Circle): return 'a circle'\n"
        "def call(*values): return show([*values, Circle()])\n"
    )
    names["show"]("fills its cache")
    call, show = travelled((names["call"], names["show"]))
    assert call(1, "", [2]) == ["a number", "something", ["a number"], "a circle"]
    assert show.__doc__ == "Shows it."
    show.register(str, len)
    assert (show("four"), names["show"]("four")) == (4, "something")


def test_a_class_that_an_annotation_names_is_whole_before_the_content_that_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    source = (
        "from __future__ import annotations\n"
        "class Checker:\n"
        "    def __init__(self, schema): self.kind = schema['kind']\n"
        "    def __reduce__(self): return Checker, (self.schema,)\n"
        "class Inner: pass\n"
        "Inner.a_schema = {'class': Inner, 'kind': 'inner'}\n"
        "Inner.checker = Checker(Inner.a_schema)\n"
        "Inner.checker.schema = Inner.a_schema\n"
        "class Outer:\n"
        "    inner: Inner\n"
        "    a_schema = {'field': Inner.a_schema}\n"
    )
    exec(source, vars(module))  # noqa: S102 # as Python runs a script
    outer = travelled(module.Outer)
    assert outer.a_schema["field"]["class"].checker.kind == "inner"


def test_a_named_tuple_of_a_script_travels() -> None:
    names = script("from typing import NamedTuple\nclass Row(NamedTuple):\n    x: int = 1\n")
    row = travelled(names["Row"](2))
    assert (row, row._fields) == ((2,), ("x",))


def test_a_single_dispatch_method_travels() -> None:
    names = script(
        "from functools import singledispatchmethod\n"
        "class Printer:\n"
        "    @singledispatchmethod\n"
        "    def show(self, value): return 'something'\n"
        "    @show.register\n"
        "    def _(self, value: int): return 'a number'\n"
    )
    printer = travelled(names["Printer"]())
    assert (printer.show(1), printer.show("")) == ("a number", "something")


_TWICE = """
from contextlib import contextmanager

seen = []

@contextmanager
def noting(name):
    seen.append(name)
    yield

@noting("in")
def double(number):
    return 2 * number, list(seen)
"""


def test_a_function_that_a_context_manager_decorates_travels() -> None:
    double = travelled(script(_TWICE)["double"])
    assert [double(1), double(2)] == [(2, ["in"]), (4, ["in", "in"])]


def test_a_context_manager_that_was_entered_stays_where_it_is() -> None:
    manager = script(_TWICE)["noting"]("in")
    with manager, pytest.raises(AttributeError, match="func"):
        dumps(manager, PICKLE_PROTOCOL)


def test_a_complete_model_travels_without_the_names_around_it() -> None:
    # As pydantic makes a model: the tests do not need the library.
    names = script(
        "from threading import Lock\n"
        "class Model:\n"
        "    __pydantic_complete__ = True\n"
        "    __pydantic_parent_namespace__ = {'lock': Lock()}\n"
    )
    assert travelled(names["Model"]).__pydantic_parent_namespace__ is None
    names["Model"].__pydantic_complete__ = False
    with pytest.raises(TypeError, match="lock"):
        travelled(names["Model"])


def test_a_function_of_validate_call_is_refused_by_name() -> None:
    made: dict[str, Any] = {"__name__": "pydantic._internal._validate_call"}
    exec("def wrapper(x): return x", made)  # noqa: S102 # as pydantic makes it
    wrapper = made["wrapper"]
    wrapper.__module__, wrapper.__qualname__ = "__main__", "area"
    with pytest.raises(TypeError, match="cannot pickle 'area', which validate_call of pydantic"):
        dumps(wrapper, PICKLE_PROTOCOL)


@pytest.fixture
def childs_main(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of a script in a process that multiprocessing has spawned."""
    module = ModuleType("__mp_main__")
    with monkeypatch.context() as spawned:
        spawned.setitem(sys.modules, "__mp_main__", module)
        yield module
    library: Any = cloudpickle
    if "__mp_main__" in library.list_registry_pickle_by_value():
        library.unregister_pickle_by_value(module)


def test_what_a_script_defines_travels_from_a_process_that_multiprocessing_has_spawned(
    childs_main: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    exec("class Point: pass\ndef f(x): return x + 1", vars(childs_main))  # noqa: S102 # as Python runs a script
    function, point = childs_main.f, childs_main.Point()
    assert not is_imported(function)
    pickles = encode_value(function, "pickle"), encode_value(point, "pickle")
    monkeypatch.delitem(sys.modules, "__mp_main__")
    assert decode_value(pickles[0], "pickle")(1) == 2
    assert type(decode_value(pickles[1], "pickle")).__name__ == "Point"


def test_code_of_another_release_of_python_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(by_value, "HERE", "3.99")
        travels = dumps(function_of(Path("script.py")), PICKLE_PROTOCOL)
    with pytest.raises(
        OtherPythonError,
        match=rf"in script\.py was pickled with its code by Python 3\.99, and Python {HERE}",
    ):
        decode_value(travels, "pickle")


def test_what_can_be_imported_is_served_to_every_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_value, "HERE", "3.99")
    value = {"function": Path.exists, "data": [1, 2.0, "three"]}
    assert decode_value(dumps(value, PICKLE_PROTOCOL), "pickle") == value


def other_pythons() -> Iterator[str]:
    """Interpreters of this machine that are of another release."""
    own = Path(sys.base_prefix)
    places = [*own.parent.glob("*/bin"), *map(Path, ("/usr/bin", "/usr/local/bin"))]
    for release in ("3.11", "3.12", "3.13", "3.14"):
        for place in places:
            if release != code.HERE and (place / f"python{release}").exists():
                yield str(place / f"python{release}")


_PICKLES = """
import sys
from rain.common.by_value import dumps
sys.stdout.buffer.write(dumps(lambda number: number + 1, 5))
"""


@pytest.mark.parametrize("python", sorted(other_pythons()))
def test_functions_that_another_python_has_really_pickled_are_refused(python: str) -> None:
    root, packages = Path(rain.__file__).parent.parent, Path(cloudpickle.__file__).parent.parent
    environment = {"PYTHONPATH": f"{root}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"}
    told = subprocess.run(
        [python, "-c", _PICKLES], capture_output=True, check=True, env=environment
    )
    with pytest.raises(OtherPythonError, match="<lambda> in <string> was pickled with its code by"):
        decode_value(told.stdout, "pickle")


_CLASSES = """
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

class Point:
    __slots__ = ("x", "__weakref__", "_Point__hidden")

    def __init__(self, x):
        self.x = x

class Named(Point):
    __slots__ = "name"

    def __init__(self, x, name):
        super().__init__(x)
        self.name = name

class Empty(Point):
    __slots__ = ()

class Box(Generic[TypeVar("T")]):
    __slots__ = {"x": "what is inside"}

    def __init__(self, x):
        self.x = x

class Pair(NamedTuple):
    x: int

@dataclass(slots=True)
class Slotted:
    x: int

@dataclass(slots=True, frozen=True, weakref_slot=True)
class Frozen:
    x: int
"""

_THROUGH = """
import sys
from rain.common.content_type import decode_value, encode_value

values = decode_value(sys.stdin.buffer.read(), "pickle")
sys.stdout.buffer.write(encode_value(values, "pickle"))
"""


def test_objects_with_slots_come_back_from_another_process() -> None:
    names = script(_CLASSES)
    kinds = [names[name] for name in ("Point", "Empty", "Box", "Pair", "Slotted", "Frozen")]
    values = [names["Named"](1, "one"), *(kind(1) for kind in kinds)]
    there = subprocess.run(
        [sys.executable, "-c", _THROUGH],
        input=encode_value(values, "pickle"),
        capture_output=True,
        check=True,
    )
    back: list[Any] = decode_value(there.stdout, "pickle")
    assert [(type(value), value.x) for value in back] == [(type(value), 1) for value in values]
    assert back[0].name == "one"


@pytest.mark.parametrize("name", ["random", "gauss", "rand", "normal"])
def test_functions_of_the_generator_of_a_module_bring_no_copy_of_it(name: str) -> None:
    own: Any = getattr(random if hasattr(random, name) else np.random, name)
    back: Any = decode_value(encode_value(lambda: own, "pickle"), "pickle")()
    assert back.__self__ is own.__self__


def test_a_function_of_another_generator_brings_it_as_it_is() -> None:
    own = random.Random(3)
    back: Any = decode_value(encode_value(own.random, "pickle"), "pickle")
    assert back.__self__ is not own
    assert back() == own.random()
