"""Times of cpus follow from the plan, and links are shared by all that was planned."""

from __future__ import annotations

import pytest

from rain.base.ids import GovernorId
from rain.base.resources import Resources
from rain.graph import Graph
from rain.scheduler.api import Plan
from rain.scheduler.toolbox.sites import Sites
from rain.scheduler.toolbox.transfers import Wanted, occupy_links, place_on, wanted_inputs
from tests.support.scenes import scene

NOW = 100.0


def sites(*cpus: int) -> Sites:
    graph = Graph()
    for number, count in enumerate(cpus, 1):
        graph.add_governor(GovernorId(number), f"host-{number}:1", Resources(count), NOW)
    made = Sites()
    made.begin_run(graph.governors.values(), changed=True)
    return made


def test_a_site_says_when_enough_cpus_are_free_together() -> None:
    (site,) = sites(3)
    site.book(1, NOW, 10.0)
    site.book(1, NOW, 20.0)
    assert [site.start(cpus, NOW) for cpus in (0, 1, 2, 3)] == [NOW, NOW, NOW + 10, NOW + 20]
    site.book(2, NOW + 10.0, 5.0)
    assert [site.start(cpus, NOW) for cpus in (1, 2, 3)] == [NOW + 15, NOW + 15, NOW + 20]


def test_the_first_site_is_found_again_after_every_booking() -> None:
    # given
    found = sites(1, 2)
    order: list[int] = []
    # when
    for _ in range(5):
        site = found.first(1, NOW)
        assert site is not None
        order.append(site.governor.number)
        site.book(1, site.start(1, NOW), 10.0 * site.cpus)
    # then: the second has two cpus, but each task takes twice as long there
    assert order == [1, 2, 2, 1, 1]


def test_no_governor_is_first_for_more_cpus_than_any_has() -> None:
    assert sites(1, 2).first(3, NOW) is None


def test_inputs_of_many_tasks_come_one_after_the_other_over_the_same_links() -> None:
    # given: two large objects on one governor
    s = scene(1, 1)
    tasks = [s.draft.task(keep=True) for _ in range(2)]
    s.submit()
    for task, _ in tasks:
        s.run(task, size=125_000_000)
    ids = [s.draft.task(made)[0] for _, (made,) in tasks]
    s.submit()
    found = Sites()
    graph = s.world.state.graph
    found.begin_run(graph.governors.values(), changed=True)
    away = found[s.node(1)]
    plan = Plan(graph, s.world.state.estimates, NOW)
    one, other = (wanted_inputs(s.world.task(task), plan) for task in ids)
    # when
    first = place_on(away, found, 1, one, NOW, NOW)
    occupy_links(away, found, one[0])
    second = place_on(away, found, 1, other, NOW, NOW)
    # then: each takes a second alone
    assert first.start == pytest.approx(NOW + 1)
    assert first.moving == pytest.approx(1.0)
    assert second.start == pytest.approx(NOW + 2)
    # and at home they need not travel
    assert place_on(found[s.node(0)], found, 1, other, NOW, NOW).start == NOW


def test_the_server_is_a_source_that_is_always_free() -> None:
    (site,) = found = sites(1)
    s = scene()
    constant = s.draft.constant(b"x" * 20_000, keep=True)
    s.submit()
    wanted = Wanted(s.world.object(constant), (), NOW, 3.0)
    occupy_links(site, found, wanted)
    assert (site.download, site.upload) == (NOW + 3.0, 0.0)
