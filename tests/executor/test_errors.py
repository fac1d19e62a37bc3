"""Exceptions of tasks as they are sent."""

from __future__ import annotations

import copyreg
import importlib
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from rain.executor.errors import pickled_error


class WrongError(ValueError):
    """One with a note, and with an attribute."""


@pytest.fixture
def failure() -> Iterator[WrongError]:
    """Raised where tblib has registered its class, as it does for all when Dask imports it."""
    tblib: Any = importlib.import_module("tblib.pickling_support")
    tblib.install(WrongError)
    try:
        raise WrongError("it went wrong", 7)
    except WrongError as error:
        error.add_note("a note")
        yield error
    finally:
        del copyreg.dispatch_table[WrongError]


def test_an_exception_is_sent_without_its_traceback_and_without_tblib(failure: WrongError) -> None:
    data, why = pickled_error(failure)
    assert (why, b"tblib" in data) == ("", False)
    sent = pickle.loads(data)
    assert type(sent) is WrongError
    assert (sent.args, sent.__notes__) == (("it went wrong", 7), ["a note"])
    assert sent.__traceback__ is None
