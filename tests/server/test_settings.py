"""Where a server serves HTTP."""

from __future__ import annotations

import pytest

from rain.server.settings import Address, HttpSettings, http_settings

HERE = ("127.0.0.1", 7210)


@pytest.mark.parametrize(
    ("listen", "wanted", "own_port"),
    [
        (HERE, "", None),
        (HERE, "7210", None),  # said twice
        (HERE, "http://127.0.0.1:7210/", None),
        (HERE, "7222", ("127.0.0.1", 7222)),
        (HERE, "10.0.0.1", ("10.0.0.1", 7222)),
        (("0.0.0.0", 7210), "7210", ("127.0.0.1", 7210)),  # which cannot be listened on
        (("127.0.0.1", 0), "0", ("127.0.0.1", 0)),  # two free ports
    ],
)
def test_http_is_at_the_port_of_the_server_or_only_where_it_is_wanted(
    listen: Address, wanted: str, own_port: Address | None
) -> None:
    found = http_settings(listen, wanted, ("head",), None)
    assert found == HttpSettings(own_port, ("head", (own_port or listen)[0]), None)


def test_none_is_nowhere() -> None:
    assert http_settings(HERE, "none", (), None) is None
