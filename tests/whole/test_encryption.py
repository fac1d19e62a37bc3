"""A cluster whose links are all encrypted, with real processes."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest

from rain.base.admission import MemberKind
from rain.base.errors import StartError
from rain.client import Client, RainException, get_client
from rain.common.errors import ConnectionException
from rain.start.status import ask_http
from rain.tls import folder
from rain.tls.identity import Identity
from rain.tls.keys import Keys
from tests.support.tls import HOSTS, keep, keys_of
from tests.whole.daemons import Daemon, governor, server

pytestmark = pytest.mark.whole

LARGE = 3_000_000


def square(number: int) -> int:
    return number * number


def sum_of_squares(count: int) -> int:
    """A task that is a client of the server, too."""
    return sum(get_client().gather(get_client().map(square, range(count))))


def large(number: int) -> bytes:
    return bytes([number]) * LARGE


def together(*data: bytes) -> int:
    return sum(map(sum, data))


def secrets_of_this_process() -> list[str]:
    """What stands in the environment and on the command line of a task, and of its governor."""
    said = [*os.environ.values()]
    for pid in ("self", str(os.getppid())):
        said.append(Path(f"/proc/{pid}/cmdline").read_text())
        said.append(Path(f"/proc/{pid}/environ").read_text())
    return said


@contextmanager
def cluster(where: Path, *more: str) -> Generator[tuple[Daemon, Daemon, Daemon]]:
    """A server and two governors that share no files."""
    tls = ("--tls", str(keys_of()))
    alone = (*tls, "--no-share-store")
    with (
        server(where, *tls, *more) as serving,
        governor(where, "one", serving.address, 1, *alone) as one,
        governor(where, "two", serving.address, 1, *alone) as two,
    ):
        yield serving, one, two


def test_calls_data_and_tasks_of_tasks_go_over_encrypted_links(tmp_path: Path) -> None:
    with (
        cluster(tmp_path) as (serving, _, _),
        Client("127.0.0.1", serving.port, tls=keys_of()) as client,
    ):
        assert client.gather(client.map(square, range(100))) == [n * n for n in range(100)]
        assert client.submit(sum_of_squares, 10).result() == 285
        parts = client.map(large, range(4))
        # The parts are made by both governors, and read by one: from the other one.
        assert client.submit(together, *parts).result() == LARGE * 6
        assert client.submit(len, bytes(LARGE)).result() == LARGE  # uploaded to the server
        assert parts[3].result() == large(3)  # read from a governor
        said = "\n".join(client.submit(secrets_of_this_process).result())
        assert "PRIVATE KEY" not in said
    for path in tmp_path.rglob("*"):
        if path.is_file() and "work" not in str(path):
            assert b"PRIVATE KEY" not in path.read_bytes(), path


def test_programs_without_the_right_certificate_are_told_why(tmp_path: Path) -> None:
    tls = ("--tls", str(keys_of()))
    with server(tmp_path, *tls, "--no-http") as serving:
        for wrong, words in (
            (keys_of("two"), "another authority than ours"),
            (None, "everything is encrypted there"),
        ):
            with pytest.raises(ConnectionException, match=words):
                Client("127.0.0.1", serving.port, tls=wrong)
        with pytest.raises(RainException, match="is for a governor, and this is a client"):
            Client("127.0.0.1", serving.port, tls=keys_of() / "governor.pem")


def test_a_lost_key_is_shut_out_while_the_cluster_runs(tmp_path: Path) -> None:
    keys, stolen = tmp_path / "keys", tmp_path / "stolen.pem"
    folder.create(keys, HOSTS, 5)
    keep(stolen, folder.add_client(keys, "ada", 5).read_bytes())
    tls = ("--tls", str(keys))
    with (
        server(tmp_path, *tls, "--no-http") as serving,
        governor(tmp_path, "one", serving.address, 1, *tls),
        Client("127.0.0.1", serving.port, tls=keys) as client,
    ):
        with Client("127.0.0.1", serving.port, tls=stolen) as thief:
            made = thief.submit(large, 7).result()
            assert made == large(7)
        folder.revoke(keys / "client-ada.pem", 5)
        with pytest.raises(ConnectionException, match="our certificate was revoked"):
            Client("127.0.0.1", serving.port, tls=stolen)
        # Others are let in as before, and tasks have clients of their own.
        assert client.submit(sum_of_squares, 5).result() == 30
        with Client("127.0.0.1", serving.port, tls=keys) as another:
            assert another.submit(large, 8).result() == large(8)


def test_clients_and_governors_come_back_to_a_server_that_died(tmp_path: Path) -> None:
    tls = ("--tls", str(keys_of()))
    journal = ("--journal", str(tmp_path / "journal"), "--client-grace", "600", "--no-http")
    with server(tmp_path, *tls, *journal) as first:
        port, address = first.port, first.address
        one = governor(tmp_path, "one", address, 1, *tls)
        with one, Client("127.0.0.1", port, tls=keys_of()) as client:
            before = client.map(square, range(50))
            assert client.gather(before)[-1] == 49 * 49
            first.kill()
            with server(tmp_path, *tls, *journal, "--listen", f"127.0.0.1:{port}"):
                assert client.gather(client.map(square, range(50, 100)))[-1] == 99 * 99
                assert before[7].result() == 49


def asked(serving: Daemon, ours: ssl.SSLContext, **headers: str) -> int:
    """The status with which the server answers a request of a program."""
    host, port = serving.http.split(":")
    connection = HTTPSConnection(host, int(port), context=ours, timeout=30)
    try:
        connection.request("GET", "/status", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_http_is_encrypted_and_takes_certificates_or_the_password(tmp_path: Path) -> None:
    client = Identity.read(keys_of(), MemberKind.CLIENT)
    token = Identity.read(keys_of(), MemberKind.SERVER).secret.http_token()
    browser = ssl.create_default_context(cafile=keys_of() / "client.pem")
    with server(tmp_path, "--tls", str(keys_of())) as serving:
        assert asked(serving, client.for_asking_http) == 200
        assert asked(serving, browser) == 401
        assert asked(serving, browser, authorization=f"Bearer {token}") == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            asked(serving, ssl.create_default_context())
        plain = HTTPConnection(serving.http, timeout=30)
        plain.request("GET", "/status")
        assert b"write https:// instead of http://" in plain.getresponse().read()
        plain.close()
        # One that says nothing is closed, and does not keep others out.
        with socket.create_connection(("127.0.0.1", int(serving.http.split(":")[1]))) as silent:
            assert asked(serving, client.for_asking_http) == 200
            silent.settimeout(30)
            assert silent.recv(1) == b""
        assert token not in serving.errors.read_text()


def test_the_certificate_of_a_user_opens_http_and_shows_the_own_sessions(tmp_path: Path) -> None:
    papers = tmp_path / "keys"
    shutil.copytree(keys_of(), papers)
    subprocess.run(
        [sys.executable, "-m", "rain", "keys", "user", "ada", "--folder", str(papers)], check=True
    )
    folder.renew(papers, 30, ["head.example"])
    browser = ssl.create_default_context(cafile=papers / "client.pem")
    ada = Keys(None, Identity.read(papers / "user-ada.pem", MemberKind.CLIENT))
    with (
        server(tmp_path, "--tls", str(papers)) as serving,
        Client("127.0.0.1", serving.port, tls=papers) as owner,
        owner.session("work of the owner"),
    ):
        assert ask_http(serving.http, ada)["sessions"] == []
        # Names in the certificate of the server are its own, and others are not.
        assert asked(serving, browser, host="Head.example") == 401
        assert asked(serving, browser, host="tail.example") == 403
        with pytest.raises(StartError, match="403 Forbidden: ada may not see the session 1"):
            ask_http(serving.http, ada, "/api/session?session=1")


def test_a_program_whose_environment_names_certificates_may_start_a_cluster_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAIN_TLS", str(keys_of()))
    with Client(cpus=1) as client:
        assert client.submit(sum_of_squares, 3).result() == 5
