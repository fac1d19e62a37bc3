"""Two users share a cluster: each comes with a key of the own, and sees the own work only."""

from __future__ import annotations

from pathlib import Path

import pytest

from rain.client import Client
from rain.common.errors import ConnectionException, RainException
from rain.common.secret_file import make_secret_file, make_user_secret
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


def double(number: int) -> int:
    return 2 * number


def _ask_for_ever(client: Client) -> None:
    while True:
        client.sessions()


def test_users_with_secrets_of_their_own_do_not_see_each_other(tmp_path: Path) -> None:
    make_secret_file(tmp_path / "secret")
    of_ada, of_bob = (make_user_secret(tmp_path / "secret", name) for name in ("ada", "bob"))
    rules = tmp_path / "users.toml"
    rules.write_text("[users.ada]\n")
    given = ("--secret-file", str(tmp_path / "secret"))
    with (
        server(
            tmp_path, *given, "--users", str(rules), "--journal", str(tmp_path / "journal")
        ) as serving,
        governor(tmp_path, "one", serving.address, 1, *given),
        Client("127.0.0.1", serving.port, secret_file=of_ada) as ada,
        Client("127.0.0.1", serving.port, secret_file=of_bob) as bob,
    ):
        with ada.session("sweep", durable=True) as session:
            assert session.submit(double, 4).result() == 8
        assert [one.name for one in ada.sessions()] == ["sweep"]
        assert bob.sessions() == []
        with pytest.raises(RainException, match="belongs to ada, who has not shared it with bob"):
            bob.session("ada/sweep", durable=True)
        ada.share_session("sweep", "bob")
        with bob.session("ada/sweep", durable=True) as session:
            assert session.submit(double, 4).result() == 8
        with pytest.raises(RainException, match="only the owner of the cluster and admins"):
            bob.terminate_server()
        # A locked user leaves, and does not come back.
        rules.write_text("[users.bob]\nlocked = true\n")
        with pytest.raises(RainException, match="locked"):
            _ask_for_ever(bob)
        with pytest.raises(ConnectionException, match="the user bob is locked"):
            Client("127.0.0.1", serving.port, secret_file=of_bob)
        assert [one.name for one in ada.sessions()] == ["sweep"]
