"""The pump and the handshake, without a socket."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.admission import MAGIC, MemberKind, NotAdmittedError, Role, Secret, dial
from rain.tls import contexts, handshake
from rain.tls.errors import NotTlsError, TlsError
from rain.tls.identity import Identity
from rain.tls.pem import Papers, read_papers
from rain.tls.pump import Pump
from tests.support.tls import Side, expired, identity, keys_of, meet

SERVER, GOVERNOR, CLIENT = (identity(member) for member in MemberKind)


def met() -> tuple[Pump, Pump]:
    accepting, dialling = SERVER.accepting(), CLIENT.dialling(MemberKind.SERVER)
    there, here = meet(accepting, dialling)
    assert there.error is None
    assert here.error is None
    return accepting, dialling


def all_of(pump: Pump) -> bytes:
    pieces: list[bytes] = []
    while pump.holds and (piece := pump.read()):
        pieces.append(piece)
    return b"".join(pieces)


def test_both_sides_know_who_the_other_one_is() -> None:
    accepting, dialling = met()
    assert (accepting.who.member, accepting.who.name) == (MemberKind.CLIENT, "client")
    assert (dialling.who.member, dialling.who.name) == (MemberKind.SERVER, "server")


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_a_handshake_succeeds_wherever_the_wire_cuts_it(piece: int) -> None:
    there, here = meet(SERVER.accepting(), CLIENT.dialling(MemberKind.SERVER), piece)
    assert there.is_done
    assert here.is_done
    assert (there.error, here.error) == (None, None)


@given(st.lists(st.binary(max_size=40_000), max_size=6), st.data())
def test_what_is_written_is_read_wherever_the_wire_cuts_it(
    said: list[bytes], data: st.DataObject
) -> None:
    accepting, dialling = met()
    for one in said:
        dialling.write(one)
    records = dialling.to_send()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=8)))
    heard: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(records)], strict=True):
        if start < end:
            accepting.feed(records[start:end])
        heard.append(all_of(accepting))
    assert b"".join(heard) == b"".join(said)
    assert not accepting.holds


@given(st.integers(1, 100_000), st.integers(1, 40_000))
def test_what_is_read_into_memory_is_the_same(length: int, room: int) -> None:
    accepting, dialling = met()
    content = bytes(range(256)) * (length // 256 + 1)
    dialling.write(content)
    accepting.feed(dialling.to_send())
    target, heard = memoryview(bytearray(room)), b""
    while count := accepting.read_into(target):
        heard += target[:count]
    assert heard == content


@given(st.binary(min_size=1, max_size=2000), st.data())
def test_a_bit_that_is_changed_on_the_way_is_noticed(content: bytes, data: st.DataObject) -> None:
    accepting, dialling = met()
    dialling.write(content)
    records = bytearray(dialling.to_send())
    # The first five bytes hold the length of the record: a longer one is waited for.
    place = data.draw(st.integers(5, len(records) - 1))
    records[place] ^= 1 << data.draw(st.integers(0, 7))
    accepting.feed(bytes(records))
    with pytest.raises(TlsError):
        accepting.read()


def test_records_cannot_be_said_again() -> None:
    accepting, dialling = met()
    dialling.write(b"pay once")
    records = dialling.to_send()
    accepting.feed(records)
    assert accepting.read() == b"pay once"
    accepting.feed(records)
    with pytest.raises(TlsError):
        accepting.read()


@given(st.binary(min_size=1, max_size=300))
def test_garbage_before_the_handshake_is_refused_or_waited_for(garbage: bytes) -> None:
    side = Side(handshake.accept(SERVER.accepting()))
    side.hear(garbage)
    assert isinstance(side.error, TlsError) or not side.is_done
    assert side.is_done or garbage[0] == 0x16


@given(st.data())
def test_a_handshake_with_a_bit_changed_fails_by_name_or_goes_on(data: st.DataObject) -> None:
    here = Side(handshake.dial(CLIENT.dialling(MemberKind.SERVER)))
    hello = bytearray(here.said.popleft())
    hello[data.draw(st.integers(0, len(hello) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    there = Side(handshake.accept(SERVER.accepting()))
    there.hear(bytes(hello))
    for answer in there.said:
        if not here.is_done:
            here.hear(answer)
    for side in (here, there):
        assert side.error is None or isinstance(side.error, TlsError)
    assert not (here.is_done and there.is_done and here.error is None and there.error is None)


def test_one_that_does_not_encrypt_is_told_so_in_its_own_protocol() -> None:
    side = Side(handshake.accept(SERVER.accepting()))
    side.hear(MAGIC)
    assert isinstance(side.error, NotTlsError)
    plain = dial(Secret.of("0123456789abcdef"), Role.CLIENT, bytes(32))
    assert next(plain)
    answer, needed = side.said.popleft(), plain.send(b"")
    heard = ""
    try:
        while isinstance(needed, int):
            part, answer = answer[:needed], answer[needed:]
            needed = plain.send(part)
    except NotAdmittedError as error:
        heard = str(error)
    assert "everything is encrypted there" in heard


def test_one_that_closes_in_the_handshake_may_have_no_certificates() -> None:
    side = Side(handshake.dial(CLIENT.dialling(MemberKind.SERVER)))
    side.hear(b"")
    with pytest.raises(NotTlsError) as caught:
        raise side.error or AssertionError
    assert caught.value.strerror == "it does not answer in TLS; was it started without --tls?"


def test_one_that_says_too_much_in_the_handshake_is_refused() -> None:
    side = Side(handshake.accept(SERVER.accepting()))
    # A record of the greatest length that never becomes a whole message.
    record = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + bytes(0x4000 - 4)
    for _ in range(20):
        if not side.is_done:
            side.hear(record)
    assert isinstance(side.error, TlsError)


@pytest.mark.parametrize(
    ("accepting", "dialling", "here", "there"),
    [
        (
            identity(MemberKind.SERVER, "two"),
            CLIENT,
            "another authority than ours",
            "another authority",
        ),
        (SERVER, identity(MemberKind.CLIENT, "two"), "another authority than ours", ""),
        (GOVERNOR, CLIENT, "certificate is that of a governor, and a server is expected", ""),
        (CLIENT, CLIENT, "clients cannot listen", ""),
    ],
    ids=["server of others", "client of others", "governor as server", "client as server"],
)
def test_who_does_not_belong_together_hears_why(
    accepting: Identity, dialling: Identity, here: str, there: str
) -> None:
    listening, asking = meet(accepting.accepting(), dialling.dialling(MemberKind.SERVER))
    assert isinstance(asking.error, TlsError)
    assert here in (asking.error.strerror or "")
    if there:
        assert isinstance(listening.error, TlsError)
        assert there in (listening.error.strerror or "")


def test_one_without_a_certificate_is_not_let_in() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    nobody = context.wrap_bio(incoming, outgoing)
    there = Side(handshake.accept(SERVER.accepting()))
    for _ in range(3):
        with suppress(ssl.SSLWantReadError):
            nobody.do_handshake()
        if not there.is_done:
            there.hear(outgoing.read())
            incoming.write(b"".join(there.said))
            there.said.clear()
    assert isinstance(there.error, TlsError)
    assert there.error.strerror == "it has no certificate"


def asking_with(content: bytes) -> TlsError:
    """What a client with this file hears from the server, whose authority it trusts."""
    papers, _ = read_papers(content)
    trusted = read_papers((keys_of() / "client.pem").read_bytes())[0].authorities
    context = contexts.dialling(Papers(papers.key, papers.certificate, trusted))
    accepting, dialling = SERVER.accepting(), Pump(context, accepts=False)
    there, here = Side(handshake.accept(accepting)), Side(handshake.dial(dialling))
    there.hear(here.said.popleft())
    here.hear(b"".join(there.said))
    assert here.is_done  # in TLS 1.3 a client is done before it is judged
    assert here.error is None
    there.said.clear()
    there.hear(b"".join(here.said))
    assert isinstance(there.error, TlsError)
    dialling.feed(b"".join(there.said))
    with pytest.raises(TlsError) as caught:
        dialling.read()
    return caught.value


def test_a_client_hears_that_its_certificate_is_of_another_authority() -> None:
    error = asking_with((keys_of("two") / "client.pem").read_bytes())
    assert "made by another authority" in (error.strerror or "")


def test_a_client_hears_that_its_certificate_has_expired() -> None:
    error = asking_with(expired(MemberKind.CLIENT))
    assert "our certificate has expired" in (error.strerror or "")


def test_bytes_of_a_handshake_are_counted_however_they_come() -> None:
    side = Side(handshake.accept(SERVER.accepting()))
    side.hear(b"\x16" + bytes(handshake.LONGEST))
    assert "says too much in the TLS handshake" in str(side.error)
