"""An alarm rings when its time has come, and is moved without a new timer."""

from collections.abc import Callable
from math import inf

import pytest

from rain.rpc import alarm
from rain.rpc.alarm import Alarm


class Night:
    """A clock that is set by hand, and the timers that were set by it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], object]]] = []
        self.set = 0
        self.rings: list[float] = []
        self.alarm = Alarm(lambda: self.rings.append(self.now), lambda: self.now)

    def call_later(self, seconds: float, function: Callable[[], object]) -> "Cancels":
        entry = (self.now + seconds, function)
        self.timers.append(entry)
        self.set += 1
        return Cancels(lambda: self.timers.remove(entry) if entry in self.timers else None)

    def sleep_until(self, time: float) -> None:
        while due := [timer for timer in self.timers if timer[0] <= time]:
            first = min(due, key=lambda timer: timer[0])
            self.timers.remove(first)
            self.now = first[0]
            first[1]()
        self.now = time


class Cancels:
    def __init__(self, cancel: Callable[[], object]) -> None:
        self.cancel = cancel


@pytest.fixture
def night(monkeypatch: pytest.MonkeyPatch) -> Night:
    made = Night()
    monkeypatch.setattr(alarm, "call_later", made.call_later)
    return made


def test_it_rings_once_at_its_time(night: Night) -> None:
    night.alarm.set(103)

    night.sleep_until(110)

    assert night.rings == [103]
    assert night.timers == []


def test_a_time_in_the_past_is_now(night: Night) -> None:
    night.alarm.set(99)

    night.sleep_until(100)

    assert night.rings == [100]


def test_moved_to_later_again_and_again_it_needs_no_new_timer_until_it_wakes(night: Night) -> None:
    night.alarm.set(103)
    for moment in range(100):
        night.alarm.set(104 + moment / 100)

    assert night.set == 1
    night.sleep_until(110)

    assert night.rings == [104.99]
    assert night.set == 2


def test_moved_to_earlier_it_rings_then_and_only_then(night: Night) -> None:
    night.alarm.set(108)
    night.alarm.set(102)

    night.sleep_until(110)

    assert night.rings == [102]


def test_moved_to_never_it_does_not_ring(night: Night) -> None:
    night.alarm.set(103)
    night.alarm.set(inf)

    night.sleep_until(110)

    assert night.rings == []
    assert night.timers == []


def test_stopped_it_does_not_ring_until_it_is_set_again(night: Night) -> None:
    night.alarm.set(103)
    night.alarm.stop()
    night.sleep_until(105)
    assert night.rings == []

    night.alarm.set(106)
    night.sleep_until(110)

    assert night.rings == [106]


def test_it_is_advanced_and_never_put_off_by_that(night: Night) -> None:
    night.alarm.set(105)
    night.alarm.advance(103)
    night.alarm.advance(104)

    night.sleep_until(110)

    assert night.rings == [103]
    assert night.timers == []


def test_an_alarm_that_nobody_has_set_can_be_advanced(night: Night) -> None:
    night.alarm.advance(103)

    night.sleep_until(110)

    assert night.rings == [103]
