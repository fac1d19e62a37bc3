"""The gpus of a call, in its process."""

from __future__ import annotations

import os
import pickle
import subprocess
from typing import Any

import pytest

from rain.base import executor_protocol as protocol
from rain.executor.cpus_and_gpus import visible_gpus
from tests.executor.child import Child

VISIBLE = "CUDA_VISIBLE_DEVICES"


def see(ctx: Any) -> tuple[tuple[str, ...], str | None, str]:
    """What the context says, what the environment says, and what a program sees."""
    import os  # noqa: PLC0415 -- this runs in another process
    import subprocess  # noqa: PLC0415 -- as above

    shown = subprocess.run(
        ["/bin/sh", "-c", 'printf %s "$CUDA_VISIBLE_DEVICES"'], capture_output=True, check=True
    )
    return ctx.gpus, os.environ.get("CUDA_VISIBLE_DEVICES"), shown.stdout.decode()


def seen(executor: Child, gpus: list[str] | None) -> Any:

    kind, row = executor.row(executor.remember(see))
    executor.post(1)
    executor.say(protocol.CALLS, 1, [kind], [], [], [row], gpus)
    result = executor.answer()[2]
    assert not isinstance(result, str), result
    return pickle.loads(result[0])


@pytest.mark.whole
def test_a_call_sees_its_gpus_and_the_next_one_sees_its_own(
    executor: Child,
) -> None:
    assert seen(executor, ["0", "GPU-5"]) == (("0", "GPU-5"), "0,GPU-5", "0,GPU-5")
    assert seen(executor, []) == ((), "", "")
    assert seen(executor, ["1"]) == (("1",), "1", "1")
    # Where the governor has no gpus, everything is as the governor was started.
    before = os.environ.get(VISIBLE)
    assert seen(executor, None) == ((), before, before or "")


@pytest.mark.parametrize("before", [None, "7"])
def test_the_environment_is_restored_also_when_the_call_changes_it(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is None:
        monkeypatch.delenv(VISIBLE, raising=False)
    else:
        monkeypatch.setenv(VISIBLE, before)
    with visible_gpus(("0", "1")):
        assert os.environ[VISIBLE] == "0,1"
        assert subprocess.check_output(["/usr/bin/env"]).decode().count(f"{VISIBLE}=0,1\n") == 1
        del os.environ[VISIBLE]
    assert os.environ.get(VISIBLE) == before
