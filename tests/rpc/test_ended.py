"""What callers of a client are told of the end of its connection."""

from __future__ import annotations

import pytest

from rain.rpc.ended import End, How

UNKNOWN = {How.GIVEN_UP, How.INVALID, How.FAREWELL, How.LOST}
"""The owner of the server may know more than the connection."""


@pytest.mark.parametrize("how", How)
def test_the_owner_of_the_server_is_asked_only_for_what_is_not_known(how: How) -> None:
    asked: list[How] = []

    def why_lost() -> str:
        asked.append(how)
        return "the server was killed"

    told = End(how, "why").message("there", why_lost)
    assert bool(asked) == (how in UNKNOWN)
    assert (told == "the server was killed") == (how in UNKNOWN)


@pytest.mark.parametrize("how", How)
def test_the_message_is_one_line_and_names_the_server_or_the_cause(how: How) -> None:
    told = End(how, "why", 31.0).message("there")
    assert "\n" not in told
    assert "there" in told or told == "why"
