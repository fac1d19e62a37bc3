"""The numbers for Prometheus, as its own parser reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from prometheus_client import parser

from rain.base.admission import Secret
from rain.base.transfers import Transfers
from rain.base.users import UserRule
from rain.base.wire.update import Monitoring, Update
from rain.server.core.messages import GovernorUpdated, UsersRead
from rain.server.core.state import State
from rain.server.http import metrics
from tests.server.http.asking import Got, ask, serving, site
from tests.support.scenes import Scene, scene

families: Callable[[str], Iterable[Any]] = parser.text_string_to_metric_families

Numbers = dict[tuple[str, str], float]


def numbers(state: State) -> Numbers:
    """Every sample by its name and the value of its label."""
    body = metrics.metrics(state, state.now + 1.0).body
    assert isinstance(body, bytes)
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in families(body.decode())
        for sample in family.samples
    }


def worked() -> Scene:
    """Ada has run one task and waits for more, the owner has a session, bob has been here."""
    s = scene(4, 2)
    s.world.turn(UsersRead((UserRule("ada", cpus=2),)))
    ada = s.world.client("ada")
    draft = ada.session("work")
    first = draft.task(keep=True)[0]
    ada.submit(draft)
    s.assign(first)
    update = s.governors[0].finished(first, size=100)
    update.finished.durations = [2.5]
    s.world.turn(GovernorUpdated(s.governors[0].id, update))
    s.world.reactor.settle()
    more = [draft.task()[0] for _ in range(5)]
    ada.submit(draft)
    s.assign(*more[:2])
    s.governors[0].start(more[0])
    s.world.client("bob").session()
    return s


def test_the_parser_of_prometheus_reads_what_the_cluster_does() -> None:
    s = worked()
    found = numbers(s.world.state)
    expected = {
        ("rain_governors", "works"): 2,
        ("rain_governors", "away"): 0,
        ("rain_cpus", ""): 6,
        ("rain_sessions", "ada"): 1,
        ("rain_sessions", "(owner)"): 1,
        ("rain_running_tasks", "ada"): 1,
        ("rain_used_cpus", "ada"): 1,
        ("rain_waiting_tasks", "ada"): 4,
        ("rain_waiting_tasks", "bob"): 0,
        ("rain_limited_tasks", "ada"): 3,
        ("rain_stored_bytes", "ada"): 100,
        ("rain_finished_tasks_total", "ada"): 1,
        ("rain_cpu_seconds_total", "ada"): 2.5,
        ("rain_made_bytes_total", "ada"): 100,
    }
    assert {key: found[key] for key in expected} == expected
    assert found["rain_stored_byte_seconds_total", "ada"] > 0


def test_governors_say_how_much_data_they_hold_in_each_tier() -> None:
    s = scene(1, 1)
    for governor in s.governors:
        sample = Monitoring((), 0, (), (), (), task_memory=7, memory_bytes=1000, disk_bytes=50)
        governor.send(Update(monitoring=[sample]))
    found = numbers(s.world.state)
    assert found["rain_held_bytes", "memory"] == 2000
    assert found["rain_held_bytes", "disk"] == 100
    assert found["rain_task_memory_bytes", ""] == 14


def test_what_governors_have_sent_is_counted_also_when_they_have_left() -> None:
    s = scene(1, 1)
    one, two = s.governors
    for governor, data in ((one, 1000), (two, 100), (one, 5000)):
        sent = Transfers(data, data // 2, data // 4, data * 1000)
        governor.send(Update(monitoring=[Monitoring((), 0, (), (), (), transfers=sent)]))
    one.leave()
    found = numbers(s.world.state)
    assert found["rain_sent_data_bytes_total", ""] == 5100
    assert found["rain_sent_compressed_bytes_total", ""] == 2550
    assert found["rain_sent_link_bytes_total", ""] == 1275
    assert found["rain_compression_seconds_total", ""] == 5.1


def test_names_and_types_keep_to_the_conventions() -> None:
    for metric in metrics.gather(worked().world.state, 0.0):
        assert metric.name.startswith("rain_")
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.help.endswith(".")


def test_many_users_are_few_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_USERS", 2)
    s = worked()
    for name in ("eve", "dan"):
        s.world.client(name).session()
    found = numbers(s.world.state)
    users = {label for name, label in found if name == "rain_sessions"}
    assert users == {"ada", "(owner)", "(others)"}
    assert found["rain_sessions", "(others)"] == 3


def test_a_label_may_have_any_letters() -> None:
    said = 'a"b\\c\nd'
    metric = metrics.Metric("rain_x", "gauge", "X.", "user", {said: 1})
    (family,) = families("\n".join(metric.lines()) + "\n")
    assert family.samples[0].labels == {"user": said}


def test_who_may_see_the_dashboard_may_see_them() -> None:
    s, secret = worked(), Secret.of("0123456789abcdef")
    guarded = site(s.world.state, None)
    guarded.secret = secret
    got: list[Got] = []

    async def use(address: str) -> None:
        got.append(await ask(address, "GET", "/metrics"))
        bearer = {"authorization": f"Bearer {secret.http_token()}"}
        got.append(await ask(address, "GET", "/metrics", headers=bearer))

    serving(guarded.answer, use)
    assert [one.status for one in got] == [401, 200]
    assert got[1].headers["content-type"] == metrics.CONTENT_TYPE
