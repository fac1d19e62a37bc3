"""What a script defines is found in its tasks by name, in the version of the caller."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from rain.base import executor_protocol as protocol
from rain.common.by_value import dumps
from rain.common.class_versions import dumps_with_versions
from rain.common.imports import Imports, with_imports
from rain.common.pickles import PICKLE_PROTOCOL
from rain.common.script_main import origin
from tests.executor.child import PLAIN, Child, number


class Script:
    """A script that has run in this process, as long as it is the one."""

    def __init__(self, executor: Child, source: str, program: str = "") -> None:
        self.executor = executor
        self.program = program or origin()
        self.module = ModuleType("__main__")
        self.run(source)

    def run(self, source: str) -> None:
        """A cell of a notebook."""
        sys.modules["__main__"] = self.module
        exec(source, vars(self.module))  # noqa: S102 # as Python runs a script

    def send(self, name: str) -> int:
        """Sends a function, as it is now."""
        sys.modules["__main__"] = self.module
        executor = self.executor
        executor.functions += 1
        imports = Imports(self.program, (), origin=self.program)
        data = with_imports(
            dumps_with_versions(getattr(self.module, name), PICKLE_PROTOCOL), imports
        )
        row = [number(executor.functions), number(PLAIN), "", "", 0, data]
        executor.say(protocol.CALLS, 1, [], [], [row], [], None)
        return number(executor.functions)

    def value(self, function: str | int, *args: Any) -> Any:
        """What a call gives."""
        sys.modules["__main__"] = self.module
        function = self.send(function) if isinstance(function, str) else function
        return self.executor.value(function, *map(_ByValue, args))

    def failure(self, function: str, *args: Any) -> str:
        return self.executor.failure(self.send(function), *map(_ByValue, args))


class _ByValue:
    """Travels as the arguments of clients do, and arrives as the value."""

    def __init__(self, value: Any) -> None:
        self.data = dumps(value, PICKLE_PROTOCOL)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (self.data,)


@pytest.fixture(autouse=True)
def _own_main() -> Iterator[None]:
    own = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = own
    library: Any = cloudpickle
    if "__mp_main__" in library.list_registry_pickle_by_value():
        library.unregister_pickle_by_value(ModuleType("__mp_main__"))


HINTS = """
from __future__ import annotations
import pickle
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, NewType, TypedDict, get_type_hints

Key = NewType("Key", int)

@dataclass
class Leaf:
    x: int

@dataclass
class Node:
    leaf: Leaf
    _: KW_ONLY
    inside: Node | None = None

class Row(NamedTuple):
    leaf: Leaf

class Options(TypedDict):
    node: Node

def join(leaf: Leaf, key: Key) -> list[Node]: ...

def shown(hints):
    return {name: str(hint).partition(" object at")[0] for name, hint in hints.items()}
def of_function(ctx): return shown(get_type_hints(join))
def of_classes(ctx): return [shown(get_type_hints(one)) for one in (Node, Row, Options)]
def of_argument(ctx, value): return shown(get_type_hints(type(value)))
"""

NODE = {
    "leaf": "<class '__main__.Leaf'>",
    "_": "<dataclasses._KW_ONLY_TYPE",
    "inside": "__main__.Node | None",
}


def test_hints_that_are_texts_are_resolved_in_a_task(executor: Child) -> None:
    script = Script(executor, HINTS)
    assert script.value("of_function") == {
        "leaf": "<class '__main__.Leaf'>",
        "key": "__main__.Key",
        "return": "list[__main__.Node]",
    }
    assert script.value("of_classes") == [
        NODE,
        {"leaf": "<class '__main__.Leaf'>"},
        {"node": "<class '__main__.Node'>"},
    ]


def test_hints_of_a_class_that_only_an_argument_brings_are_resolved(executor: Child) -> None:
    script = Script(executor, HINTS)
    node = vars(script.module)["Node"](vars(script.module)["Leaf"](1))
    assert script.value("of_argument", node) == NODE


PICKLES = """
import pickle
from functools import cache

class Point:
    def __init__(self, x): self.x = x

@cache
def double(x): return 2 * x

def dump(ctx, x): return pickle.dumps([Point(x), double])
def load(ctx, data):
    point, function = pickle.loads(data)
    return type(point) is Point, function is double, point.x
