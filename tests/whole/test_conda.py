"""Tasks in conda environments, which a fake of micromamba makes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rain.client import Client, Env, Program, TaskException
from tests.support.fake_conda import fake_conda

pytestmark = pytest.mark.whole


def test_functions_and_programs_share_a_conda_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    fake_conda(tmp_path)
    (tmp_path / "envs" / "bio").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with_python = Env(conda={"dependencies": ["python", "rain-tool"]})
    tool = Program(["rain-tool"], stdout=True)
    show = Program(["sh", "-c", "echo $CONDA_PREFIX"], stdout=True)
    with Client(cpus=2) as client:
        # when, then: one is made for both
        prefix = client.options(env=with_python).submit(lambda: sys.prefix).result()
        with client.new_session("programs", env=with_python) as session:
            assert session.compute(tool()).get_str() == f"tool of {prefix}\n"
        # when, then: one without Python is for programs
        bare = Env(conda={"dependencies": ["rain-tool"]})
        with client.new_session("bare", env=bare) as session:
            assert session.compute(tool()).get_str().startswith("tool of ")
        with pytest.raises(TaskException, match="has no Python, and functions need"):
            client.options(env=bare).submit(abs, -1).result()
        # when, then: what the tool says is the failure
        missing = Env(conda={"dependencies": ["missing"]})
        with pytest.raises(
            TaskException, match=r"(?s)micromamba create .*exit code 1:.*nothing provides missing"
        ):
            client.options(env=missing).submit(abs, -1).result()
        # when, then: one of the user is used as it is
        with client.new_session("named", env=Env(conda="bio")) as session:
            assert session.compute(show()).get_str() == f"{tmp_path}/envs/bio\n"
    made = (tmp_path / "made").read_text().splitlines()
    assert made == ["python rain-tool", "rain-tool", "missing"]
