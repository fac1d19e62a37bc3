"""Code of the user's that executors cannot find, or that has changed since they have loaded it."""

import asyncio
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rain.client import AsyncClient, Client, remote
from rain.client.sent.reloads import reloads

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(cpus=2) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that this program imports from."""
    made = tmp_path / "project"
    made.mkdir()
    monkeypatch.setattr(sys, "path", [str(made), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = set(sys.modules)
    yield made
    for name in set(sys.modules) - known:
        del sys.modules[name]


def imported(name: str) -> Any:
    importlib.invalidate_caches()
    return importlib.import_module(name)


def elsewhere(folder: Path) -> Path:
    """Where no executor finds the files, as if they were on another machine."""
    return folder.rename(folder.parent / "elsewhere")


def in_cell(source: str) -> Any:
    """The function `f` of a notebook's cell."""
    cell: dict[str, Any] = {"__name__": "__main__"}
    exec(source, cell)  # noqa: S102 # what a notebook does
    return cell["f"]


def test_functions_of_an_uploaded_module_run_and_the_newest_upload_is_what_runs(
    client: Client, folder: Path
) -> None:
    (folder / "remote_only.py").write_text("def f(x): return x + 1")
    module = imported("remote_only")
    moved = elsewhere(folder)
    with pytest.raises(ModuleNotFoundError):
        client.submit(module.f, 1).result()

    assert client.upload(moved / "remote_only.py") == ["remote_only"]
    assert client.submit(module.f, 1).result() == 2
    assert client.gather(client.map(module.f, range(3))) == [1, 2, 3]

    (moved / "remote_only.py").write_text("def f(x): return x + 100")
    client.upload(moved / "remote_only.py")
    assert client.submit(module.f, 1).result() == 101


def test_all_that_calls_functions_uses_what_was_uploaded(client: Client, folder: Path) -> None:
    package = folder / "remote_package"
    package.mkdir()
    (package / "__init__.py").write_text("from remote_package.inner import f")
    (package / "inner.py").write_text("def f(x): return x + 1")
    module = imported("remote_package")
    moved = elsewhere(folder)

    @remote(auto_encode="pickle", auto_load=True)
    def g(ctx: object, x: int) -> int:
        package: Any = importlib.import_module("remote_package")
        value: int = package.f(x)
        return value

    with client.executor(initializer=module.f, initargs=(1,)) as executor:
        client.upload(moved / "remote_package")
        assert list(executor.map(module.f, range(4), chunksize=2)) == [1, 2, 3, 4]
    with client.new_session("session", fuse=True) as session:
        assert session.compute(g(g(1))).load() == 3

    async def main() -> Any:
        async with AsyncClient(cpus=1) as other:
            assert await other.upload(moved / "remote_package") == ["remote_package"]
            return await other.submit(module.f, 5)

    assert asyncio.run(main()) == 6


def test_a_reloaded_module_is_what_runs_however_it_is_reached(client: Client, folder: Path) -> None:
    (folder / "below.py").write_text("def g(): return 'old'")
    (folder / "above.py").write_text("import below\ndef f(): return below.g()")
    above, below = imported("above"), imported("below")
    inside = in_cell("def f():\n import below\n return below.g()")
    functions: list[Callable[[], str]] = [
        lambda: below.g(),  # noqa: PLW0108 # what it finds under this name is the question
        lambda: above.f(),  # noqa: PLW0108 # as above
        above.f,
        inside,
    ]
    assert [client.submit(f).result() for f in functions] == ["old"] * 4

    (folder / "below.py").write_text("def g(): return 'the new one'")
    importlib.reload(below)

    assert [f() for f in functions] == ["the new one"] * 4
    assert [client.submit(f).result() for f in functions] == ["the new one"] * 4


def test_a_module_that_autoreload_has_patched_is_what_runs(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython's autoreload exchanges what is inside of a loaded module, and reloads nothing."""
    callbacks: list[Callable[[object], None]] = []

    def register(_: str, callback: Callable[[object], None]) -> None:
        callbacks.append(callback)

    shell = SimpleNamespace(events=SimpleNamespace(register=register))
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if one is not reloads])
    (folder / "patched.py").write_text("K = 1\ndef f(): return K")
    module = imported("patched")
    assert client.submit(module.f).result() == 1

    monkeypatch.setitem(sys.modules, "IPython.extensions.autoreload", ModuleType("autoreload"))
    (folder / "patched.py").write_text("K = 1000\ndef f(): return K")
    module.K = 1000
    for begin in callbacks:
        begin("the next cell")
    assert client.submit(module.f).result() == 1000


def test_a_cell_that_is_run_again_sees_changed_files_that_only_executors_have_loaded(
    client: Client, folder: Path
) -> None:
    cell = "def f():\n import only_there\n return only_there.g()"
    (folder / "only_there.py").write_text("def g(): return 'old'")
    assert client.submit(in_cell(cell)).result() == "old"

    (folder / "only_there.py").write_text("def g(): return 'the new one'")

    assert client.submit(in_cell(cell)).result() == "the new one"
    assert not isinstance(sys.modules.get("only_there"), ModuleType)
