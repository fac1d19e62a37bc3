"""A server of this machine lets its own user in, and nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.client import Client
from rain.common.errors import RainException
from rain.daemon.user_key import user_key
from rain.start.status import ask_http
from rain.tls.keys import Keys
from tests.whole.daemons import daemon, server

_OTHER = """
import os, sys
import encodings.idna
from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.client import Client
from rain.common.errors import RainException
from rain.start.status import ask_http
from rain.tls.keys import Keys
from rain.client.connection import ConnectionException
try:
    Client("localhost", 1)  # loads all that it needs, while the files of Rain can be read
except ConnectionException:
    pass
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.environ["XDG_STATE_HOME"] = sys.argv[2]
try:
    Client("localhost", sys.argv[1])
except ConnectionException as error:
    print(error)
"""


def test_the_same_user_gets_in_unasked_and_another_one_is_told_what_to_do(tmp_path: Path) -> None:
    # Another user has another key; who may become nobody is one for real.
    other = Path("/tmp") / f"rain-test-{os.getpid()}"
    other.mkdir()
    other.chmod(0o777)
    try:
        options = ("--listen", "127.0.0.1:0", "--no-http")
        with daemon(tmp_path, "server", "server", *options) as serving:
            with Client("localhost", serving.port) as client:
                assert client.get_server_info() == {"governors": []}
            finished = subprocess.run(
                [sys.executable, "-c", _OTHER, str(serving.port), str(other)],
                capture_output=True,
                text=True,
                check=True,
            )
            assert "ask its owner to start it with --secret-file" in finished.stdout
            assert len(finished.stdout.splitlines()) == 1
            assert user_key()[0].key.decode() not in serving.errors.read_text()
    finally:
        subprocess.run(["rm", "-rf", str(other)], check=True)


def test_http_on_loopback_asks_for_what_its_owner_is_told(tmp_path: Path) -> None:
    with server(tmp_path) as serving:
        # nobody reads without the token
        for path in ("/", "/status", "/dashboard/", "/lite/", "/api/sessions"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"http://{serving.http}{path}")
            assert refused.value.code == 401
            refused.value.close()

        # who follows the URL as browsers do reaches the dashboard
        url = told("--url", serving.http)
        where = urlsplit(url)
        assert where.password == told(serving.http)
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        base = f"http://{where.hostname}:{where.port}/"
        passwords.add_password(None, base, where.username or "", where.password or "")
        browser = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
        with closing(browser.open(base)) as page:
            assert page.url == f"{base}dashboard/"
            assert b"<html" in page.read()

        # and the server has said the same
        assert url in serving.errors.read_text()


def test_the_dashboard_of_a_user_is_found_by_its_client_and_shows_the_own_sessions(
    tmp_path: Path,
) -> None:
    secret = Secret.of("0123456789abcdef")
    files = {name: tmp_path / f"{name or 'owner'}.secret" for name in ("", "ada", "bob")}
    for name, file in files.items():
        file.touch(0o600)
        file.write_bytes((secret.for_user(name) if name else secret).spell())
    with server(tmp_path, "--secret-file", str(files[""])) as serving:
        ada, bob = (
            Client("127.0.0.1", serving.port, secret_file=files[name]) for name in ("ada", "bob")
        )
        with ada, bob, ada.session("work of ada"), bob.session("work of bob"):
            url = ada.dashboard_url
            token = url.partition("@")[0].rpartition(":")[2]
            assert token == told("--user", "ada", "--secret-file", str(files[""]), serving.http)
            asked = urllib.request.Request(
                f"http://{serving.http}/status", headers={"authorization": f"Bearer {token}"}
            )
            with closing(urllib.request.urlopen(asked)) as answer:
                shown = answer.read()
            assert b"work of ada" in shown
            assert b"work of bob" not in shown
            with pytest.raises(StartError, match="403 Forbidden: bob may not see the"):
                ask_http(serving.http, Keys(secret.for_user("bob")), "/api/session?session=1")
            with pytest.raises(RainException, match="only the owner of the cluster and admins"):
                ada.terminate_server()


def told(*arguments: str) -> str:
    command = [sys.executable, "-m", "rain", "token", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
