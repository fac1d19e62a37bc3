"""Where a task was created, as its error names it."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rain.client import stack


def stack_of(source: str, file_name: str) -> str:
    names: dict[str, Any] = {"here": stack.here}
    exec(compile(source, file_name, "exec"), names)  # noqa: S102 # as IPython runs a cell
    return stack.as_text(names["made"])


def test_the_line_of_a_notebook_is_named_by_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(file_name: str) -> tuple[str, str] | None:
        return ("Cell", "In[3]") if file_name == "/tmp/ipykernel_1/2.py" else None

    ipython: Any = ModuleType("IPython")
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=named))
    ipython.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    source = "def f():\n    return here()\nmade = f()\n"

    in_a_cell = stack_of(source, "/tmp/ipykernel_1/2.py")
    assert in_a_cell == "  Cell In[3], line 3, in <module>\n  Cell In[3], line 2, in f"
    assert 'File "script.py", line 2, in f' in stack_of(source, "script.py")
