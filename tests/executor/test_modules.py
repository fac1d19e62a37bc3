"""Modules of the user's own folders: found, kept apart, and asked for by name."""

import importlib
import io
import sys
import time
import zipfile
from collections.abc import Sequence
from decimal import localcontext
from pathlib import Path
from typing import Any

import pytest

from rain.base import executor_protocol as protocol
from rain.common.imports import Imports, imports_of, with_imports
from rain.common.number_settings import number_settings
from tests.executor.child import PLAIN, Child, Function, child, number


def remember(
    executor: Child, function: Function, key: str, *folders: Path, uploads: Sequence[bytes] = ()
) -> int:
    """Tells a function of a program that imports from these folders."""
    return remember_with(executor, function, Imports(key, (*map(str, folders),), (*uploads,)))


def remember_with(executor: Child, function: Function, imports: Imports) -> int:
    """The same, with all that is told."""
    executor.functions += 1
    function_id = number(executor.functions)
    data = with_imports(executor.pickled(function), imports)
    row = [function_id, number(PLAIN), "", "", 0, data]
    executor.say(protocol.CALLS, 1, [], [], [row], [], None)
    return function_id


def a_folder(parent: Path, name: str, **modules: str) -> Path:
    folder = parent / name
    folder.mkdir(exist_ok=True)
    for module, text in modules.items():
        path = folder / f"{module.replace('__', '/').replace('INIT', '__init__')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def look() -> Function:
    def looking(ctx: Any) -> Any:
        beside: Any = importlib.import_module("beside")

        beside.calls += 1
        return [beside.name, beside.calls]

    return looking


def telling() -> Function:
    """Looks, and tells what a function would be told with that the task submits."""
    looking: Any = look()

    def tell(ctx: Any) -> Any:
        seen = looking(ctx)
        brought: Any = importlib.import_module("rain.client.brought.imports")
        imports: Any = importlib.import_module("rain.common.imports")

        return [seen, imports.with_imports(b"", brought.own_imports((), ()))]

    return tell


def read_again(told: bytes) -> Imports:
    imports = imports_of(told)
    assert imports is not None
    return imports


def test_a_task_imports_what_is_beside_the_script(executor: Child, tmp_path: Path) -> None:
    folder = a_folder(tmp_path, "a", beside="name, calls = 'a', 0")

    assert executor.value(remember(executor, look(), "key", folder)) == ["a", 1]


def test_programs_with_modules_of_one_name_do_not_meet(executor: Child, tmp_path: Path) -> None:
    a = a_folder(tmp_path, "a", beside="name, calls = 'a', 0")
    b = a_folder(tmp_path, "b", beside="name, calls = 'b', 0")
    of_a, of_b = remember(executor, look(), "1", a), remember(executor, look(), "2", b)

    said = [executor.value(function) for function in (of_a, of_b, of_a, of_a, of_b)]

    assert said == [["a", 1], ["b", 1], ["a", 2], ["a", 3], ["b", 2]]


def test_a_program_that_is_started_again_gets_the_changed_module(
    executor: Child, tmp_path: Path
) -> None:
    folder = a_folder(tmp_path, "a", beside="name, calls = 'before', 0")
    assert executor.value(remember(executor, look(), "first", folder)) == ["before", 1]
    a_folder(tmp_path, "a", beside="name, calls = 'after it', 0")

    assert executor.value(remember(executor, look(), "second", folder)) == ["after it", 1]


def test_modules_that_read_the_arguments_of_the_program_find_them(
    executor: Child, tmp_path: Path
) -> None:
    def rate(ctx: Any) -> Any:
        settings: Any = importlib.import_module("settings")

        return settings.rate

    folder = a_folder(tmp_path, "a", settings="import sys\nrate = sys.argv[1:]")
    rates = [
        executor.value(remember_with(executor, rate, Imports("key", (str(folder),), arguments=one)))
        for one in ((b"script.py", b"0.1"), (b"script.py", b"\xff"), (b"script.py", b"0.1"), ())
    ]
    assert rates == [["0.1"], ["\udcff"], ["0.1"], []]


