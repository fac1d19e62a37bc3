"""What a client keeps alive of the calls that were made."""

import gc
import weakref
from functools import partial

from tests.client.fake import world


class Model:
    """Has a method, and may be called itself."""

    def __call__(self, x: int) -> int:
        return x

    def method(self, x: int) -> int:
        return x


def test_the_owner_of_a_method_is_not_kept_alive_by_its_call() -> None:
    with world() as w:
        model = Model()
        alive = weakref.ref(model)
        future = w.client.submit(model.method, 1)
        del model
        gc.collect()
        assert alive() is None
        assert not future.done()


def test_what_is_called_is_not_kept_alive_by_its_call() -> None:
    with world() as w:
        model = Model()
        alive = weakref.ref(model)
        w.client.submit(model, 1)
        w.client.submit(partial(model, 1))
        del model
        gc.collect()
        assert alive() is None


def test_a_method_is_told_once_while_its_owner_does_not_change() -> None:
    with world() as w:
        model = Model()
        w.client.map(model.method, range(10))
        w.client.map(model.method, range(10))
        told = [one for sent in w.server.submissions for one in sent.constants.ids]
        assert len(told) == 1


def test_methods_of_two_owners_are_two_functions() -> None:
    with world() as w:
        for number in range(3):
            model = Model()
            vars(model)["number"] = number
            w.client.map(model.method, [number])
            del model  # so that the next one may come to its address
        told = [one for sent in w.server.submissions for one in sent.constants.ids]
        assert len(told) == 3


def test_a_call_keeps_no_result_alive_that_it_reads_when_it_was_sent() -> None:
    with world() as w:
        first = w.client.submit(len, "first")
        alive = weakref.ref(first.handle)
        second = w.client.submit(len, first)
        third = w.client.submit(lambda *given: None, first, [second])
        del first
        w.client.open_futures().sending.send()
        gc.collect()
        assert alive() is None
        assert not second.done()
        assert not third.done()


def test_a_large_argument_is_uploaded_once_while_a_call_with_it_is_alive() -> None:
    with world() as w:
        large = bytes(1_000_000)
        first = w.client.submit(len, large)
        w.client.open_futures().sending.send()
        gc.collect()
        second = w.client.submit(len, large)
        w.client.open_futures().sending.send()
        sizes = [len(data) for sent in w.server.submissions for data in sent.constants.data]
        assert len([size for size in sizes if size > 100_000]) == 1
        assert not first.done()
        assert not second.done()
