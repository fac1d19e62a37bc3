"""The files of the dashboard: strict, whole, and with nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rain.server.core.state import State
from rain.server.http.messages import Response
from rain.server.http.pages import dashboard_files
from rain.server.http.site import HttpSite
from tests.server.http.asking import Got, ask, serving, site

FILES = dashboard_files()
SCRIPTS = sorted(path for path in FILES if path.endswith(".js"))


def text(path: str) -> str:
    body = FILES[path].body
    assert isinstance(body, bytes)
    return body.decode()


def got(asked: HttpSite, path: str) -> Got:
    answers: list[Got] = []

    async def use(address: str) -> None:
        answers.append(await ask(address, "GET", path))

    serving(asked.answer, use)
    return answers[0]


def test_the_page_is_served_with_its_type_and_a_strict_policy() -> None:
    page = got(site(State()), "/dashboard/")

    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", FILES)
def test_every_file_has_the_policy(path: str) -> None:
    response: Response = FILES[path]
    assert "content-security-policy" in dict(response.headers)


def test_the_page_has_no_script_style_or_handler_inside() -> None:
    page = text("/dashboard/")

    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert "<style" not in page
    assert not re.search(r"\s(on\w+|style)=", page)


def test_whatever_a_file_names_is_there() -> None:
    for path in FILES:
        for name in re.findall(r'(?:src|href)="([^"#/][^"]*)"|from "\./([^"]+)"', text(path)):
            assert f"/dashboard/{name[0] or name[1]}" in FILES, (path, name)


def test_every_script_is_used() -> None:
    named = {name for path in FILES for name in re.findall(r'"(?:\./)?(\w+\.js)"', text(path))}

    assert {f"/dashboard/{name}" for name in named} == set(SCRIPTS)


@pytest.mark.parametrize("path", FILES)
def test_nothing_comes_from_elsewhere(path: str) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text(path)))

    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of SVG, which is not fetched


@pytest.mark.parametrize("path", SCRIPTS)
def test_what_the_server_says_never_becomes_markup(path: str) -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc"

    assert not re.search(forbidden, text(path))


def test_one_function_asks_the_server() -> None:
    """So that whatever every request needs is in one place."""
    asking = [
        path for path in SCRIPTS if re.search(r"fetch\(|XMLHttpRequest|EventSource", text(path))
    ]

    assert asking == ["/dashboard/api.js"]


def test_the_filter_of_the_events_page_names_every_type_of_the_guide() -> None:
    guide = Path(__file__).parents[3] / "docs" / "guide" / "events.md"
    types = re.findall(r"^\| `(\w+)` \|", guide.read_text(encoding="utf-8"), re.MULTILINE)
    listed = re.search(r"const TYPES = \[(.*?)\]", text("/dashboard/events.js"), re.DOTALL)

    assert listed is not None
    assert set(re.findall(r'"(\w+)"', listed[1])) == set(types)
