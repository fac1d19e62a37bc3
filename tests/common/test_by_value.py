import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rain.common.by_value import dumps
from rain.common.content_type import PICKLE_PROTOCOL, decode_value, encode_value

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
