"""What a program tells of where its functions come from, and what its tasks tell."""

import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from rain.client.brought.imports import own_imports
from rain.common import imports
from rain.common.errors import RainException
from rain.common.imports import CallingProgram, note_program


@pytest.fixture
def program() -> Iterator[float]:
    """As if a function of a program ran here that began then."""
    began = 1_700_000_000.0
    yield began
    note_program(None)


def load(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, since: float) -> None:
    """A module is loaded whose file is as it is since then."""
    file = folder / f"{name}.py"
    file.touch()
    os.utime(file, (since, since))
    module = types.ModuleType(name)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, name, module)


def test_what_has_changed_does_not_depend_on_what_else_was_loaded(
    tmp_path: Path, program: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    note_program(CallingProgram(program, (), ()))
    before = own_imports((), ())
    load(monkeypatch, tmp_path, "mine_and_old", program - 1)
    after = own_imports((), ())
    assert after.changed == before.changed
    assert after.key != before.key
    load(monkeypatch, tmp_path, "mine_and_new", program + 1)
    assert own_imports((), ()).changed != before.changed


def test_editable_packages_count_wherever_their_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])  # as for a package with a finder of its own
    before = own_imports((), ()).key
    load(monkeypatch, tmp_path, "mine", 1_700_000_000.0)
    loaded = own_imports((), ()).key
    load(monkeypatch, tmp_path, "mine", 1_700_000_001.0)
    assert len({before, loaded, own_imports((), ()).key}) == 3


def test_a_task_passes_on_what_its_program_has_uploaded_and_not_where_that_is_here(
    tmp_path: Path, program: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(other)])
    alone = own_imports((), ()).key
    note_program(CallingProgram(program, (b"an archive",), (str(tmp_path),)))
    told = own_imports((), ())
    assert told.uploads == (b"an archive",)
    assert told.folders == (str(other),)
    assert told.began == program
    assert told.key != alone


def test_programs_in_zip_files_tell_of_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, missing = tmp_path / "program.pyz", tmp_path / "python311.zip"
    program.touch()
    monkeypatch.setattr(sys, "path", [str(program), str(missing), str(tmp_path)])
    assert own_imports((), ()).folders == (str(program), str(tmp_path))


def test_a_folder_whose_name_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"no UTF-8: \xff")
    folder.mkdir()
    monkeypatch.chdir(folder)

    with pytest.raises(RainException, match=r"folder b'.*no UTF-8: .*xff' cannot be sent"):
        own_imports((), ())


def test_outside_of_tasks_there_is_no_program() -> None:
    assert imports.running_program() is None
