"""Calls tell the scheduler which of the files in their arguments are near to some governors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rain.base.near import Near
from rain.client import File, Input, Program, remote, tasks
from rain.client.sent.near_files import UNKNOWN_SIZE
from rain.files import open_files
from tests.client.fake import World


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in range(100):
        (tmp_path / f"{number:02}.txt").write_bytes(bytes(4000 + number))
    return tmp_path


@remote()
def read(ctx: Any, *files: Any) -> bytes:
    return b""


def near_of_all(here: World) -> list[tuple[Near, ...]]:
    return [kind.near for sent in here.server.submissions for kind in sent.task_kinds]


def test_tasks_of_many_files_share_kinds(here: World, folder: Path) -> None:
    files = open_files("*.txt", near="eu")
    with here.session:
        for file in files:
            read(file)
        here.session.submit()
    assert near_of_all(here) == [(Near(("eu",), 4096),), (Near(("eu",), 8192),)]


def test_plain_calls_tell_it_also_of_files_inside_of_their_arguments(
    here: World, folder: Path
) -> None:
    eu = here.client.open_files("0*.txt", near="eu")
    us = here.client.open_files(["10.txt", "11.txt"], near=["us", "node7"])
    call = here.client.submit(len, {"eu": eu, "us": [us, us[0]]}).task
    plain = here.client.submit(len, open_files("*.txt")).task
    assert call is not None
    assert plain is not None
    assert call.wire_shape.near == (Near(("eu",), 65536), Near(("us", "node7"), 8192))
    assert plain.wire_shape.near == ()


def test_a_block_counts_its_own_bytes(here: World, folder: Path) -> None:
    blocks = open_files("00.txt", block_size=1024, near="eu")
    with here.session:
        for block in blocks:
            read(block)
        here.session.submit()
    assert near_of_all(here) == [(Near(("eu",), 1024),)]  # the last one is rounded up


def test_a_file_of_unknown_size_counts_as_a_megabyte(here: World) -> None:
    with here.session:
        read(File("http://example.org/x", None, "", near=("eu",)))
        here.session.submit()
    assert near_of_all(here) == [(Near(("eu",), UNKNOWN_SIZE),)]


def test_the_task_that_brings_a_file_for_programs_goes_to_it(here: World, folder: Path) -> None:
    (file,) = open_files("00.txt", near="eu")
    with here.session:
        tasks.Execute(["cat", file], stdout=True)
        Program(["wc", Input("text")], stdout=True)(text=file)
        here.session.submit()
    near = near_of_all(here)
    assert near.count((Near(("eu",), 4096),)) == 1
    assert all(not other for other in near if other != (Near(("eu",), 4096),))


def test_a_changed_task_keeps_it(here: World, folder: Path) -> None:
    (file,) = open_files("00.txt", near="eu")
    with here.session:
        read(file).spec.resources["cpus"] = 2
        here.session.submit()
    assert near_of_all(here) == [(Near(("eu",), 4096),)]


def test_a_unit_reads_what_its_members_read(here: World, folder: Path) -> None:
    first, second = (open_files("00.txt", near=place)[0] for place in ("eu", "us"))
    with here.session:
        read(read(read(first)), second).output.keep()
        here.session.submit(fuse=True)
    assert near_of_all(here) == [(Near(("eu",), 4096), Near(("us",), 4096))]
