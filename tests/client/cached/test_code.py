"""What counts as a change of a function."""

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import singledispatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rain.client.cached.values import value_digest

Made = Callable[[str], dict[str, Any]]


def made(source: str) -> dict[str, Any]:
    """The names that a script defines, as in a cell of a notebook."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(textwrap.dedent(source), names)  # noqa: S102 # it is what a notebook does
    return names


def digest(source: str, name: str = "f") -> str:
    return value_digest(made(source)[name])


BEFORE = """
    FACTOR = 2
    def helper(x, by=1):
        return x + by
    class Model:
        rate = 1
        def step(self):
            return helper(self.rate)
    def f(x, start=0):
        def inner():
            return [helper(x) * FACTOR, Model().step()]
        return inner()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2", "FACTOR = 3"),
        ("FACTOR = 2", "FACTOR = 2.0"),
        ("x + by", "x - by"),
        ("by=1", "by=2"),
        ("rate = 1", "rate = 2"),
        ("helper(self.rate)", "helper(-self.rate)"),
        ("start=0", "start=1"),
        ("helper(x) * FACTOR", "FACTOR * helper(x)"),
        ("return inner()", "return inner"),
        ("class Model:", "class Model(dict):"),
    ],
)
def test_a_change_of_what_a_function_does_is_noticed(old: str, new: str) -> None:
    assert digest(BEFORE) != digest(BEFORE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return inner()", "# a comment\n\n        return inner()"),
        ("FACTOR = 2", "FACTOR = 1 + 1\n    UNUSED = 3\n    def unused(): pass"),
    ],
)
def test_what_a_function_does_not_use_does_not_count(old: str, new: str) -> None:
    assert digest(BEFORE) == digest(BEFORE.replace(old, new))


def test_a_class_that_only_an_annotation_names_counts() -> None:
    source = "class C:\n    n: 'int'\ndef f(x: 'C') -> 'Undefined': pass"
    assert digest(source) != digest(source.replace("'int'", "'str'"))


def test_a_closure_counts_by_what_it_holds() -> None:
    source = "def make(n):\n    return lambda x: x + n\nf, g, h = make(1), make(1), make(2)"
    names = made(source)
    assert value_digest(names["f"]) == value_digest(names["g"]) != value_digest(names["h"])


def test_a_function_that_calls_itself_has_a_digest() -> None:
    source = "def f(n): return g(n - 1) if n else {}\ndef g(n): return f(n)"
    assert digest(source.format(0)) == digest(source.format(0))
    assert digest(source.format(0)) != digest(source.format(1))


def test_a_decorated_function_counts_by_its_own_code() -> None:
    source = """
        import functools
        @functools.lru_cache
        def f(x): return {}
        @functools.wraps(len)
        def g(x): return f(x)
    """
    for name in ("f", "g"):
        assert digest(source.format(1), name) != digest(source.format(2), name)


def test_a_single_dispatch_function_counts_by_what_is_registered_and_not_by_its_calls() -> None:
    show = singledispatch(repr)
    show.register(int, hex)
    before = value_digest(show)
    show(1)
    assert value_digest(show) == before
    show.register(int, bin)
    assert value_digest(show) != before


def test_a_global_list_counts_by_what_is_in_it_at_the_moment() -> None:
    names = made("words = ['a']\ndef f(): return words")
    before = value_digest(names["f"])
    names["words"].append("b")
    assert value_digest(names["f"]) != before


def test_an_installed_function_counts_by_its_name() -> None:
    names = made("import numpy as np\ndef f(): return np.arange(3)\ndef g(): return np.ones(3)")
    assert value_digest(names["f"]) != value_digest(names["g"])
    assert value_digest(names["np"].mean) == value_digest(names["np"].mean)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Writes a module beside the script, and imports it anew."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written: list[str] = []

    def write(name: str, source: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(source)
        written.append(name)
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    for name in written:
        sys.modules.pop(name, None)


def test_a_function_of_a_module_of_ones_own_counts_by_its_code(
    module: Callable[..., ModuleType],
) -> None:
    source = "def f(x): return x + 1\ndef other(): return {}\n"
    one = value_digest(module("mine", source.format(1)).f)
    assert value_digest(module("mine", source.format(2)).f) == one
    assert value_digest(module("mine", source.replace("+", "-").format(1)).f) != one


def test_a_module_that_is_named_counts_by_its_file_and_those_that_it_imports(
    module: Callable[..., ModuleType],
) -> None:
    def told() -> str:
        names = made("import mine\ndef f(x): return mine.g(x)")
        return value_digest(names["f"])

    module("deeper", "def h(x): return x + 1\n")
    module("mine", "import deeper\ndef g(x): return deeper.h(x)\n")
    before = told()
    module("deeper", "def h(x): return x + 2\n")
    module("mine", "import deeper\ndef g(x): return deeper.h(x)\n")
    changed = told()
    assert changed != before
    module("mine", "import deeper\ndef g(x): return -deeper.h(x)\n")
    assert told() not in (before, changed)


def test_a_module_that_is_imported_inside_of_a_function_counts_by_its_file(
    module: Callable[..., ModuleType],
) -> None:
    source = "def f(x):\n    import late\n    return late.g(x)"
    module("late", "def g(x): return x\n")
    del sys.modules["late"]
    before = digest(source)
    module("late", "def g(x): return -x\n")
    del sys.modules["late"]
    assert digest(source) != before
