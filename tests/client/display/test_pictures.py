"""What notebooks show of clients, sessions and graphs."""

import base64
import json
import re
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from rain.base.errors import ConnectionLostError, RefusedError
from rain.base.wire.answers import Overview
from rain.client import Client, RainException, remote
from rain.client.display.pictures import client_picture, dashboard
from rain.client.graph import MOST_SHOWN, Graph, Node
from tests.client.fake import World
from tests.support.waiting import until_now


@remote()
def step(ctx: object) -> str:
    return "x"


def picture(shown: Any) -> str:
    html: str = shown._repr_html_()
    return html


def words(html: str) -> list[str]:
    """The lines of a picture without its tags."""
    return [re.sub("<[^>]*>", "", line) for line in html.split("<br>")]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(cpus=2) as made:
        yield made


@pytest.mark.whole
def test_a_client_shows_its_cluster_and_what_was_done(client: Client) -> None:
    assert words(picture(client))[2] == "no tasks yet"
    client.gather(client.map(abs, range(3)))

    assert words(picture(client)) == [
        f"Client {client.address}",
        "a cluster of its own: 1 governor, 2 cpus",
        "3 tasks: 0 running, 0 waiting, 3 finished",
        "dashboard client.dashboard_url",
    ]
    assert repr(client) == f"<Client {client.address} with a cluster of its own>"


def read(url: str, path: str) -> Any:
    """What the dashboard answers to a browser that opens its URL."""
    user, _, address = url.removeprefix("http://").rstrip("/").partition("@")
    request = urllib.request.Request(f"http://{address}{path}")  # it is http
    password = base64.b64encode(user.encode()).decode()
    request.add_header("authorization", f"Basic {password}")
    with urllib.request.urlopen(request, timeout=30) as answer:  # as above
        return json.load(answer)


@pytest.mark.whole
def test_the_dashboard_of_a_cluster_of_its_own_begins_when_it_is_asked_for() -> None:
    with Client(cpus=1) as client:
        futures = client.map(abs, range(3))
        client.gather(futures)

        url = client.dashboard_url

        assert url == client.dashboard_url
        assert re.fullmatch(r"http://rain:[0-9a-f]{64}@127\.0\.0\.1:\d+/", url)
        futures.append(client.submit(abs, -4))
        assert futures[-1].result() == 4
        until_now(lambda: len(read(url, "/api/tasks?session=1&state=finished")["tasks"]) == 4)
        token = url.partition("@")[0].rpartition(":")[2]
        where = f"http://{url.partition('@')[2]}"
        assert repr(client) == (
            f"<Client {client.address} with a cluster of its own, dashboard {where}>"
        )
        assert where in picture(client)
        assert token not in picture(client) + repr(client)


@pytest.mark.whole
def test_many_who_ask_at_once_get_one_dashboard() -> None:
    with Client(cpus=1) as client, ThreadPoolExecutor(4) as threads:
        urls = [threads.submit(lambda: client.dashboard_url) for _ in range(8)]
        assert len({url.result() for url in urls}) == 1


def test_the_dashboard_of_a_running_cluster_is_where_its_client_reaches_the_server(
    here: World,
) -> None:
    here.server.address = "node7:7210"
    assert here.client.dashboard_url == "http://node7:7222/"
    assert repr(here.client) == "<Client node7:7210, dashboard http://node7:7222/>"


def test_a_server_without_a_dashboard_says_so(here: World) -> None:
    here.server.errors["dashboard"] = RefusedError("the server has no dashboard")
    with pytest.raises(RainException, match="has no dashboard"):
        _ = here.client.dashboard_url


@pytest.mark.whole
def test_a_session_shows_its_own_tasks_only(client: Client) -> None:
    client.submit(abs, 1).result()
    with client.new_session("mine <b>") as session:
        step()
        session.submit()
        session.wait_all()
        step()

        assert words(picture(session)) == [
            "Session mine &lt;b&gt;",
            "1 task: 0 running, 0 waiting, 1 finished",
            "1 task not submitted yet",
        ]


def test_a_client_shows_where_the_dashboard_is(here: World) -> None:
    here.server.address = "head:7210"
    assert words(picture(here.client)) == [
        "Client head:7210",
        "2 governors, 8 cpus",
        "10 tasks: 3 running, 2 waiting, 5 finished",
        "dashboard http://head:7222/",
    ]


@pytest.mark.parametrize(
    ("http", "address", "expected"),
    [
        ("", "head:7210", ""),
        ("127.0.0.1:7222", "localhost:7210", "http://127.0.0.1:7222/"),
        ("0.0.0.0:7222", "head:7210", "http://head:7222/"),
        (":0", "head:9000", "http://head:9000/"),  # through a tunnel
        ("[::]:7222", "[fe80::1]:7210", "http://[fe80::1]:7222/"),
    ],
)
def test_the_dashboard_is_where_the_client_reaches_the_server(
    http: str, address: str, expected: str
) -> None:
    assert dashboard(http, address) == expected
    assert dashboard(http, address, encrypted=True) == expected.replace("http:", "https:")


def test_pictures_of_what_is_closed_or_lost_raise_nothing(here: World) -> None:
    here.server.errors["overview"] = ConnectionLostError("gone")
    assert words(picture(here.client))[1:] == ["the server does not answer"]
    assert words(picture(here.session))[1:] == ["the server does not answer"]
    here.session.close()
    here.client.close()
    assert words(picture(here.session))[1:] == ["closed"]
    assert words(picture(here.client))[1:] == ["closed"]


def test_pictures_have_no_colours_that_vanish_on_a_dark_page(here: World) -> None:
    step(session=here.session)
    pictures = [
        client_picture("", Overview(), owns=True, closed=False),
        picture(here.session),
        picture(here.session.make_graph()),
    ]
    for html in pictures:
        assert "black" not in html
        assert "background" not in html
    for text in re.findall("<text[^>]*>", pictures[2]):
        assert "fill=" in text


def test_a_graph_says_how_large_it_is_and_a_huge_one_is_not_drawn(here: World) -> None:
    step(session=here.session)
    graph = here.session.make_graph()
    assert repr(graph) == "<Graph of 1 task, 2 objects>"
    assert "<svg" in picture(graph)

    huge = Graph()
    for number in range(MOST_SHOWN + 1):
        huge.add(Node(f"t{number}", "x", "oval"))
    assert "<svg" not in picture(huge)
    assert "401 tasks" in picture(huge)


def nap(seconds: float) -> None:
    time.sleep(seconds)


def link(before: int) -> int:
    return before + 1


@pytest.mark.whole
def test_no_two_calls_of_one_cpu_overlap_in_the_timeline() -> None:
    with Client(cpus=1) as client:
        url = client.dashboard_url
        client.submit(nap, 0).result()
        futures = client.map(nap, [0.001 * (number % 7) for number in range(300)])
        futures += client.map(nap, [0.03, 0.05, 0.0, 0.02])
        chain = [client.submit(link, 0)]
        for _ in range(100):
            chain.append(client.submit(link, chain[-1]))
        client.gather([*futures, *chain])
        number = len(futures) + len(chain) + 1
        until_now(lambda: read(url, "/api/session?session=1")["counts"]["finished"] >= number - 1)
        (governor,) = read(url, "/api/timeline?session=1")["governors"]
    spans = sorted((start, end) for _, start, end, *_ in governor["bars"])
    assert len(spans) >= number - 1
    overlaps = [before[1] - after[0] for before, after in pairwise(spans) if after[0] < before[1]]
    # Times in the log are whole milliseconds, and both ends are rounded.
    assert max(overlaps, default=0) < 0.0025