def test_each_function_calculates_as_its_program_did_when_it_was_sent(executor: Child) -> None:
    def third(ctx: Any) -> Any:
        decimal: Any = importlib.import_module("decimal")

        return str(1 / decimal.Decimal(3))

    settings = [number_settings()]  # none
    for digits in (2, 5):
        with localcontext(prec=digits):
            settings.append(number_settings())
    plain, two, five = (
        remember_with(executor, third, Imports("key", (), numbers=one)) for one in settings
    )
    said = [executor.value(function) for function in (plain, two, five, two, five, plain)]
    assert said == ["0." + digits * "3" for digits in (28, 2, 5, 2, 5, 28)]


def test_what_a_task_submits_shares_the_modules_of_its_program(
    executor: Child, tmp_path: Path
) -> None:
    tell = telling()
    folder = a_folder(tmp_path, "a", beside="name, calls = 'a', 0")
    program = Imports("key", (str(folder),), looked=time.time() + 1)  # no file is newer
    first, told = executor.value(remember_with(executor, tell, program))
    second, told_again = executor.value(remember_with(executor, tell, read_again(told)))

    assert (first, second) == (["a", 1], ["a", 2])  # the module was loaded once
    assert told == told_again
    assert read_again(told) == program


def test_a_task_that_submits_after_a_module_has_changed_gets_the_new_one(
    executor: Child, tmp_path: Path
) -> None:
    folder = a_folder(tmp_path, "a", beside="name, calls = 'before', 0")
    program = Imports("key", (str(folder),))  # all files are newer
    first, told = executor.value(remember_with(executor, telling(), program))
    a_folder(tmp_path, "a", beside="name, calls = 'after it', 0")
    _, told_later = executor.value(remember_with(executor, telling(), read_again(told)))

    assert first == ["before", 1]
    assert executor.value(remember_with(executor, look(), read_again(told_later))) == [
        "after it",
        1,
    ]


def test_packages_and_folders_without_a_file_are_kept_apart_too(
    executor: Child, tmp_path: Path
) -> None:
    def looking(ctx: Any) -> Any:
        inner: Any = importlib.import_module("plain.inner")

        return inner.name

    a = a_folder(tmp_path, "a", plain__inner="name = 'a'")
    b = a_folder(tmp_path, "b", plain__inner="name = 'b'")
    functions = [remember(executor, looking, str(folder), folder) for folder in (a, b, a)]

    assert [executor.value(function) for function in functions] == ["a", "b", "a"]


def test_what_is_installed_stays_loaded_once(executor: Child, tmp_path: Path) -> None:
    def of_numpy(ctx: Any) -> int:
        import numpy as np  # noqa: PLC0415 # in a task

        return id(np)

    ids = {
        executor.value(remember(executor, of_numpy, key, a_folder(tmp_path, key)))
        for key in ("a", "b", "c")
    }
    assert len(ids) == 1


def said_before_and_after(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, compiled: bool = False
) -> list[object]:
    """What two programs get from a module in PYTHONPATH that is changed between them."""
    own = a_folder(tmp_path, "own", beside__INIT="from beside.inner import name, calls")
    a_folder(tmp_path, "own", beside__inner="name, calls = 'before', 0")
    if compiled:
        (own / "beside" / "__init__.py").write_text(
            "import sys, numpy.random.mtrand\nfrom beside.inner import name, calls\n"
            "sys.modules['beside.fast'] = numpy.random.mtrand\n"
        )
    monkeypatch.setenv("PYTHONPATH", str(own))
    room = tmp_path / "executor"
    room.mkdir()
    with child(room) as executor:
        first, script = look(), a_folder(tmp_path, "script")
        before = executor.value(remember(executor, first, "first", script))
        a_folder(tmp_path, "own", beside__inner=f"name, calls = {change!r}, 0")
        return [before, executor.value(remember(executor, look(), "second", script, own))]


def test_code_that_is_not_installed_is_loaded_anew_for_the_next_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = said_before_and_after("after it", tmp_path, monkeypatch)
    assert said == [["before", 1], ["after it", 1]]


