"""Settings that hold for every test.

Hypothesis runs without deadlines, since a loaded machine is not a fault, and
prints what reproduces a failure. The profile `long` searches ten times longer:
`pytest --hypothesis-profile=long --timeout=0`.

Every server and governor that a test starts inherits the debug mode: the consistency checker runs
after each of its turns.
"""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("default"), max_examples=1000)
settings.load_profile("default")

os.environ["RAIN_DEBUG_MODE"] = "1"


@pytest.fixture(scope="session", autouse=True)
def state_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The key, the clusters and the cache of the tests are not those of the user who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def no_collections() -> Iterator[None]:
    """For tests in which code is interrupted at any instruction.

    hypothesis measures the garbage collector in a function that is called by it. One that is
    interrupted has nobody to raise to.
    """
    gc.disable()
    yield
    gc.enable()
