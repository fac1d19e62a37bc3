"""The file of a member: who it is for, what is wrong with it, and how it is renewed."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from rain.base.admission import MemberKind
from rain.base.errors import StartError
from rain.tls.identity import DAY, Identity
from tests.support.tls import expired, identity, keep, keys_of


def read(path: Path, member: MemberKind = MemberKind.CLIENT) -> str:
    with pytest.raises(StartError) as caught:
        Identity.read(path, member)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("member", list(MemberKind))
def test_a_folder_has_a_file_for_each_member(member: MemberKind) -> None:
    assert identity(member).who.member is member
    assert Identity.read(keys_of() / f"{member.value}.pem", member).who.name == member.value


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert read(tmp_path / "no.pem") == (
        f"the TLS file {tmp_path / 'no.pem'} cannot be read: No such file or directory"
    )
    assert "client.pem cannot be read" in read(tmp_path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = keep(tmp_path / "open.pem", (keys_of() / "client.pem").read_bytes())
    path.chmod(0o640)
    assert read(path).endswith(f"is open to others: chmod 600 {path}")


def test_the_file_of_another_member_is_refused() -> None:
    assert "is for a server, and this is a governor" in read(
        keys_of() / "server.pem", MemberKind.GOVERNOR
    )


def test_an_expired_certificate_is_refused_before_anything_is_dialled(tmp_path: Path) -> None:
    path = keep(tmp_path / "late.pem", expired(MemberKind.CLIENT))
    assert "the certificate in it has expired: renew it with 'rain keys renew'" in read(path)


def test_a_key_without_its_own_certificate_is_refused(tmp_path: Path) -> None:
    own = (keys_of() / "client.pem").read_bytes()
    other = (keys_of() / "client-ada.pem").read_bytes()
    mixed = own[: own.index(b"-----BEGIN CERT")] + other[other.index(b"-----BEGIN CERT") :]
    assert "do not belong together" in read(keep(tmp_path / "mixed.pem", mixed))


def test_a_certificate_of_another_authority_than_the_one_beside_it_is_refused(
    tmp_path: Path,
) -> None:
    own = (keys_of() / "client.pem").read_bytes()
    other = (keys_of("two") / "client.pem").read_bytes()
    mixed = own[: own.rindex(b"-----BEGIN CERT")] + other[other.rindex(b"-----BEGIN CERT") :]
    assert "another authority" in read(keep(tmp_path / "mixed.pem", mixed))


def test_the_tasks_of_a_governor_come_in_as_clients(tmp_path: Path) -> None:
    tasks = identity(MemberKind.GOVERNOR).tasks
    assert tasks is not None
    who = Identity.read(keep(tmp_path / "tasks.pem", tasks), MemberKind.CLIENT).who
    assert (who.member, who.name) == (MemberKind.CLIENT, "tasks of governor")


def test_a_renewed_file_is_used_for_the_next_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = keep(tmp_path / "client.pem", (keys_of() / "client.pem").read_bytes())
    ours = Identity.read(path, MemberKind.CLIENT)
    keep(tmp_path / "new", (keys_of() / "client-ada.pem").read_bytes()).replace(path)
    with caplog.at_level(logging.INFO):
        assert ours.who.name == "ada"
    assert "was renewed" in caplog.text


@pytest.mark.parametrize("content", [b"", (keys_of() / "server.pem").read_bytes()])
def test_a_damaged_new_file_leaves_the_old_one_in_use_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    path = keep(tmp_path / "client.pem", (keys_of() / "client.pem").read_bytes())
    ours = Identity.read(path, MemberKind.CLIENT)
    keep(tmp_path / "new", content).replace(path)
    for _ in range(3):
        assert ours.who.member is MemberKind.CLIENT
    assert caplog.text.count("is not renewed") == 1
    path.unlink()
    assert ours.who.member is MemberKind.CLIENT


def test_the_owner_is_warned_a_month_before_the_end() -> None:
    ours = identity(MemberKind.SERVER)
    end = ours.who.expires
    assert ours.warning(end - 31 * DAY) == ""
    assert "expires in 7 days" in ours.warning(end - 7 * DAY)
    assert "has expired" in ours.warning(end + 1)


def test_the_password_of_http_is_not_the_key() -> None:
    ours = identity(MemberKind.SERVER)
    assert ours.secret.http_token() not in ours.path.read_text()
    assert "PRIVATE" not in repr(ours)
