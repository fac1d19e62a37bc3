"""Which arguments are uploaded without a look at their pickles."""

from typing import Any

import numpy as np
import pytest

from rain.client import Client
from rain.client.sent.arguments import LARGEST_PICKLE
from rain.client.sent.large_arguments import is_surely_large


class AttributesOfItems(dict[str, int]):
    """As many programs have one: `settings.rate`."""

    def __getattr__(self, name: str) -> int:
        return self[name]


class Lazy:
    """As a table of Dask."""

    @property
    def nbytes(self) -> int:
        raise NotImplementedError


def type_of(value: object) -> str:
    return type(value).__name__


def test_only_an_array_is_large_without_being_pickled() -> None:
    assert is_surely_large(np.zeros(LARGEST_PICKLE + 1, np.uint8))
    assert not is_surely_large(np.zeros(LARGEST_PICKLE, np.uint8))
    assert not is_surely_large(bytes(LARGEST_PICKLE + 1))


@pytest.mark.parametrize("kind", [AttributesOfItems, Lazy])
def test_an_argument_is_not_asked_for_its_size(kind: type[Any]) -> None:
    with Client(local=True) as client:
        assert client.submit(type_of, kind()).result() == kind.__name__
