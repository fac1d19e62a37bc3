"""A function is told anew when anything that it captures has changed, and else only once."""

import functools
import gc
import importlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rain.client import Session, Task, remote
from rain.client.staging import bytes_of
from tests.client.fake import World


def notebook(**names: Any) -> ModuleType:
    """Where the functions of one notebook are defined."""
    made = ModuleType("__main__")
    vars(made).update(names, remote=remote)
    return made


def run(module: ModuleType, cell: str) -> None:
    exec(cell, vars(module))  # noqa: S102 # what a notebook does


def value(task: Task, *args: Any) -> Any:
    """What the function gives as the task was told it."""
    return pickle.loads(bytes_of(task.inputs[0].constant or b""))(None, *args)


MAKE = """
def make(n):
    def get():
        return n
    def put(m):
        nonlocal n
        n = m
    return get, put
get, put = make(1)
"""

CHANGES = [
    ("def helper(x): return x", "def helper(x): return x + 1", "helper(1)"),
    ("N = 1", "N = 2", "N"),
    ("A = [1]", "A.append(1)", "len(A)"),
    ("A = {'n': [1]}", "A['n'].append(1)", "len(A['n'])"),
    ("A = (0, [1])", "A[1].append(1)", "len(A[1])"),
    ("class C: n = 1", "C.n = 2", "C.n"),
    ("class C: n = 1", "class C: n = 2", "C().n"),
    ("class C: pass", "C.n = 2", "getattr(C, 'n', 1)"),
    ("class B: n = 1\nclass C(B): pass", "B.n = 2", "C.n"),
    ("class C:\n def n(self): return N\nN = 1", "N = 2", "C().n()"),
    ("class C:\n @staticmethod\n def n(): return N\nN = 1", "N = 2", "C.n()"),
    ("class C:\n @property\n def n(self): return N\nN = 1", "N = 2", "C().n"),
    ("class C: pass\nc = C(); c.n = 1", "c.n = 2", "c.n"),
    ("def inner(): return N\ndef helper(): return inner()\nN = 1", "N = 2", "helper()"),
    ("def helper(): return (lambda: N)()\nN = 1", "N = 2", "helper()"),
    ("h = None", "def h(): return 2", "h() if h else 1"),
    (MAKE, "put(2)", "get()"),
    ("@remote()\ndef r(ctx): return N\nN = 1", "N = 2", "r.fn(None)"),
    ("A = [1]\ndef helper(a=A): return len(a)", "A.append(2)", "helper()"),
    ("A = [1]\nfrom functools import partial\np = partial(len, A)", "A.append(1)", "p()"),
    ("from functools import cache\n@cache\ndef h(): return N\nN = 1", "N = 2", "h()"),
    (
        "import functools as f\nclass C:\n @f.cached_property\n def n(self): return N\nN = 1",
        "N = 2",
        "C().n",
    ),
    ("A = [1]\ncount = A.__len__", "A.append(1)", "count()"),
    ("class C: n = 1\ndef h(x: 'C | None'): pass", "class C: n = 2", "h"),
    ("class C: n = 1\ndef h(x: 'C | None'): pass", "C.n = 2", "h"),
]


@pytest.mark.parametrize(("before", "change", "expression"), CHANGES)
def test_what_has_changed_is_told(
    session: Session, before: str, change: str, expression: str
) -> None:
    cells = notebook()
    run(cells, before)
    run(cells, f"@remote()\ndef f(ctx): return {expression}")

    first, again = cells.f(), cells.f()
    run(cells, change)
    changed, after = cells.f(), cells.f()

    assert first.inputs[0] is again.inputs[0]
    assert changed.inputs[0] is not first.inputs[0]
    assert changed.inputs[0] is after.inputs[0]


def test_the_answer_is_that_of_the_moment_of_the_call(session: Session) -> None:
    cells = notebook()
    run(cells, "N = 1\nA = [1]\n@remote()\ndef f(ctx, x): return x + N + len(A)")

    first = cells.f(1)
    run(cells, "N = 2")
    second = cells.f(1)
    run(cells, "A.append(1)")
    third = cells.f(1)

    assert [value(task, 1) for task in (first, second, third)] == [3, 4, 5]


