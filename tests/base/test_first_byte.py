"""What a connection speaks, by its first byte."""

from __future__ import annotations

from http import HTTPMethod, HTTPStatus

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.admission import MAGIC, TLS, Role
from rain.base.first_byte import Speaks, http_refusal, spoken

BEGINNINGS = {
    Speaks.RAIN: [MAGIC + role.value + bytes(33) for role in Role],
    Speaks.TLS: [TLS + bytes([minor]) + b"\x02\x00\x01" for minor in range(5)],
    Speaks.HTTP: [
        *(f"{method} / HTTP/1.1\r\nhost: x\r\n\r\n".encode() for method in HTTPMethod),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"PROPFIND / HTTP/1.1\r\n",
    ],
}
CASES = [(speaks, said) for speaks, beginnings in BEGINNINGS.items() for said in beginnings]


@given(st.sampled_from(CASES), st.data())
def test_wherever_the_bytes_are_cut_the_decision_is_the_same(
    case: tuple[Speaks, bytes], data: st.DataObject
) -> None:
    speaks, said = case
    cut = data.draw(st.integers(1, len(said)))
    assert spoken(said[:cut]) is speaks


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_anything_is_decided_and_what_follows_changes_nothing(said: bytes, more: bytes) -> None:
    decided = spoken(said)
    assert (decided is None) == (said == b"")
    if decided is not None:
        assert spoken(said + more) is decided
    if decided is Speaks.HTTP:
        assert said[:1] in {bytes([letter]) for letter in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@pytest.mark.parametrize("status", [HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE])
def test_a_refusal_is_a_whole_response_of_http(status: HTTPStatus) -> None:
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(http_refusal(status, "it serves no HTTP, naïvely"))
    head, body = client.next_event(), client.next_event()
    assert isinstance(head, h11.Response)
    assert isinstance(body, h11.Data)
    assert head.status_code == status
    assert (b"connection", b"close") in head.headers
    assert bytes(body.data).decode() == "it serves no HTTP, naïvely\n"
    assert isinstance(client.next_event(), h11.EndOfMessage)
