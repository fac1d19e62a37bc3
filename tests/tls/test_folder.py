"""`rain keys`: the folder of a cluster's keys."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rain.base.admission import MemberKind
from rain.base.errors import StartError
from rain.cli import cli
from rain.common.secret_file import make_secret_file, read_secret
from rain.tls import folder
from rain.tls.identity import Identity
from rain.tls.pem import read_papers
from tests.support.tls import keep, meet


def rain(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["keys", *map(str, arguments)])


def test_create_makes_files_that_only_their_owner_can_read(tmp_path: Path) -> None:
    made = rain("create", tmp_path / "keys", "--host", "head", "--host", "10.0.0.1")
    assert made.exit_code == 0, made.output
    names = {path.name for path in (tmp_path / "keys").iterdir()}
    assert names == {"authority.pem", "server.pem", "governor.pem", "client.pem"}
    for path in (tmp_path / "keys").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shown = rain("show", tmp_path / "keys").output
    assert "server 'server', until" in shown
    assert "for head, 10.0.0.1" in shown


def test_the_file_of_a_user_names_the_user_after_a_renewal_too(tmp_path: Path) -> None:
    folder.create(tmp_path, (), 1)
    made = rain("user", "ada", "--folder", tmp_path)
    assert made.exit_code == 0, made.output
    assert made.output == f"{tmp_path / 'user-ada.pem'}\n"
    for _ in range(2):
        who = Identity.read(tmp_path / "user-ada.pem", MemberKind.CLIENT).who
        assert (who.member, who.user) == (MemberKind.CLIENT, "ada")
        assert "user 'ada', until" in rain("show", tmp_path).output
        folder.renew(tmp_path, 1)
    assert Identity.read(tmp_path / "client.pem", MemberKind.CLIENT).who.user == ""


def test_the_name_of_a_user_is_one_word(tmp_path: Path) -> None:
    folder.create(tmp_path, (), 1)
    made = rain("user", "a/b", "--folder", tmp_path)
    assert "the name 'a/b' may have letters, digits" in str(made.exception)
    assert not list(tmp_path.glob("user*"))


def test_a_user_of_a_cluster_without_certificates_gets_a_secret(tmp_path: Path) -> None:
    of_cluster = make_secret_file(tmp_path / "secret")
    made = rain("user", "ada", "--secret-file", tmp_path / "secret")
    assert made.output == f"{tmp_path / 'user-ada.secret'}\n", made.exception
    path = tmp_path / "user-ada.secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_secret(path) == of_cluster.for_user("ada")
    again = rain("user", "ada", "--secret-file", tmp_path / "secret")
    assert "is there already" in str(again.exception)
    of_user = rain("user", "bob", "--secret-file", path)
    assert "is the secret of the user ada, not of a cluster" in str(of_user.exception)


def test_create_keeps_what_is_there(tmp_path: Path) -> None:
    folder.create(tmp_path, (), 1)
    before = (tmp_path / "authority.pem").read_bytes()
    with pytest.raises(StartError, match="is there already"):
        folder.create(tmp_path, (), 1)
    assert (tmp_path / "authority.pem").read_bytes() == before


def test_the_key_of_the_authority_is_in_no_other_file(tmp_path: Path) -> None:
    made = folder.create(tmp_path, (), 1)
    content = (tmp_path / "authority.pem").read_bytes()
    key = content[: content.index(b"-----BEGIN CERT")]
    assert [path.name for path in made if key in path.read_bytes()] == ["authority.pem"]


def test_another_client_has_its_own_key_and_its_name(tmp_path: Path) -> None:
    folder.create(tmp_path, (), 1)
    made = rain("client", "ada", "--folder", tmp_path, "--days", 2)
    assert made.output.strip() == str(tmp_path / "client-ada.pem")
    ada = Identity.read(tmp_path / "client-ada.pem", MemberKind.CLIENT)
    server = Identity.read(tmp_path, MemberKind.SERVER)
    accepting = server.accepting()
    meet(accepting, ada.dialling(MemberKind.SERVER))
    assert accepting.who.name == "ada"
    with pytest.raises(StartError, match="is there already"):
        folder.add_client(tmp_path, "ada", 1)


@pytest.mark.parametrize("name", ["", "../ada", ".ada", "a b", "a/b", "ada\n"])
def test_the_name_of_a_client_leads_to_no_other_folder(tmp_path: Path, name: str) -> None:
    folder.create(tmp_path, (), 1)
    with pytest.raises(StartError, match="may have letters"):
        folder.add_client(tmp_path, name, 1)


def test_a_client_needs_the_authority(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"authority\.pem cannot be read"):
        folder.add_client(tmp_path, "ada", 1)
    (tmp_path / "authority.pem").write_bytes(b"nothing")
    with pytest.raises(StartError, match="is not an authority"):
        folder.add_client(tmp_path, "ada", 1)


def test_renewing_keeps_keys_names_and_hosts_and_moves_the_end(tmp_path: Path) -> None:
    folder.create(tmp_path, ("head",), 1)
    folder.add_client(tmp_path, "ada", 1)
    server = Identity.read(tmp_path, MemberKind.SERVER)
    before, secret = server.who, server.secret
    renewed = rain("renew", tmp_path, "--host", "tail")
    assert renewed.output.count(".pem") == 4
    said = folder.look(tmp_path / "server.pem")
    assert said.hosts == ("head", "tail")
    assert folder.look(tmp_path / "client-ada.pem").name == "ada"
    assert server.who.expires > before.expires
    assert server.secret == secret
    there, here = meet(
        server.accepting(), Identity.read(tmp_path, MemberKind.CLIENT).dialling(MemberKind.SERVER)
    )
    assert (there.error, here.error) == (None, None)


def test_browsers_find_the_hosts_in_the_certificate_of_the_server(tmp_path: Path) -> None:
    folder.create(tmp_path, ("head", "10.0.0.1"), 1)
    papers, _ = read_papers((tmp_path / "client.pem").read_bytes())
    context = ssl.create_default_context(cadata=papers.authorities.decode())
    server = Identity.read(tmp_path, MemberKind.SERVER)
    assert server.who.hosts == ("head",)
    for host, is_good in (("head", True), ("10.0.0.1", True), ("other", False)):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        browser = context.wrap_bio(incoming, outgoing, server_hostname=host)
        there = server.accepting(certificate_optional=True)
        with pytest.raises(ssl.SSLWantReadError):
            browser.do_handshake()
        there.feed(outgoing.read())
        assert not there.shake_hands()
        incoming.write(there.to_send())
        if is_good:
            browser.do_handshake()
        else:
            with pytest.raises(ssl.SSLCertVerificationError):
                browser.do_handshake()


def test_show_names_a_file_that_is_none_of_ours(tmp_path: Path) -> None:
    assert isinstance(rain("show", tmp_path).exception, StartError)
    (tmp_path / "x.pem").write_text("x")
    with pytest.raises(StartError, match=r"x\.pem is not a file of 'rain keys'"):
        folder.look(tmp_path / "x.pem")


def refusals(keys: Path, member: Path, expects: MemberKind = MemberKind.SERVER) -> list[str]:
    """Why the server of a folder does not let the owner of a file in; nothing if it does."""
    server = Identity.read(keys, MemberKind.SERVER)
    ours = Identity.read(member, folder.look(member).member)
    sides = meet(server.accepting(), ours.dialling(expects))
    return [str(side.error) for side in sides if side.error is not None]


def test_a_lost_key_is_called_back_with_all_its_certificates_and_others_are_still_let_in(
    tmp_path: Path,
) -> None:
    # given: a thief has a copy from before the renewal, and another one from after it
    keys, old, new = tmp_path / "keys", tmp_path / "old.pem", tmp_path / "new.pem"
    folder.create(keys, (), 5)
    lost = folder.add_client(keys, "ada", 5)
    other = folder.add_client(keys, "bob", 5)
    keep(old, lost.read_bytes())
    folder.renew(keys, 10)
    keep(new, lost.read_bytes())
    assert refusals(keys, old) == refusals(keys, new) == []

    # when
    told = rain("revoke", lost)

    # then
    assert told.exit_code == 0, told.output
    assert not lost.exists()
    for stolen in (old, new):
        assert any("was revoked" in why for why in refusals(keys, stolen))
    assert refusals(keys, other) == refusals(keys, keys / "client.pem") == []

    # and renewing does not forget it, nor does another one; the same person gets a new key
    folder.renew(keys, 20)
    rain("revoke", other)
    assert refusals(keys, old)
    assert refusals(keys, folder.add_client(keys, "ada", 5)) == []


def test_a_lost_file_of_the_governors_gets_a_new_key_and_its_tasks_are_shut_out_too(
    tmp_path: Path,
) -> None:
    keys, stolen = tmp_path / "keys", tmp_path / "stolen.pem"
    folder.create(keys, (), 5)
    keep(stolen, (keys / "governor.pem").read_bytes())
    tasks = Identity.read(stolen, MemberKind.GOVERNOR).tasks
    assert tasks is not None
    keep(tmp_path / "tasks.pem", tasks)

    assert rain("revoke", keys / "governor.pem").exit_code == 0

    assert refusals(keys, stolen)
    assert refusals(keys, tmp_path / "tasks.pem")
    assert refusals(keys, keys / "governor.pem") == []


def test_a_file_that_its_owner_alone_had_can_be_called_back_by_its_name(tmp_path: Path) -> None:
    keys, stolen = tmp_path / "keys", tmp_path / "stolen.pem"
    folder.create(keys, (), 5)
    keep(stolen, folder.add_client(keys, "ada", 5).read_bytes())
    (keys / "client-ada.pem").unlink()
    folder.revoke(keys / "client-ada.pem", 5)
    (why,) = refusals(keys, stolen)
    assert why.endswith("its certificate was revoked: it needs a new one")


def test_a_member_that_learns_of_it_while_it_runs_lets_nobody_in_any_more(tmp_path: Path) -> None:
    folder.create(tmp_path, (), 5)
    stolen = keep(tmp_path.parent / f"{tmp_path.name}.pem", (tmp_path / "client.pem").read_bytes())
    server = Identity.read(tmp_path, MemberKind.SERVER)
    thief = Identity.read(stolen, MemberKind.CLIENT)
    assert meet(server.accepting(), thief.dialling(MemberKind.SERVER))[0].error is None
    folder.revoke(tmp_path / "client.pem", 5)
    assert meet(server.accepting(), thief.dialling(MemberKind.SERVER))[0].error is not None


@pytest.mark.parametrize("name", ["authority.pem", "nobody.pem"])
def test_what_is_no_file_of_a_member_cannot_be_called_back(tmp_path: Path, name: str) -> None:
    folder.create(tmp_path, (), 5)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(StartError, match="is not the file of a member"):
        folder.revoke(tmp_path / name, 5)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