def test_what_is_assigned_anew_without_a_change_costs_no_more_than_the_first_time(
    session: Session,
) -> None:
    cells = notebook()
    run(cells, "N = 1\n@remote()\ndef f(ctx): return N + len('x') + undefined")
    first = cells.f()
    run(cells, "N = 1\nother = 5")
    assert cells.f().inputs[0] is first.inputs[0]


def test_a_class_that_only_annotations_of_a_class_name_is_told_when_it_is_another_one(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = notebook()
    monkeypatch.setitem(sys.modules, "__main__", cells)
    run(cells, "class C: n = 1\nclass D:\n c: 'C'\n@remote()\ndef f(ctx): return D")
    first, again = cells.f(), cells.f()
    run(cells, "class C: n = 2")
    assert first.inputs[0] is again.inputs[0]
    assert cells.f().inputs[0] is not first.inputs[0]


def test_a_function_with_a_cache_is_not_sent_for_each_call(session: Session) -> None:
    cells = notebook()
    run(cells, "from functools import cache\n@cache\ndef h(): return 1")
    run(cells, "@remote()\ndef f(ctx): return h()")
    first = cells.f()
    assert cells.h() == 1  # it is in the cache of this process now
    assert cells.f().inputs[0] is first.inputs[0]


def test_a_large_value_is_looked_at_with_the_first_call_after_a_submit(here: World) -> None:
    table = np.zeros(100_000)

    @remote()
    def f(ctx: Any) -> float:
        return float(table.sum())

    with here.session as session:
        first = f()
        session.submit()
        second = f()
        table[0] = 1
        session.submit()
        third = f()

        assert second.inputs[0] is first.inputs[0]
        assert third.inputs[0] is not first.inputs[0]
        assert value(third) == 1.0


def test_a_version_that_nobody_uses_is_let_go(here: World) -> None:
    cells = notebook()
    run(cells, "N = 1\n@remote()\ndef f(ctx): return N")
    with here.session as session:
        first = cells.f()
        session.submit()
        told = first.inputs[0].packed_id
        run(cells, "N = 2")
        second = cells.f()
        del first
        gc.collect()
        session.submit()
        here.client.housekeeper.flush()
        assert any(told in ids for ids in here.server.unkept)
        assert second.inputs[0].is_kept()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Writes a module beside the script, and imports it."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "beside", raising=False)

    def written(text: str) -> Any:
        (tmp_path / "beside.py").write_text(text)
        importlib.invalidate_caches()
        known = sys.modules.get("beside")
        return importlib.import_module("beside") if known is None else importlib.reload(known)

    return written


def test_a_module_that_was_loaded_again_is_another_one(
    session: Session, module: Callable[[str], Any]
) -> None:
    beside = module("def g(): return 1")
    cells = notebook(beside=beside)
    run(cells, "from functools import *\n@remote()\ndef f(ctx): return beside.g()")

    first, again = cells.f(), cells.f()
    module("def g(): return 1 + 1")
    changed = cells.f()

    assert first.inputs[0] is again.inputs[0]
    assert changed.inputs[0] is not first.inputs[0]
    assert first.inputs[0].constant != changed.inputs[0].constant


def test_a_function_with_other_code_is_another_one(session: Session) -> None:
    cells = notebook()
    run(cells, "def g(): return 1\ndef h(): return 2\n@remote()\ndef f(ctx): return g()")
    first = cells.f()
    run(cells, "g.__code__ = h.__code__")
    assert value(cells.f()) == 2
    assert value(first) == 1


def test_a_wrapped_function_is_looked_into(session: Session) -> None:
    cells = notebook(functools=functools)
    run(
        cells,
        "N = 1\n"
        "def twice(g):\n"
        " @functools.wraps(g)\n"
        " def wrapper(*args): return 2 * g(*args)\n"
        " return wrapper\n"
        "@remote()\n@twice\ndef f(ctx): return N",
    )
    first = cells.f()
    run(cells, "N = 2")
    assert (value(first), value(cells.f())) == (2, 4)
