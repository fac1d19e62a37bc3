"""The programs in `examples/`, run as they are, with small sizes and on one cluster."""

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rain.client.local import LocalCluster
from rain.client.reaching import cluster as reaching
from tests.support.shared_cluster import SharedCluster

pytestmark = pytest.mark.whole

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
LONGEST = 65

SAID = {
    "sweep": ("200", r"12 combinations, the best harvest is \d+\.\d\n$"),
    "files": ("", r"^most errors: 10\.0\.0\.\d with \d+; all of them are in ranking.txt\n$"),
    "grid_search": ("120", r"^the best of 6: \{'max_depth': \d, .*\}\nits score: 0\.\d\d\n$"),
    "dask_collections": ("120", r"is 0\.08\d\nnumbers .*: \{1: 10, 2: 90, 3: 20\}\n$"),
    "word_count": ("", r"^  6000 the\n  4000 (rain|in)\n  4000 (rain|in)\n$"),
    "monte_carlo": ("0.01", r"^pi is about 3\.1\d, after 160,000 samples\n$"),
    "retries": ("5", r"^72 .*\nfile-3 failed: file-3 is not there \(tried 3 times\)\n$"),
    "tiles": ("20", r"^6,400 pixels in 16 tiles\nhistogram: [\d ]+\n$"),
}
"""By program: its argument, and what it says."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    made = LocalCluster(cpus=2)
    yield made
    made.close()


def test_every_example_is_run_and_in_the_table() -> None:
    programs = {path.stem for path in EXAMPLES.glob("*.py")}
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert programs == set(SAID)
    assert programs == set(re.findall(r"\]\((\w+)\.py\)", table))


@pytest.mark.parametrize("name", SAID)
def test_an_example_is_short_and_says_what_it_found(
    name: str,
    cluster: LocalCluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def shared(cpus: int | None, governors: int, **_: object) -> SharedCluster:
        return SharedCluster(cluster)

    argument, said = SAID[name]
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(reaching, "LocalCluster", shared)
    monkeypatch.setattr(sys, "argv", [str(path), *argument.split()])

    runpy.run_path(str(path), run_name="__main__")

    assert re.search(said, capsys.readouterr().out)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= LONGEST
    assert lines[1].endswith('"""')  # what it shows, and how to run it
