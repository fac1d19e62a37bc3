"""Whether a command takes the key of a cluster that was started here, or one that was named."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rain.start.reaching
from rain.base.errors import StartError
from rain.cli.usage_command import usage


@pytest.mark.parametrize(
    ("words", "variables", "is_own"),
    [
        ((), {}, False),
        (("--secret-file", "user-ada.secret"), {}, True),
        (("--tls", "user-ada.pem"), {}, True),
        ((), {"RAIN_SECRET_FILE": "secret"}, False),  # which may be meant for another cluster
    ],
)
def test_a_key_of_the_command_line_is_taken(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    variables: dict[str, str],
    is_own: bool,
) -> None:
    asked: list[bool] = []

    def reach(*_: object, is_own_key: bool, **__: Any) -> None:
        asked.append(is_own_key)
        raise StartError("nobody is there")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rain.start.reaching, "reach", reach)
    CliRunner().invoke(usage, words, env=variables)
    assert asked == [is_own]
