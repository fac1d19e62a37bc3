"""Settings that hold for every test.

Hypothesis runs without deadlines, since a loaded machine is not a fault, and
prints what reproduces a failure. The profile `long` searches ten times longer:
`pytest --hypothesis-profile=long --timeout=0`.

Every server and governor that a test starts inherits the debug mode: the consistency checker runs
after each of its turns.
"""

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import leaks

settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")

os.environ["RAIN_DEBUG_MODE"] = "1"
leaks.mark_all()

WITH_PROCESSES = {"adapters", "examples", "local", "start", "tls", "whole"}
"""Folders of tests that start processes, marked `whole` or not."""


@pytest.fixture(scope="session", autouse=True)
def state_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The key, the clusters and the cache of the tests are not those of the user who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def temporary_files_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary files of the tests and of all that they start are in one folder of this run."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("t"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_of_the_module(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nor does a cluster that all tests of a module share."""
    yield from leaks.none_left(request.path.parent.name in WITH_PROCESSES)


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that starts processes leaves none of them, and no thread, descriptor or file."""
    is_whole = request.node.get_closest_marker("whole") is not None
    yield from leaks.none_left(is_whole or request.path.parent.name in WITH_PROCESSES)


@pytest.fixture
def cluster_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where embedded clusters make their folders, which stay if a process has died: no leaks."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_collections() -> Iterator[None]:
    """For tests in which code is interrupted at any instruction.

    hypothesis measures the garbage collector in a function that is called by it. One that is
    interrupted has nobody to raise to.
    """
    gc.disable()
    yield
    gc.enable()
