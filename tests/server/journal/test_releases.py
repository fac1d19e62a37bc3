"""What each release has written is read by this one, and goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import rain
from rain.server.journal.folder import JournalFolder
from rain.server.journal.recovery import Recovered, recover
from tests.server.journal.releases import FOLDER, KNOWN, SETTINGS, known
from tests.server.journal.test_recovery import finish_all

RELEASES = sorted(path.name for path in FOLDER.iterdir())


def read(release: str, folder: Path, *without: str) -> Recovered:
    shutil.copytree(FOLDER / release, folder)
    for name in without:
        (folder / name).unlink()
    return recover(JournalFolder.open(folder), SETTINGS)


def test_this_release_is_among_them() -> None:
    assert rain.__version__ in RELEASES, "python -m tests.server.journal.releases"


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("without", ["snapshot-00000001", "turns-00000001"])
def test_its_turns_and_its_snapshot_tell_what_it_knew(
    release: str, without: str, tmp_path: Path
) -> None:
    recovered = read(release, tmp_path / "journal", without)
    assert (recovered.damage, recovered.cut) == ("", 0)
    assert recovered.snapshot == (without == "turns-00000001")
    expected = json.loads((FOLDER / release / KNOWN).read_text(encoding="utf-8"))
    assert json.loads(json.dumps(known(recovered.state))) == expected
    # and: all that was not finished can be
    finish_all(recovered.state)
