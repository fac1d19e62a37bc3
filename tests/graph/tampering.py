"""Tampers with one fact of the subject, and looks whether the checker sees it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.errors import InvariantError
from rain.graph import check
from tests.graph.subject import Subject

Part = Callable[[Subject], object]
Tampered = dict[str, tuple[Part, str]]
"""By what is wrong: what makes it so, and what the checker says."""


def check_is_seen(tampered: tuple[Part, str]) -> None:
    # given
    subject = Subject()
    tamper, claim = tampered
    # when
    tamper(subject)
    # then
    with pytest.raises(InvariantError, match=claim):
        check(subject.graph)


def setting(node: Part, name: str, value: object) -> Part:
    """Sets one field of one node."""
    return linking(node, name, lambda _: value)


def linking(node: Part, name: str, value: Part) -> Part:
    """The same with a value from the subject."""
    return lambda subject: setattr(node(subject), name, value(subject))


def of(name: str) -> Part:
    return lambda subject: getattr(subject, name)