def test_compiled_packages_stay_since_they_cannot_be_loaded_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = said_before_and_after("after it", tmp_path, monkeypatch, compiled=True)
    assert said == [["before", 1], ["before", 2]]


def test_what_pip_has_put_into_a_folder_of_the_path_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own" / "beside-1.0.dist-info").mkdir(parents=True)
    said = said_before_and_after("after it", tmp_path, monkeypatch)
    assert said == [["before", 1], ["before", 2]]


def test_a_function_that_tells_no_folders_sees_no_module_of_others(
    executor: Child, tmp_path: Path
) -> None:
    folder = a_folder(tmp_path, "a", beside="name, calls = 'a', 0")
    assert executor.value(remember(executor, look(), "key", folder)) == ["a", 1]

    text = executor.failure(look())

    assert text.rstrip().endswith("ModuleNotFoundError: No module named 'beside'")


def archive(**modules: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as files:
        for module, text in modules.items():
            name = f"{module.replace('__', '/').replace('INIT', '__init__')}.py"
            files.writestr(name, text)
    return made.getvalue()


def test_what_was_uploaded_is_imported_before_what_is_beside_the_script(
    executor: Child, tmp_path: Path
) -> None:
    folder = a_folder(tmp_path, "a", beside="name, calls = 'a', 0")
    first = archive(beside="name, calls = 'first', 0")
    second = archive(beside="name, calls = 'second', 0")

    plain = remember(executor, look(), "1", folder)
    uploaded = remember(executor, look(), "2", folder, uploads=[first])
    newer = remember(executor, look(), "3", folder, uploads=[second, first])

    assert executor.value(plain) == ["a", 1]
    assert executor.value(uploaded) == ["first", 1]
    assert executor.value(newer) == ["second", 1]
    assert executor.value(uploaded) == ["first", 2]
    assert executor.value(plain) == ["a", 2]


def test_what_was_uploaded_hides_what_is_installed_only_where_it_was_uploaded(
    executor: Child,
) -> None:
    def looking(ctx: Any) -> Any:
        attr: Any = importlib.import_module("attr")

        return getattr(attr, "uploaded", False)

    plain = remember(executor, looking, "1")
    uploaded = remember(executor, looking, "2", uploads=[archive(attr__INIT="uploaded = True")])

    assert [executor.value(one) for one in (plain, uploaded, plain)] == [False, True, False]


def test_uploaded_modules_find_the_files_beside_them(executor: Child) -> None:
    def looking(ctx: Any) -> str:
        package: Any = importlib.import_module("package")

        return (Path(package.__file__).parent / "data.py").read_text()

    uploads = [archive(package__INIT="", package__data="here")]

    assert executor.value(remember(executor, looking, "key", uploads=uploads)) == "here"


def test_on_another_machine_a_line_says_what_to_do(executor: Child, tmp_path: Path) -> None:
    text = executor.failure(remember(executor, look(), "key", tmp_path / "elsewhere"))

    *_, error, advice = text.splitlines()
    assert error == "ModuleNotFoundError: No module named 'beside'"
    assert f"The client's folder {tmp_path / 'elsewhere'} is not on the machine" in advice
    assert "client.upload(path)" in advice


def test_what_is_in_no_folder_must_be_installed(executor: Child, tmp_path: Path) -> None:
    text = executor.failure(remember(executor, look(), "key", a_folder(tmp_path, "a")))

    assert "'beside' is neither in the environment of the governor" in text.splitlines()[-1]


@pytest.mark.parametrize("data", [b"", b"x" * 12, b"x" * 50, b"\xff" * 8 + b"rainpath"])
def test_a_pickle_need_not_tell_any_folders(data: bytes) -> None:
    assert imports_of(data) is None


def test_what_is_told_behind_a_pickle_is_read_again() -> None:
    imports = Imports("key", ("/a", *sys.path), (b"an archive",))
    assert imports_of(with_imports(b"pickle", imports)) == imports
