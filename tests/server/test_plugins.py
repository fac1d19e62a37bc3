"""Schedulers are found by their names."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from rain.base.errors import StartError
from rain.scheduler.rain import RainScheduler
from rain.scheduler.round_robin import RoundRobinScheduler
from rain.scheduler.shipped import SCHEDULERS
from rain.server import plugins
from rain.server.plugins import make_scheduler, names, with_options

MINE = """
class Mine:
    def schedule(self, graph, news, plan):
        for task in news.submitted:
            plan.assign(task, next(iter(graph.governors.values())))

class NoScheduler:
    pass
"""


def announce(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    def entry_points(*, group: str) -> list[EntryPoint]:
        return [point for point in points if point.group == group]

    monkeypatch.setattr(plugins, "entry_points", entry_points)


def test_our_schedulers_are_known_by_name() -> None:
    assert names() == list(SCHEDULERS)
    assert isinstance(make_scheduler("rain"), RainScheduler)
    assert isinstance(make_scheduler("round-robin"), RoundRobinScheduler)


def test_a_class_in_a_file_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    assert type(make_scheduler(f"{file}:Mine")).__name__ == "Mine"


def test_an_installed_package_can_announce_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    value = "rain.scheduler.round_robin:RoundRobinScheduler"
    point = EntryPoint("dealt", value, plugins.GROUP)
    announce(monkeypatch, point)
    # when / then
    assert isinstance(make_scheduler("dealt"), RoundRobinScheduler)
    assert names() == [*SCHEDULERS, "dealt"]


def test_an_announced_one_that_cannot_be_loaded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("broken", "rain.scheduler.missing:Nothing", plugins.GROUP)
    announce(monkeypatch, point)
    with pytest.raises(StartError, match="the scheduler 'broken' cannot be loaded"):
        make_scheduler("broken")


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(StartError, match="no scheduler 'best'; known: horizon, rain"):
        make_scheduler("best")
    with pytest.raises(
        StartError, match=r"'\./mine\.py' is a file: add its class, as in \./mine\.py:"
    ):
        make_scheduler("./mine.py")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("gone.py", None, "does not exist"),
        ("mine.py", "class Other: pass", "has no class 'Mine'"),
        ("mine.py", "import nothing_of_this_name", "cannot be loaded"),
        ("mine.py", "class Mine(", "cannot be loaded"),
        ("mine.py", "1 / 0", r"raised ZeroDivisionError: .*mine\.py, line 1"),
        ("mine.py", "int('x')", "cannot be loaded"),
        ("mine.py", "raise SystemExit", "cannot be loaded: it raised SystemExit"),
        ("mine.py", "class Mine:\n async def schedule(s, g, n, p): ...", "write a plain function"),
        ("mine.py", "class Mine:\n def schedule(s, g, n, p): yield", "write a plain function"),
        (
            "mine.py",
            "class Mine:\n def schedule(graph, news, plan): ...",
            r"schedule\(graph, news, plan\) of the scheduler .* has to take \(self, graph, news,",
        ),
        ("mine.py", "class Mine:\n def schedule(self, graph): ...", r"has to take \(self, graph,"),
        ("mine.py", "Mine = [1]", r"is \[1\]: name the class"),
        ("mine.py", "Mine = object", r"has no method schedule\(graph, news, plan\)"),
    ],
)
def test_a_file_that_is_no_plugin_is_told(
    tmp_path: Path, name: str, content: str | None, complaint: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content)
    with pytest.raises(StartError, match=complaint):
        make_scheduler(f"{file}:Mine")


OPTIONS = """
from attrs import define

@define
class Mine:
    seed: int = 3
    share: float = 0.5
    eager: bool = False
    label: str = "x"

    def schedule(self, graph, news, plan): ...


class Plain:
    def __init__(self, limit=4, *, mode="fast"):
        self.limit, self.mode = limit, mode

    def schedule(self, graph, news, plan): ...


class Bare:
    def schedule(self, graph, news, plan): ...


class Static:
    @staticmethod
    def schedule(graph, news, plan, *more): ...


class Strict:
    def __init__(self, limit: int = 1) -> None:
        if limit < 1:
            raise ValueError("limit is at least 1")

    def schedule(self, graph, news, plan): ...
"""


@pytest.fixture
def options(tmp_path: Path) -> Path:
    file = tmp_path / "options.py"
    file.write_text(OPTIONS)
    return file


def test_options_are_read_by_the_types_of_an_attrs_class(options: Path) -> None:
    made: Any = make_scheduler(f"{options}:Mine?seed=7&share=0.25&eager=yes&label=a=b")
    assert (made.seed, made.share, made.eager, made.label) == (7, 0.25, True, "a=b")


def test_options_are_read_by_the_defaults_of_keyword_arguments(options: Path) -> None:
    made: Any = make_scheduler(f"{options}:Plain?limit=9&mode=slow")
    assert (made.limit, made.mode) == (9, "slow")


def test_a_method_that_needs_no_self_may_be_static(options: Path) -> None:
    assert type(make_scheduler(f"{options}:Static")).__name__ == "Static"


def test_an_option_without_a_default_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "class Mine:\n"
        " def __init__(self, depth: int, *more, **others): self.depth = depth\n"
        " def schedule(self, g, n, p): ...\n"
    )
    with pytest.raises(StartError, match="needs the option depth: --scheduler-option depth=VALUE"):
        make_scheduler(f"{file}:Mine")
    made: Any = make_scheduler(f"{file}:Mine?depth=4")
    assert made.depth == 4


def test_options_from_the_command_line_are_added_to_the_name() -> None:
    assert with_options("a", []) == "a"
    assert with_options("a", ["b=1", "c=2"]) == "a?b=1&c=2"
    assert with_options("a?b=1", ["c=2"]) == "a?b=1&c=2"


@pytest.mark.parametrize("error", ["ZeroDivisionError", "KeyError", "SystemExit", "BaseException"])
def test_an_exception_in_the_making_is_told_in_one_line_with_its_place(
    tmp_path: Path, error: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        f"class Mine:\n def __init__(self): raise {error}(7)\n def schedule(self, g, n, p): ..."
    )
    complaint = rf"the scheduler .* cannot be made: it raised {error}: 7 \(.*mine\.py, line 2\)"
    with pytest.raises(StartError, match=complaint) as caught:
        make_scheduler(f"{file}:Mine")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("Mine?sed=1", "no option 'sed'; it knows seed, share, eager, label"),
        ("Mine?seed=many", "the option seed must be a whole number, not 'many'"),
        ("Mine?share=half", "the option share must be a number, not 'half'"),
        ("Mine?eager=maybe", "the option eager must be true or false, not 'maybe'"),
        ("Mine?seed", "the option 'seed' is not KEY=VALUE"),
        ("Bare?seed=1", "no option 'seed'; it has none"),
        ("Strict?limit=0", "limit is at least 1"),
    ],
)
def test_an_option_that_means_nothing_is_told_in_one_line(
    options: Path, name: str, complaint: str
) -> None:
    with pytest.raises(StartError, match=complaint) as caught:
        make_scheduler(f"{options}:{name}")
    assert "\n" not in str(caught.value)
