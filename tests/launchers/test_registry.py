"""Launchers are found by name, those of other packages, too."""

from importlib.metadata import EntryPoint

import pytest

from rain.base.errors import StartError
from rain.launchers import registry
from rain.launchers.slurm import Slurm


class Custom(Slurm):
    """A launcher of another package."""

    name = "custom"


def test_an_unknown_launcher_is_refused_with_the_names_of_those_that_there_are() -> None:
    with pytest.raises(StartError, match="no launcher 'slrum'; there are slurm, sge, pbs, lsf"):
        registry.find_launcher("slrum")


def test_a_package_offers_a_launcher_as_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoint("custom", f"{__name__}:Custom", registry.GROUP)
    broken = EntryPoint("broken", f"{__name__}:Nothing", registry.GROUP)

    def both(group: str) -> list[EntryPoint]:
        return [offered, broken] if group == registry.GROUP else []

    monkeypatch.setattr(registry, "entry_points", both)

    assert registry.launcher_names()[-2:] == ["broken", "custom"]
    assert registry.find_launcher("custom").name == "custom"
    with pytest.raises(StartError, match=r"the launcher 'broken' .* has no code"):
        registry.find_launcher("broken")
