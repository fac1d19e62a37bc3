"""A lease that is held: renewed, lost, or taken again."""

from __future__ import annotations

import pytest
import structlog
from attrs import define
from structlog.testing import capture_logs

from rain.server.lease.holder import this_server
from rain.server.lease.lease import Lease, LeaseLostError, take
from rain.server.lease.rules import NOBODY, Record
from rain.server.lease.store import LeaseStoreError

ONE, TWO = this_server("one:7210"), this_server("two:7210")
LENGTH = 5.0


@define
class Place:
    """Implements `LeaseStore`, in memory, with a clock."""

    record: Record = NOBODY
    now: float = 0.0
    trouble: str = ""
    takes: float = 0.0  # seconds for each call
    loses_answers: bool = False
    where: str = "memory"

    def clock(self) -> float:
        return self.now

    def read(self) -> Record:
        self._work()
        return self.record

    def put(self, before: Record, after: Record) -> bool:
        self._work()
        if self.record != before:
            return False
        self.record = after
        if self.loses_answers:
            raise LeaseStoreError("no answer")
        return True

    def has_ended(self, record: Record) -> bool:
        return False

    def close(self) -> None:
        pass

    def _work(self) -> None:
        self.now += self.takes
        if self.trouble:
            raise LeaseStoreError(self.trouble)

    def take(self) -> Lease:
        lease = take(self, self.record, ONE, LENGTH, 0, structlog.get_logger(), self.clock)
        assert lease is not None
        return lease


def test_a_lease_that_is_renewed_holds() -> None:
    place = Place()
    lease = place.take()
    for _ in range(20):
        place.now += 1.0
        lease.renew()
        lease.check()
    assert place.record.generation == lease.generation == 1


def test_a_server_that_stood_still_alone_takes_its_lease_again() -> None:
    place = Place()
    lease = place.take()
    place.now += 3600.0
    with capture_logs() as said:
        lease.check()
    assert place.record.generation == lease.generation == 2
    assert said[0]["event"] == "the lease had lapsed, and was taken again"
    lease.check()
    assert place.record.generation == 2


def test_a_server_that_was_replaced_while_it_stood_still_ends() -> None:
    place = Place()
    lease = place.take()
    place.now += 3600.0
    place.record = place.record.taken_by(TWO, LENGTH)
    taken = place.record
    for _ in range(2):
        with pytest.raises(LeaseLostError, match="the server at two:7210 has taken it"):
            lease.check()
    lease.let_go()
    assert place.record == taken


def test_a_renewal_that_finds_another_holder_ends_the_server_at_once() -> None:
    place = Place()
    lease = place.take()
    place.record = place.record.taken_by(TWO, LENGTH)
    lease.check()  # it may still count on it
    lease.renew()
    with pytest.raises(LeaseLostError, match="the server at two:7210 has taken it"):
        lease.check()


def test_a_place_that_cannot_be_reached_ends_the_server_when_the_lease_has_lapsed() -> None:
    place = Place()
    lease = place.take()
    place.trouble = "no route"
    place.now += 4.0
    lease.renew()
    lease.check()
    place.now += 1.0
    with pytest.raises(LeaseLostError, match=r"was lost: no route\. It lapses"):
        lease.check()


def test_an_answer_that_was_lost_is_no_loss() -> None:
    place = Place()
    lease = place.take()
    place.loses_answers = True
    lease.renew()
    place.loses_answers = False
    place.now += 3.0
    lease.renew()
    place.now += 3.0
    lease.check()
    assert lease.generation == 1


def test_a_renewal_that_is_too_slow_does_not_count() -> None:
    place = Place()
    lease = place.take()
    place.takes = LENGTH
    lease.renew()
    place.trouble = "slow"
    with pytest.raises(LeaseLostError):
        lease.check()


def test_a_taking_that_is_too_slow_is_none() -> None:
    place = Place(takes=LENGTH)
    assert take(place, NOBODY, ONE, LENGTH, 0, structlog.get_logger(), place.clock) is None


def test_a_lease_that_is_let_go_says_whether_the_cluster_is_over() -> None:
    place = Place()
    place.take().let_go()
    assert place.record.released
    assert not place.record.over
    place.take().let_go(over=True)
    assert place.record.over
