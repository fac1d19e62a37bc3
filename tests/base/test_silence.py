"""How long silence is borne, and what counts as silence."""

import pytest

from rain.base.silence import BEAT, Silence, check_limit


def test_a_peer_that_is_silent_for_the_limit_is_given_up() -> None:
    silence = Silence(3 * BEAT)
    assert [silence.is_too_long(BEAT, heard=False) for _ in range(3)] == [False, False, True]
    assert silence.seconds == 3 * BEAT


def test_whatever_is_heard_begins_the_silence_anew() -> None:
    silence = Silence(3 * BEAT)
    heard = [False, False, True, False, False]
    assert not any(silence.is_too_long(BEAT, heard=one) for one in heard)
    assert silence.is_too_long(BEAT, heard=False)


def test_a_program_that_could_not_listen_for_an_hour_listens_first() -> None:
    silence = Silence(10 * BEAT)
    assert not silence.is_too_long(3600.0, heard=False)
    assert not silence.is_too_long(BEAT, heard=True)


def test_without_a_limit_nobody_is_given_up() -> None:
    silence = Silence(None)
    assert not any(silence.is_too_long(BEAT, heard=False) for _ in range(10_000))


def test_a_limit_that_a_living_peer_could_miss_is_refused_by_name() -> None:
    assert check_limit(0, "server_timeout") is None
    assert check_limit(3.5, "server_timeout") == 3.5
    for wrong in (1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"server_timeout is .* must be 3 or more, or 0"):
            check_limit(wrong, "server_timeout")