def load_without_names(ctx, data): return pickle.loads(data)
def dump_argument(ctx, value): return pickle.dumps(value)
"""


def test_what_a_task_pickles_by_name_is_read_by_tasks_and_by_the_script(executor: Child) -> None:
    script = Script(executor, PICKLES)
    data = script.value("dump", 7)
    assert script.value("load", data) == (True, True, 7)
    point, _ = pickle.loads(data)
    assert type(point) is vars(script.module)["Point"]


def test_a_name_that_the_function_does_not_bring_is_missing_with_advice(executor: Child) -> None:
    script = Script(executor, PICKLES)
    point = vars(script.module)["Point"](7)
    data = script.value("dump_argument", point)  # its class is there as long as the call runs
    said = script.failure("load_without_names", data)
    assert "Can't get attribute 'Point' on <module '__main__'" in said
    assert "name in the function what it" in said


def test_a_name_of_another_program_is_missing(executor: Child) -> None:
    one, other = Script(executor, PICKLES), Script(executor, PICKLES, "another program")
    data = one.value("dump", 7)
    assert "Can't get attribute 'Point'" in other.failure("load_without_names", data)
    sys.modules["__main__"] = one.module
    foreign = _ByValue(vars(one.module)["Point"](1))  # an argument that the first one has pickled
    said = other.failure("dump_argument", foreign)
    assert "Can't pickle <class '__main__.Point'>: attribute lookup Point" in said


def test_what_an_argument_brings_is_there_during_the_call_only(executor: Child) -> None:
    script = Script(
        executor,
        "import sys\n"
        "class Point: pass\n"
        "def has_point(ctx, *values): return hasattr(sys.modules['__main__'], 'Point')\n",
    )
    has_point = script.send("has_point")
    assert script.value(has_point, vars(script.module)["Point"]())
    assert not script.value(has_point)


def test_a_script_in_a_spawned_process_is_found_under_the_name_that_it_has_there(
    executor: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(executor, "")
    script.module.__name__ = "__mp_main__"
    monkeypatch.setitem(sys.modules, "__mp_main__", script.module)
    script.run(PICKLES)
    assert script.value("load", script.value("dump", 7)) == (True, True, 7)


VERSIONED = """
factor = 2
class Shape:
    sides = 3
    def size(self): return factor * self.sides
def size(ctx): return Shape().size(), Shape.sides
def size_of(ctx, shape): return shape.size(), Shape.sides
def make(ctx): return Shape()
"""


def test_each_function_has_the_classes_that_it_was_sent_with(executor: Child) -> None:
    script = Script(executor, VERSIONED)
    before = script.send("size")
    script.run("factor = 10; Shape.sides = 4; Shape.more = 1")
    after = script.send("size")
    said = [script.value(one) for one in (before, after, before, before, after)]
    assert said == [(6, 3), (40, 4), (6, 3), (6, 3), (40, 4)]


def test_an_older_value_does_not_change_the_classes_of_a_function(executor: Child) -> None:
    script = Script(executor, VERSIONED)
    older = _ByValue(vars(script.module)["Shape"]())
    script.run("factor = 10; Shape.sides = 4")
    function = script.send("size_of")
    said = executor.value(function, older)
    assert (said, executor.value(function, older)) == ((40, 4), (40, 4))


def test_a_class_that_was_defined_again_is_found_by_its_name(executor: Child) -> None:
    cell = (
        "import sys\nclass Shape:\n    sides = {}\ndef found(ctx):\n"
        "    named = sys.modules['__main__'].Shape\n    return named is Shape, named.sides\n"
    )
    script = Script(executor, cell.format(3))
    before = script.send("found")
    script.run(cell.format(4))
    after = script.send("found")
    said = [script.value(one) for one in (before, after, before)]
    assert said == [(True, 3), (True, 4), (True, 3)]


REGISTRY = """
class Plugin:
    known = {}
    def __init_subclass__(cls, *, name): Plugin.known[name] = cls
class One(Plugin, name="one"): pass
one = One()
def register(ctx): return {name: cls is One for name, cls in Plugin.known.items()}
def count(ctx):
    Plugin.calls = getattr(Plugin, "calls", 0) + 1
    return Plugin.calls
def give(ctx): return One()
"""


def test_a_registry_of_subclasses_has_the_classes_themselves(executor: Child) -> None:
    script = Script(executor, REGISTRY)
    assert script.value("register") == {"one": True}
    given = script.value("give")
    names = vars(script.module)
    assert type(given) is names["One"]
    assert names["Plugin"].known == {"one": names["One"]}


def test_a_class_keeps_what_tasks_add_to_it_while_it_is_not_changed(executor: Child) -> None:
    script = Script(executor, REGISTRY)
    said = [script.value("count"), script.value("register"), script.value("count")]
    script.run("Plugin.limit = 5")
    assert [*said, script.value("count")] == [1, {"one": True}, 2, 1]


POOLS = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

class Point:
    def __init__(self, x): self.x = x

def moved(point): return Point(point.x + step)
step = 1

def in_pool(ctx, how):
    with multiprocessing.get_context(how).Pool(1) as pool:
        moved_points = pool.map(moved, [Point(1), Point(2)])
    return [type(point) is Point and point.x for point in moved_points]

def in_executor(ctx):
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(moved, Point(1)).result().x

def through_queue(ctx):
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=queue.put, args=(Point(5),))
    process.start()
    point = queue.get()
    process.join()
    return type(point) is Point
"""


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_pools_of_a_task_call_functions_of_the_script(executor: Child, how: str) -> None:
    script = Script(executor, POOLS)
    vars(script.module)["__file__"] = str(Path(__file__).with_name("no such script.py"))
    assert script.value("in_pool", how) == [2, 3]


def test_executors_and_queues_of_a_task_take_what_the_script_defines(executor: Child) -> None:
    script = Script(executor, POOLS)
    assert script.value("in_executor") == 2
    assert script.value("through_queue")


KEPT_POOL = """
import fractions, multiprocessing
def step(x): return x + {}
def use(ctx):
    pool = getattr(fractions, "pool", None)
    if pool is None:
        pool = fractions.pool = multiprocessing.Pool(1)
    return pool.map(step, [1])
"""


def test_a_pool_that_outlives_its_task_gets_the_functions_of_the_next_one(executor: Child) -> None:
    script = Script(executor, KEPT_POOL.format(1))
    before = script.value("use")
    script.run(KEPT_POOL.format(10))
    assert (before, script.value("use")) == ([2], [11])
