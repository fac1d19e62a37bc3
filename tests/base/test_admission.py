"""Two peers let each other in when both know the secret, or when there is none."""

from __future__ import annotations

import base64
from collections.abc import Generator
from typing import TypeVar

import pytest

from rain.base.admission import (
    MAGIC,
    NONCE,
    Admitted,
    MemberKind,
    NotAdmittedError,
    Role,
    Secret,
    Step,
    accept,
    dial,
    http_url,
    who_reads_http,
)
from rain.base.errors import ProtocolError

T = TypeVar("T")
SECRET = Secret.of("correct-horse-battery-staple")
OTHER = Secret.of("incorrect-horse-battery-staple")
MINE, YOURS = b"m" * NONCE, b"y" * NONCE


class Side:
    """One side, and what it has come to."""

    def __init__(self, steps: Generator[Step, bytes, object]) -> None:
        self.steps = steps
        self.said = b""
        self.unread = b""
        self.result: object = None
        self.error: Exception | None = None
        self.step: Step | None = None
        self._go(None)

    def hear(self, data: bytes) -> None:
        self.unread += data
        while isinstance(self.step, int) and len(self.unread) >= self.step:
            taken, self.unread = self.unread[: self.step], self.unread[self.step :]
            self._go(taken)

    def take(self) -> bytes:
        said, self.said = self.said, b""
        return said

    def _go(self, given: bytes | None) -> None:
        try:
            self.step = next(self.steps) if given is None else self.steps.send(given)
            while isinstance(self.step, bytes):
                self.said += self.step
                self.step = self.steps.send(b"")
        except StopIteration as end:
            self.result, self.step = end.value, None
        except (NotAdmittedError, ProtocolError) as error:
            self.error, self.step = error, None


def meet(
    acceptor: Secret | None, dialler: Secret | None, role: Role = Role.CLIENT
) -> tuple[Side, Side, bytes]:
    """Both sides to their end, and all that went over the wire."""
    there, here = Side(accept(acceptor, YOURS)), Side(dial(dialler, role, MINE))
    wire = b""
    speaker, hearer = here, there
    while said := speaker.take():  # they take turns
        hearer.hear(said)
        wire += said
        speaker, hearer = hearer, speaker
    return there, here, wire


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("secret", [None, SECRET])
def test_a_peer_with_the_same_secret_or_none_is_let_in(secret: Secret | None, role: Role) -> None:
    there, here, _ = meet(secret, secret, role)
    assert there.result == Admitted(role)
    assert (there.error, here.error, here.step) == (None, None, None)
    assert there.unread == here.unread == b""


@pytest.mark.parametrize(
    ("acceptor", "dialler", "why"),
    [
        (SECRET, OTHER, "the secret is not the secret of this cluster"),
        (SECRET, None, "a secret is needed here"),
        (None, SECRET, "this side was started without a secret"),
    ],
)
def test_both_sides_are_told_the_same_reason(
    acceptor: Secret | None, dialler: Secret | None, why: str
) -> None:
    there, here, _ = meet(acceptor, dialler)
    assert isinstance(there.error, NotAdmittedError)
    assert isinstance(here.error, NotAdmittedError)
    assert str(there.error) == str(here.error)
    assert why in str(here.error)


@pytest.mark.parametrize("role", [Role.CLIENT, Role.READER])
def test_the_secret_of_a_user_says_who_comes(role: Role) -> None:
    there, here, wire = meet(SECRET, SECRET.for_user("ada"), role)
    assert there.result == Admitted(role, "ada")
    assert (there.error, here.error, here.step) == (None, None, None)
    assert there.unread == here.unread == b""
    assert SECRET.for_user("ada").key not in wire


@pytest.mark.parametrize(
    ("secret", "role", "why"),
    [
        (Secret(OTHER.for_user("ada").key, "ada"), Role.CLIENT, "not the secret of this cluster"),
        (Secret(SECRET.for_user("ada").key, "bob"), Role.CLIENT, "not the secret of this cluster"),
        (SECRET.for_user("ada"), Role.GOVERNOR, "lets clients in, and no governor"),
    ],
    ids=["of another cluster", "of another user", "for a governor"],
)
def test_a_user_gets_in_with_the_own_secret_as_a_client_only(
    secret: Secret, role: Role, why: str
) -> None:
    there, here, _ = meet(SECRET, secret, role)
    assert isinstance(there.error, NotAdmittedError)
    assert why in str(here.error)


def test_a_name_that_nobody_can_have_is_no_peer_of_ours() -> None:
    there, _, _ = meet(SECRET, Secret(b"k" * 16, "a:b"))
    assert isinstance(there.error, ProtocolError)


def test_the_user_of_a_certificate_is_the_user_of_the_secret() -> None:
    side = accept(SECRET, YOURS, MemberKind.CLIENT, "bob")
    said = dial(SECRET.for_user("ada"), Role.CLIENT, MINE)
    there, here = Side(side), Side(said)
    for _ in range(4):
        there.hear(here.take())
        here.hear(there.take())
    assert "the secret is that of ada, and the certificate that of bob" in str(here.error)


