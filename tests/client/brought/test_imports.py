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
from rain.common.imports import (
    CallingProgram,
    Imports,
    imports_of,
    note_program,
    with_imports,
)
from rain.common.log_settings import LogSettings

BEGAN = 1_700_000_000.0
LOOKED = 4_000_000_000.0  # after the changes of all files that other tests have made


@pytest.fixture
def program() -> Iterator[Imports]:
    """As if a function of a program ran here that has told this."""
    logging = LogSettings(10, levels=(("mine", 20),))
    sent = Imports("key", ("/of/program",), (b"an archive",), logging, BEGAN, "some", looked=LOOKED)
    told = imports_of(with_imports(b"", sent))
    assert told is not None
    note_program(CallingProgram(told, tuple(sys.path)))
    yield told
    note_program(None)


def load(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, since: float) -> None:
    """A module is loaded whose file is as it is since then."""
    file = folder / f"{name}.py"
    file.touch()
    os.utime(file, (since, since))
    module = types.ModuleType(name)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, name, module)


def test_a_task_tells_what_its_program_has_told_whatever_else_was_loaded(
    tmp_path: Path, program: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(monkeypatch, tmp_path, "mine_and_old", BEGAN - 1)
    load(monkeypatch, tmp_path, "mine_and_known_to_the_program", LOOKED - 1)
    assert own_imports((), ()).of_modules == program.of_modules


def test_what_has_changed_since_tells_functions_of_tasks_apart(
    tmp_path: Path, program: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(monkeypatch, tmp_path, "mine_and_new", LOOKED + 1)
    told = own_imports((), ())
    assert told.changed != program.changed
    note_program(CallingProgram(told, tuple(sys.path)))
    assert own_imports((), ()).changed == told.changed


def test_a_task_looks_at_the_files_of_modules_that_have_taken_the_place_of_others(
    tmp_path: Path, program: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(monkeypatch, tmp_path, "mine_and_old", BEGAN - 1)
    assert own_imports((), ()).changed == program.changed
    monkeypatch.delitem(sys.modules, "mine_and_old")
    load(monkeypatch, tmp_path, "mine_and_new", LOOKED + 1)
    assert own_imports((), ()).changed != program.changed


def test_editable_packages_count_wherever_their_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])  # as for a package with a finder of its own
    before = own_imports((), ()).key
    load(monkeypatch, tmp_path, "mine", 1_700_000_000.0)
    loaded = own_imports((), ()).key
    load(monkeypatch, tmp_path, "mine", 1_700_000_001.0)
    assert len({before, loaded, own_imports((), ()).key}) == 3


def test_a_task_passes_on_what_it_has_added_and_not_what_is_known_here(
    tmp_path: Path, program: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    added, ours = tmp_path / "added", tmp_path / "ours"
    for folder in (added, ours):
        folder.mkdir()
    note_program(CallingProgram(program, (str(ours),)))
    monkeypatch.setattr(sys, "path", [str(added), str(ours)])
    assert own_imports((), ()).folders == (str(added), "/of/program")


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


def test_the_arguments_of_the_program_are_told_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py", "--rate=1", "\udcff"])
    assert own_imports((), ()).arguments == (b"script.py", b"--rate=1", b"\xff")
