"""A second machine for tests: a network namespace with one link to this one.

It has its own addresses, ports and loopback; processes and files it shares. Only root may make one,
and not in every container.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from attrs import frozen

from bench.namespaces import LINKS, entering, link_name, namespace_name, remove_abandoned


@frozen
class SecondMachine:
    """One that is there."""

    name: str
    here: str  # our address on the link
    there: str  # its address
    link: str  # our end

    @property
    def command(self) -> tuple[str, ...]:
        """What starts a program there."""
        return entering(self.name)

    def bytes_from_there(self) -> int:
        """How many bytes have come over the link, headers included."""
        return int((LINKS / self.link / "statistics" / "rx_bytes").read_text("ascii"))


@contextmanager
def second_machine() -> Generator[SecondMachine, None, None]:
    """Makes one; skips the test where that is not allowed."""
    number = os.getpid() % 16_384  # two runs of the tests have two links
    base, last = f"198.18.{number // 64}", number % 64 * 4
    machine = SecondMachine(
        namespace_name("second"), f"{base}.{last + 1}", f"{base}.{last + 2}", link_name("here")
    )
    other = link_name("there")
    remove_abandoned()
    if not shutil.which("ip") or _ip("netns", "add", machine.name):
        pytest.skip("this user may not make network namespaces")
    try:
        for words in (
            f"link add {machine.link} type veth peer name {other} netns {machine.name}",
            f"addr add {machine.here}/30 dev {machine.link}",
            f"link set {machine.link} up",
            f"-n {machine.name} addr add {machine.there}/30 dev {other}",
            f"-n {machine.name} link set {other} up",
            f"-n {machine.name} link set lo up",
        ):
            assert _ip(*words.split()) == 0, words
        yield machine
    finally:
        _ip("netns", "del", machine.name)


def _ip(*words: str) -> int:
    return subprocess.run(["ip", *words], check=False).returncode
