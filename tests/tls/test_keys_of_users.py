"""For whom the keys of a member are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from rain.base.admission import Secret
from rain.tls.keys import NO_KEYS, Keys

SECRET = Secret.of("0123456789abcdef")


def certified(user: str) -> Any:
    return cast("Any", SimpleNamespace(who=SimpleNamespace(user=user)))


def test_a_key_and_a_certificate_say_whose_they_are() -> None:
    assert NO_KEYS.user == Keys(SECRET, certified("")).user == ""
    assert Keys(SECRET.for_user("ada")).user == "ada"
    assert Keys(None, certified("ada")).user == "ada"
    assert Keys(SECRET.for_user("ada"), certified("")).user == "ada"
