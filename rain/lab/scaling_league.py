"""Compares rules of scaling over all scenes: what the work takes, and what the governors cost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from rain.lab.bursts import scenes
from rain.lab.scalers import Adaptive, Backlog, Rain
from rain.lab.scaling import PlayedScaling, play

_COLUMNS = ("makespan", "paid", "starts", "flaps", "most", "again")


def compare(seed: int = 1) -> list[PlayedScaling]:
    """Each rule in each scene."""
    return [play(scene, scaler()) for scene in scenes(seed) for scaler in (Rain, Adaptive, Backlog)]


def table(played: Sequence[PlayedScaling]) -> Table:
    """The results, for each scene and in total."""
    shown = Table(title="Rules of scaling", title_justify="left")
    shown.add_column("scene")
    shown.add_column("rule")
    for name in _COLUMNS:
        shown.add_column(name, justify="right")
    before = ""
    for one in played:
        if before and one.scene != before:
            shown.add_section()
        shown.add_row("" if one.scene == before else one.scene, one.scaler, *_numbers([one]))
        before = one.scene
    shown.add_section()
    for rule in dict.fromkeys(one.scaler for one in played):
        ours = [one for one in played if one.scaler == rule]
        shown.add_row("all together", rule, *_numbers(ours))
    return shown


def _numbers(played: Sequence[PlayedScaling]) -> list[str]:
    return [
        f"{sum(one.makespan for one in played):.0f}",
        f"{sum(one.paid for one in played):.0f}",
        str(sum(one.starts for one in played)),
        str(sum(one.flaps for one in played)),
        str(max(one.most for one in played)),
        str(sum(one.again for one in played)),
    ]