def test_the_secret_of_a_user_is_read_as_it_was_spelled() -> None:
    ada = SECRET.for_user("ada")
    assert Secret.of(ada.spell()) == ada
    assert Secret.of(SECRET.spell()) == SECRET
    with pytest.raises(ValueError, match="letters, digits"):
        Secret.of(b"user:a b:0123456789abcdef".replace(b" ", b"/"))


def test_the_secret_does_not_travel() -> None:
    _, _, wire = meet(SECRET, SECRET)
    assert SECRET.key not in wire
    assert "battery" not in repr(SECRET)


def test_the_proof_of_one_meeting_is_of_no_use_in_another() -> None:
    # given: all that a client has said in a meeting that went well
    there, here = Side(accept(SECRET, YOURS)), Side(dial(SECRET, Role.CLIENT, MINE))
    hello = here.take()
    there.hear(hello)
    here.hear(there.take())
    proof = here.take()

    # when: somebody says the same again
    again = Side(accept(SECRET, b"z" * NONCE))
    again.hear(hello + proof)

    # then
    assert isinstance(again.error, NotAdmittedError)


def test_a_proof_for_one_role_is_none_for_another() -> None:
    there, here = Side(accept(SECRET, YOURS)), Side(dial(SECRET, Role.CLIENT, MINE))
    there.hear(here.take().replace(MAGIC + b"c", MAGIC + b"g"))
    here.hear(there.take())
    there.hear(here.take())
    assert isinstance(there.error, NotAdmittedError)


def test_an_acceptor_that_only_repeats_the_proof_it_got_is_found_out() -> None:
    here = Side(dial(SECRET, Role.CLIENT, MINE))
    here.take()
    here.hear(b"?" + YOURS)
    here.hear(b"w" + here.take())
    assert "does not know the secret" in str(here.error)


def test_a_peer_with_a_secret_does_not_trust_an_acceptor_that_needs_none() -> None:
    here = Side(dial(SECRET, Role.CLIENT, MINE))
    here.hear(b"o")
    assert isinstance(here.error, ProtocolError)


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1", b"\0" * 50, MAGIC + b"?" + bytes(40)])
def test_other_protocols_are_named_and_get_no_answer(said: bytes) -> None:
    there = Side(accept(SECRET, YOURS))
    there.hear(said)
    assert isinstance(there.error, ProtocolError)
    assert there.said == b""


def test_a_dialler_knows_that_something_else_answers() -> None:
    here = Side(dial(None, Role.READER, MINE))
    here.hear(b"220 mail")
    assert isinstance(here.error, ProtocolError)


@pytest.mark.parametrize(
    ("answer", "why"), [(b"t", "everything is encrypted there"), (b"HTTP/1.1 400", "HTTP only")]
)
def test_a_dialler_knows_what_it_has_reached_instead(answer: bytes, why: str) -> None:
    here = Side(dial(SECRET, Role.READER, MINE))
    here.hear(answer)
    assert why in str(here.error)


def test_a_secret_is_what_stands_in_its_file_without_the_end_of_the_line() -> None:
    assert Secret.of("0123456789abcdef\n") == Secret.of(b"0123456789abcdef")
    with pytest.raises(ValueError, match="16 characters or more, this has 3"):
        Secret.of("abc\n")
    with pytest.raises(ValueError, match="one word"):
        Secret.of("0123456789abcdef\n0123456789abcdef")


def test_http_asks_for_a_token_and_not_for_the_secret() -> None:
    token = SECRET.http_token()
    basic = base64.b64encode(f"anybody:{token}".encode()).decode()
    assert who_reads_http(None, "") == ""
    assert who_reads_http(SECRET, f"Bearer {token}") == ""
    assert who_reads_http(SECRET, f"basic {basic}") == ""
    for wrong in (
        "",
        "Bearer",
        f"Bearer {OTHER.http_token()}",
        f"Bearer {SECRET.key.decode()}",
        f"Digest {token}",
        "Basic !!!",
        "Basic " + base64.b64encode(token.encode()).decode(),
        "Bearer \u00e9",
    ):
        assert who_reads_http(SECRET, wrong) is None


def test_the_token_of_a_user_says_who_it_is_and_is_of_no_use_for_another() -> None:
    token = SECRET.for_user("a.b@c").http_token()
    assert who_reads_http(SECRET, f"Bearer {token}") == "a.b@c"
    assert http_url(SECRET.for_user("a@b"), "host:1").startswith("http://rain:a%40b.")
    end = token.rpartition(".")[2]
    for wrong in (end, f"eve.{end}", f".{end}", f"a b.{end}", f"eve.{SECRET.http_token()}"):
        assert who_reads_http(SECRET, f"Bearer {wrong}") is None
