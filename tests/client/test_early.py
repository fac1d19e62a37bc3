"""What is told of things that nobody has handles of any more is not kept."""

from __future__ import annotations

from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.client.results import Early, ResultStore
from rain.client.sessions.waiting import SessionNews


def test_what_is_told_is_for_nobody_once() -> None:
    early = Early()
    early.note(7)
    assert early.take(7)
    assert not early.take(7)
    assert not early.take(8)


def test_only_so_much_is_remembered_and_the_oldest_goes_first() -> None:
    early = Early(at_most=3)
    for number in range(5):
        early.note(number)
    assert len(early) == 3
    assert [early.take(number) for number in range(5)] == [False, False, True, True, True]


def test_news_of_what_was_dropped_before_are_not_kept() -> None:
    news = SessionNews()
    news.forget(1)
    news.forget(5)
    news.add(0, WaitAnswer([TaskId(1), TaskId(2)], [ObjectId(5), ObjectId(6)], failed=[TaskId(1)]))
    assert len(news) == 2
    assert not news.failed
    news.forget(2)
    news.forget(6)
    assert len(news) == 0
    assert news.count == 2


def test_a_result_that_comes_after_its_handle_has_gone_is_not_kept() -> None:
    store = ResultStore()
    store.drop(1)
    sent = [ObjectId(1), ObjectId(2)]
    store.take_in(Delivery(sent, [1, 1], ["", ""], [b"a", b"b"]))
    assert store.get(1) is None
    assert store.get(2) == (b"b", "")
