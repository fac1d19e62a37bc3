"""The examples of README and guide are run: the blocks of a page in order, in one namespace.

All pages share one embedded cluster, which each of their `Client()` uses as its own.
"""

import linecache
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, active
from rain.client.local import LocalCluster
from rain.client.reaching import cluster as reaching
from tests.support.shared_cluster import SharedCluster

PROJECT = Path(__file__).parent.parent.parent
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    made = LocalCluster(cpus=2)
    yield made
    made.close()


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """The examples of a page and the lines where they begin."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield text.count("\n", 0, found.start(1)), found[1]


ON_SLURM = "batch"  # tests/launchers/test_batch_page.py runs it
EXAMPLES = [page for page in PAGES if page.stem != ON_SLURM and list(blocks(page))]


def test_the_guide_has_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("page", EXAMPLES, ids=[page.stem for page in EXAMPLES])
def test_the_examples_of_a_page_run(
    page: Path, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    def shared(cpus: int | None, governors: int, **_: object) -> SharedCluster:
        return SharedCluster(cluster)

    monkeypatch.setattr(reaching, "LocalCluster", shared)
    monkeypatch.chdir(tmp_path)  # some pages write files,
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # or make folders for files
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        for line, source in blocks(page):
            # As many empty lines before it as make errors name the line of the page.
            text = "\n" * line + source
            linecache.cache[str(page)] = (
                len(text),
                None,
                text.splitlines(keepends=True),
                str(page),
            )
            exec(compile(text, str(page), "exec"), namespace)  # noqa: S102 # that is the test
    finally:
        opened = namespace.get("client")
        if isinstance(opened, Client):
            opened.close()
        active.drop_default()
