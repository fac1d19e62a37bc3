"""`rain journal` without a folder takes the usual one, or names those that are there."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.cli import cli


def test_without_a_journal_at_the_usual_port_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(StartError) as none:
        cli.main(["journal"], standalone_mode=False)
    assert str(none.value) == "no server of yours has written a journal for the port 7210"

    other = tmp_path / "rain" / "journals" / f"{socket.gethostname()}-7301"
    other.mkdir(mode=0o700)
    with pytest.raises(StartError) as one:
        cli.main(["journal"], standalone_mode=False)
    assert str(one.value).endswith(f"; write rain journal FOLDER with one of these:\n  {other}")
