"""Calls the programs of a batch system."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from rain.base.errors import StartError

_SECONDS = 60.0  # a batch system under load may think for long


def call(command: Sequence[str], script: str = "", *, may_fail: bool = False) -> str:
    """Runs a program with a script on its standard input; returns what it prints.

    Where it may fail, what it has printed until then is the answer.
    """
    try:
        done = subprocess.run(
            command,
            input=script,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except OSError as error:
        raise StartError(
            f"{command[0]} cannot be run: {error.strerror}; is this a machine of the batch system?"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise StartError(f"{command[0]} has not answered for {_SECONDS:g} seconds") from error
    if done.returncode != 0 and not may_fail:
        said = " ".join((done.stderr or done.stdout).split()) or "it said nothing"
        raise StartError(f"{command[0]} has ended with status {done.returncode}: {said}")
    return done.stdout
