"""What can be uploaded, and that functions take it along."""

import zipfile
from pathlib import Path

import pytest

from rain.client import RainException, remote
from rain.client.brought import uploads as registry
from rain.client.brought.packing import packed
from rain.client.brought.uploads import Uploads
from rain.client.staging import bytes_of
from rain.common.imports import imports_of
from tests.client.fake import World


def package(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def contents(archive: bytes, folder: Path) -> dict[str, bytes]:
    path = folder / "made.zip"
    path.write_bytes(archive)
    with zipfile.ZipFile(path) as files:
        return {name: files.read(name) for name in files.namelist()}


def test_a_module_is_packed_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("n = 1")

    upload = packed(tmp_path / "mine.py")

    assert upload.names == {"mine"}
    assert contents(upload.archive, tmp_path) == {"mine.py": b"n = 1"}


def test_a_package_is_packed_with_its_data_and_without_what_python_makes(tmp_path: Path) -> None:
    folder = package(tmp_path / "mine", inner="n = 1")
    (folder / "table.csv").write_text("1,2")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "inner.pyc").touch()
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "large").touch()

    upload = packed(folder)

    assert upload.names == {"mine"}
    assert set(contents(upload.archive, tmp_path)) == {
        "mine/__init__.py",
        "mine/inner.py",
        "mine/table.csv",
    }


@pytest.mark.parametrize("name", ["mine.zip", "mine-1.0-py3-none-any.whl"])
def test_an_archive_may_have_several_modules(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        archive.writestr("one.py", "")
        archive.writestr("two/__init__.py", "")
        archive.writestr("two-1.0.dist-info/METADATA", "")

    assert packed(tmp_path / name).names == {"one", "two"}


def test_equal_files_make_equal_archives(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent).mkdir()
        package(tmp_path / parent / "mine", x="1", y="2")
    one, other = packed(tmp_path / "a" / "mine"), packed(tmp_path / "b" / "mine")

    assert one == other
    assert one.archive == other.archive


def test_what_cannot_be_uploaded_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.txt").touch()
    (tmp_path / "random.py").touch()
    (tmp_path / "broken.zip").write_bytes(b"no archive")
    for name, file in {"data": "table.csv", "compiled": "fast.so", "outside": "../m.py"}.items():
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr("good.py" if name != "data" else "other.csv", "")
            archive.writestr(file, "")
    refused = {
        "nowhere.py": "there is no",
        "folder": "has no __init__.py",
        "text.txt": "is not Python code",
        "random.py": "would hide the module 'random'",
        "broken.zip": "cannot be read as an archive",
        "data.zip": "no module in",
        "compiled.zip": "compiled module, fast.so: install it",
        "outside.zip": "outside of itself",
    }
    for name, why in refused.items():
        with pytest.raises(RainException, match=why):
            packed(tmp_path / name)


def test_the_newest_upload_of_a_module_replaces_the_others(tmp_path: Path) -> None:
    uploads = Uploads()
    mine, other = tmp_path / "mine.py", tmp_path / "other.py"
    for file in (mine, other):
        file.write_text("n = 1")
        assert uploads.add(file) == [file.stem]
    before = uploads.current
    uploads.add(str(other))
    assert uploads.current is before  # nothing has changed

    mine.write_text("n = 2")
    uploads.add(mine)

    assert [one.names for one in uploads.current] == [{"mine"}, {"other"}]


def test_more_than_functions_can_take_along_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "LARGEST", 300)
    uploads = Uploads()
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").touch()
    uploads.add(tmp_path / "one.py")
    uploads.add(tmp_path / "two.py")
    (tmp_path / "large.py").write_bytes(bytes(range(256)))

    with pytest.raises(RainException, match="more than 300B: install"):
        uploads.add(tmp_path / "large.py")
    assert len(uploads.current) == 2


def test_functions_are_told_anew_after_an_upload(here: World, tmp_path: Path) -> None:
    @remote()
    def f(ctx: object) -> str:
        return "x"

    (tmp_path / "mine.py").touch()
    with here.session:
        first, second = f(), f()
        here.client.upload(tmp_path / "mine.py")
        third = f()

    assert second.inputs[0] is first.inputs[0]
    told = [bytes_of(task.inputs[0].constant or b"") for task in (first, third)]
    archives = [(imports_of(one) or ((), (), ()))[2] for one in told]
    assert archives[0] == ()
    assert archives[1] == (here.client.uploads.current[0].archive,)
