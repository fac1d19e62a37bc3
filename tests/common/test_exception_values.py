"""Exceptions of a script as values."""

from typing import Any

import pytest

from rain.common.content_type import decode_value, encode_value

_EXCEPTIONS = """
class Refused(Exception):
    def __init__(self, code, *, detail):
        super().__init__(f"code {code}")
        self.code = code
        self.detail = detail

class Empty(StopIteration):
    def __init__(self, first, second):
        super().__init__(first + second)

class Plain(ValueError):
    pass
"""


@pytest.mark.parametrize(
    ("expression", "attributes"),
    [
        ("Refused(3, detail='none')", {"code": 3, "detail": "none", "args": ("code 3",)}),
        ("Empty(1, 2)", {"value": 3, "args": (3,)}),
        ("Plain('one', 2)", {"args": ("one", 2)}),
    ],
)
def test_an_exception_is_the_same_elsewhere_whatever_its_init_takes(
    expression: str, attributes: dict[str, Any]
) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(_EXCEPTIONS, names)  # noqa: S102 # as Python runs a script
    error = eval(expression, names)  # noqa: S307 # the expressions of this file
    back = decode_value(encode_value({"failure": error}, "pickle"), "pickle")["failure"]
    assert {name: getattr(back, name) for name in attributes} == attributes
    assert str(back) == str(error)
