"""Compares one server with several servers, over scenes of many sessions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from attrs import frozen
from rich.table import Table

from rain.lab.servers import SessionLoad, SessionTimes, Trial, play

GOVERNORS = 10_000
LEND_EVERY = 5.0


@frozen
class ServersScene:
    """One set of sessions."""

    name: str
    demands: tuple[SessionLoad, ...]


@frozen
class PlayedServers:
    """What came of one scene with some servers."""

    scene: str
    servers: int
    is_lending: bool
    outcome: SessionTimes


def scenes(seed: int = 1, governors: int = GOVERNORS, cpus: int = 4) -> list[ServersScene]:
    """Sessions that keep three quarters of these cpus busy, but for the last scene."""
    draw = Random(seed)
    rate = 0.75 * governors * cpus  # cpu-seconds for each second

    def drawn(name: str, count: int, sigma: float, widest: int) -> ServersScene:
        sizes = [draw.lognormvariate(0, sigma) for _ in range(count)]
        seconds = 100.0 * rate / sum(sizes)  # all of them fill a hundred seconds
        return ServersScene(
            name,
            tuple(
                SessionLoad(f"{name} {n}", draw.uniform(0, 100), size * seconds, widest)
                for n, size in enumerate(sizes)
            ),
        )

    whole = governors * cpus
    return [
        drawn("many small sessions", 1000, 0.5, whole // 100),
        drawn("sessions of all sizes", 300, 2.0, whole // 4),
        drawn("few large sessions", 20, 0.5, whole),
        ServersScene("one session", (SessionLoad("alone", 0, 100.0 * whole, whole),)),
    ]


def compare(seed: int = 1, numbers: Sequence[int] = (1, 2, 4, 8, 16)) -> list[PlayedServers]:
    """Each scene, with one server and with more."""
    played: list[PlayedServers] = []
    for scene in scenes(seed):
        for servers in numbers:
            for every in (None, LEND_EVERY) if servers > 1 else (None,):
                trial = Trial(servers, GOVERNORS)
                if every is not None:
                    trial = Trial(servers, GOVERNORS, lend_every=every)
                outcome = play(trial, scene.demands)
                played.append(PlayedServers(scene.name, servers, every is not None, outcome))
    return played


def table(played: Sequence[PlayedServers]) -> Table:
    """What came of them, scene by scene."""
    shown = Table(title=f"Several servers, {GOVERNORS:,} governors", title_justify="left")
    shown.add_column("scene")
    for name in ("servers", "governors", "stretch", "of 95 %", "all done after", "moves"):
        shown.add_column(name, justify="right")
    before = ""
    for one in played:
        if before and one.scene != before:
            shown.add_section()
        shown.add_row(
            "" if one.scene == before else one.scene,
            str(one.servers),
            "lent" if one.is_lending else "fixed",
            f"{one.outcome.stretch:.2f}",
            f"{one.outcome.worst:.2f}",
            f"{one.outcome.makespan:.0f} s",
            f"{one.outcome.lent:,}",
        )
        before = one.scene
    return shown
