"""What notebooks show of clients, sessions and graphs."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rain.base.errors import ConnectionLostError
from rain.base.wire import Overview
from rain.client import Client, remote
from rain.client.graph import MOST_SHOWN, Graph, Node
from rain.client.pictures import client_picture, dashboard
from tests.client.fake import World


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
    ]
    assert repr(client) == f"<Client {client.address} with a cluster of its own>"


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
    here.client.address = "head:7210"
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
        ("[::]:7222", "[fe80::1]:7210", "http://[fe80::1]:7222/"),
    ],
)
def test_the_dashboard_is_where_the_client_reaches_the_server(
    http: str, address: str, expected: str
) -> None:
    assert dashboard(http, address) == expected


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
