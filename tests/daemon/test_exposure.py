"""What other machines reach needs a secret, or somebody who insists."""

from __future__ import annotations

import pytest

from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.daemon.exposure import check_exposure, is_loopback

SECRET = Secret.of("0123456789abcdef")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.0.1", "::1", "[::1]"])
def test_this_machine_alone_reaches_these(host: str) -> None:
    assert is_loopback(host)
    check_exposure(host, None, insecure=False, risk="run programs here")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "node", ""])
def test_others_reach_these_and_need_a_secret(host: str) -> None:
    with pytest.raises(StartError, match="could run programs here: use --tls or --secret-file"):
        check_exposure(host, None, insecure=False, risk="run programs here")
    check_exposure(host, SECRET, insecure=False, risk="run programs here")
    check_exposure(host, None, insecure=True, risk="run programs here")
