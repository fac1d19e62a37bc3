"""Where a task was created, as its error names it."""

import linecache
import sys
import sysconfig
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rain.client.explaining import stack
from rain.client.explaining.sources import with_sources


def stack_of(source: str, file_name: str) -> str:
    names: dict[str, Any] = {"here": stack.here}
    exec(compile(source, file_name, "exec"), names)  # noqa: S102 # as IPython runs a cell
    return stack.as_text(names["made"])


@pytest.fixture
def ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(file_name: str) -> tuple[str, str] | None:
        return ("Cell", "In[3]") if file_name == "/tmp/ipykernel_1/2.py" else None

    made: Any = ModuleType("IPython")
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=named))
    made.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", made)


@pytest.mark.usefixtures("ipython")
def test_the_line_of_a_notebook_is_named_by_its_cell() -> None:
    source = "def f():\n    return here()\nmade = f()\n"

    in_a_cell = stack_of(source, "/tmp/ipykernel_1/2.py")
    assert in_a_cell == "  Cell In[3], line 3, in <module>\n  Cell In[3], line 2, in f"
    assert 'File "script.py", line 2, in f' in stack_of(source, "script.py")


def test_only_the_user_s_own_lines_are_shown_where_there_are_any() -> None:
    asyncio_like = "def run(made):\n    made()\n"
    library: dict[str, Any] = {}
    exec(compile(asyncio_like, f"{sysconfig.get_path('stdlib')}/loop.py", "exec"), library)  # noqa: S102 # as its own file
    made: list[stack.Stack] = []

    def submit() -> None:
        made.append(stack.here())
        made.append(stack.outside_libraries())

    library["run"](submit)
    shown = stack.as_text(made[0])
    assert "loop.py" not in shown
    assert "in submit" in shown

    names: dict[str, Any] = {"outside": stack.outside_libraries}
    theirs = f"{sysconfig.get_path('purelib')}/theirs.py"
    exec(compile("made = outside()", theirs, "exec"), names)  # noqa: S102 # as above
    assert "theirs.py" not in stack.as_text(names["made"])
    assert "test_only_the_user" in stack.as_text(names["made"])


@pytest.mark.usefixtures("ipython")
def test_lines_that_a_governor_could_not_read_are_put_in_here() -> None:
    cell = "/tmp/ipykernel_1/2.py"
    linecache.cache[cell] = 20, None, ["def f(x):\n", "    return 1 / x\n"], cell
    told = (
        "Traceback (most recent call last):\n"
        f'  File "{cell}", line 2, in f\n'
        '  File "/no/such/file.py", line 7, in g\n'
        f'  File "{__file__}", line 1, in h\n'
        "    already here\n"
        "ZeroDivisionError: division by zero\n"
    )
    assert with_sources(told) == (
        "Traceback (most recent call last):\n"
        "  Cell In[3], line 2, in f\n"
        "    return 1 / x\n"
        '  File "/no/such/file.py", line 7, in g\n'
        f'  File "{__file__}", line 1, in h\n'
        "    already here\n"
        "ZeroDivisionError: division by zero\n"
    )
