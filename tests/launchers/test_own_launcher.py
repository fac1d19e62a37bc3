"""The launcher in the guide's page works: a cluster is started with it, used, and ended."""

import re
from pathlib import Path
from typing import Any

import pytest

from rain.base.errors import StartError
from rain.cluster import Cluster
from rain.launchers import registry

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "launchers.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.whole
def test_the_launcher_of_the_page_starts_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = BLOCK.findall(PAGE.read_text())
    made: dict[str, Any] = {"__name__": "page"}
    exec(compile(text, str(PAGE), "exec"), made)  # noqa: S102 -- the page of the guide
    monkeypatch.setitem(registry.OURS, "shell", made["Shell"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    with Cluster.batch("shell", 2, cpus=1, wait=2, listen="0", http_listen="0") as cluster:
        states = [job.state for job in cluster.jobs()]
        with cluster.client() as client:
            assert client.gather(client.map(abs, [-1, -2])) == [1, 2]

    assert states == ["running", "running"]
    assert len(text.splitlines()) <= 60
    with pytest.raises(StartError, match="shell knows nothing of gpus"):
        Cluster.batch("shell", 1, gpus=1, listen="0", http_listen="0")
