import concurrent.futures

from rain.base.errors import ConnectionLostError
from rain.client import ConnectionException
from tests.client.fake import world


def test_a_call_that_was_not_sent_when_its_client_is_closed_has_failed() -> None:
    with world() as w:
        w.client.submit(int)
        w.server.errors["submit"] = ConnectionLostError("it was closed")
        future = w.client.submit(int)
        w.client.close()
        assert concurrent.futures.wait([future], 60).done
        assert isinstance(future.exception(), ConnectionException)


def test_a_call_of_a_closed_client_has_failed_at_once() -> None:
    with world() as w:
        w.client.submit(int)
        w.client.close()
        w.server.errors["submit"] = ConnectionLostError("it was closed")
        future = w.client.submit(int)
        assert future.done()
        assert isinstance(future.exception(), ConnectionException)
