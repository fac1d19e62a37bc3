"""How long a way is taken for closed, and who looks whether it is open again."""

from __future__ import annotations

from rain.base.wire.orders import SERVER
from rain.stream.ways import FIRST_PAUSE, LONGEST_PAUSE, MOST, UNUSED, Ways, with_relay

HOLDER = "there:7000#5"


def test_a_way_is_open_until_a_try_has_failed() -> None:
    ways = Ways()
    assert ways.begins_try(HOLDER, 0)
    ways.failed(HOLDER, "refused", 0)
    assert not ways.begins_try(HOLDER, FIRST_PAUSE - 1)
    assert ways.begins_try("elsewhere:7000#6", FIRST_PAUSE - 1)
    assert ways.closed(1) == {HOLDER: "refused"}


def test_one_transfer_looks_again_while_the_others_go_around() -> None:
    ways = Ways()
    ways.failed(HOLDER, "refused", 0)
    assert [ways.begins_try(HOLDER, FIRST_PAUSE) for _ in range(3)] == [True, False, False]


def test_a_way_that_is_open_again_is_forgotten() -> None:
    ways = Ways()
    ways.failed(HOLDER, "refused", 0)
    assert ways.begins_try(HOLDER, FIRST_PAUSE)
    ways.opened(HOLDER)
    assert ways.closed(FIRST_PAUSE) == {}
    assert [ways.begins_try(HOLDER, FIRST_PAUSE) for _ in range(3)] == [True] * 3


def test_each_look_in_vain_doubles_the_time_until_the_next_up_to_a_limit() -> None:
    ways = Ways()
    ways.failed(HOLDER, "refused", 0)
    looks: list[float] = []
    now = 0.0
    while len(looks) < 8:
        now += 1
        if ways.begins_try(HOLDER, now):
            looks.append(now)
            ways.failed(HOLDER, "refused again", now + 0.5)
    pauses = [after - before for before, after in zip([0.0, *looks], looks, strict=False)]
    assert pauses == [30, 60, 120, 240, 480, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]


def test_tries_that_fail_at_the_same_time_count_once() -> None:
    ways = Ways()
    for _ in range(8):
        ways.failed(HOLDER, "refused", 0)
    assert ways.begins_try(HOLDER, FIRST_PAUSE)


def test_what_nobody_needs_any_more_is_forgotten() -> None:
    ways = Ways()
    ways.failed(HOLDER, "refused", 0)
    assert ways.closed(FIRST_PAUSE + UNUSED)
    assert not ways.closed(FIRST_PAUSE + UNUSED + 1)


def test_only_so_many_are_remembered() -> None:
    ways = Ways()
    for number in range(MOST + 10):
        ways.failed(f"there:{number}", "refused", 0)
    closed = ways.closed(0)
    assert len(closed) == MOST
    assert "there:9" not in closed
    assert f"there:{MOST + 9}" in closed


def test_the_server_is_asked_last_and_once() -> None:
    assert with_relay(["a:1#1", "b:1#2"]) == ["a:1#1", "b:1#2", SERVER]
    assert with_relay([SERVER, "a:1#1"]) == [SERVER, "a:1#1"]
