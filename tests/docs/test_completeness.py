"""Nothing is left out: pages of the navigation, names of the API, packages of the tour, words."""

import re
from pathlib import Path
from types import ModuleType

import rain.client
from docs.inner_names import without_inner
from rain.client import tasks
from rain.common import errors

PROJECT = Path(__file__).parent.parent.parent
DOCS = PROJECT / "docs"
BASES = {"InputBase", "OutputBase"}
"""Their methods are shown with the classes that users make."""


def read(path: str) -> str:
    return (PROJECT / path).read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r"- (\S+\.md)$", read("mkdocs.yml"), re.MULTILINE)
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}

    # The decisions are added when the site is built.
    assert {page for page in pages if not page.startswith("decisions/")} == set(named)


def test_every_public_name_of_the_client_is_in_the_api_pages() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    shown = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)$", pages, re.MULTILINE)}
    shown |= {name for name in vars(errors) if "rain.common.errors" in pages}
    public = {
        name
        for name in rain.client.__all__
        if not isinstance(getattr(rain.client, name), ModuleType)
    }

    assert public - shown == BASES


def test_the_api_pages_have_all_exceptions_and_built_in_tasks_and_nothing_else() -> None:
    def members(page: str) -> set[str]:
        (names,) = re.findall(r"members: \[(.*)\]", read(page))
        return set(names.split(", "))

    raised = {name for name in rain.client.__all__ if name in vars(errors)}
    assert members("docs/api/errors.md") == raised
    assert members("docs/api/tasks.md") == set(tasks.__all__)


def test_the_api_pages_leave_out_what_only_modules_of_the_library_call() -> None:
    page = "::: rain.client.Remote\n    options:\n      heading_level: 3\n\n::: rain.client.then\n"

    assert without_inner(page) == (
        '::: rain.client.Remote\n    options:\n      filters: ["!^_", "!^new_task$"]\n'
        "      heading_level: 3\n\n::: rain.client.then\n"
    )


def test_the_tour_has_every_package() -> None:
    table = re.findall(r"^\| `([a-z/._]+)` \|", read("docs/architecture.md"), re.MULTILINE)
    found = {entry for entry in (PROJECT / "rain").iterdir() if entry.is_dir()}
    packages = {f"rain/{entry.name}" for entry in found if not entry.is_symlink()}

    assert packages - {"rain/__pycache__"} <= set(table)
    assert all((PROJECT / name).exists() for name in table)


def test_the_glossary_has_every_word_once_and_in_order() -> None:
    words = re.findall(r"^\| ([a-z ]+) \|", read("docs/guide/glossary.md"), re.MULTILINE)

    assert len(words) > 30
    assert words == sorted(set(words))
