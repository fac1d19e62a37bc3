"""Two users share a cluster: each comes with a key of the own, and sees the own work only."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

from rain.cli import cli
from rain.client import Client, Future
from rain.common.errors import ConnectionException, RainException
from rain.common.secret_file import make_secret_file, make_user_secret
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole


def double(number: int) -> int:
    return 2 * number


def result_of(reference: bytes) -> int:
    """What a pickled future is for, asked for by a task."""
    future: Future[int] = pickle.loads(reference)
    return future.result()


def told_by(*command: str) -> str:
    told = CliRunner().invoke(cli, command)
    assert told.exit_code == 0, told.exception
    return told.output


def _ask_for_ever(client: Client) -> None:
    while True:
        client.sessions()


def test_users_with_secrets_of_their_own_do_not_see_each_other(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    make_secret_file(secret)
    of_ada, of_bob = (make_user_secret(secret, name) for name in ("ada", "bob"))
    rules = tmp_path / "users.toml"
    rules.write_text("[users.ada]\n")
    given = ("--secret-file", str(secret))
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
        for key, lines in ((secret, 2), (of_ada, 2), (of_bob, 1)):
            csv = told_by("usage", serving.address, "--csv", "--secret-file", str(key)).splitlines()
            assert csv[0] == "user,since,tasks,cpu_seconds,bytes,byte_seconds"
            ran = [line for line in csv[1:] if line.split(",")[2] != "0"]
            assert len(ran) == lines - 1  # bob has found what ada has made, and only stored it
            assert all(line.startswith("ada,") for line in ran)
        told = told_by("status", serving.address, "--secret-file", str(of_bob))
        assert "Sessions are not shown" not in told
        assert "No session" in told_by("queue", serving.address, "--secret-file", str(of_ada))
        # A task has the rights of its user, whatever the key of its executor is.
        made = ada.submit(double, 5)
        reference = pickle.dumps(made)
        assert ada.submit(result_of, reference).result() == 10
        with pytest.raises(RainException, match="belongs to ada, and bob may not see it"):
            bob.submit(result_of, reference).result()
        # A locked user leaves, and does not come back.
        rules.write_text("[users.bob]\nlocked = true\n")
        with pytest.raises(RainException, match="locked"):
            _ask_for_ever(bob)
        with pytest.raises(ConnectionException, match="the user bob is locked"):
            Client("127.0.0.1", serving.port, secret_file=of_bob)
        assert [one.name for one in ada.sessions()] == ["sweep"]
