"""Journals as releases of Rain have written them, each with what a server must know that reads it.

    python -m tests.server.journal.releases

writes that of this release, in the folder of its version. Do so once for each release, and leave
the others as they are: users have such files.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import rain
from rain.base.failures import OnFailure
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.framing import frame
from rain.server.journal.compacting import compact
from rain.server.journal.folder import JournalFolder
from rain.server.journal.records import Header, encode_header
from rain.server.journal.writer import MAGIC
from tests.support.fake_client import FakeClient
from tests.support.world import CLUSTER, World, new_world

FOLDER = Path(__file__).parent / "releases"
KNOWN = "known.json"
SETTINGS = ReactorSettings(debug=True, governor_silence=1e9, much_wait=0.0, little_wait=0.0)


def life() -> World:
    """A durable session, one with kept results, one with failures, and a governor that leaves."""
    world = new_world(settings=SETTINGS)
    governors = [world.governor(2), world.governor(2)]
    _sweep(world.client())
    client = world.client()
    draft = client.session("work", on_failure=OnFailure.CONTINUE)
    made = [draft.constant(b"x"), draft.constant(b"kept", keep=True)]
    for number in range(30):
        _, outputs = draft.task(*made[-2:], keep=True, tries=2, config=b"%d" % number)
        made += outputs
    client.submit(draft)
    client.wait(draft.session, objects=tuple(made[-1:]))
    for step in range(12):
        for governor in list(world.governors):
            if governor.fetching():
                governor.locate(*governor.fetching())
            if step == 5 and governor.runnable():
                governor.start(governor.runnable()[0])
                governor.fail(governor.runnable()[0])
            elif governor.runnable():
                governor.finish(*governor.runnable()[:2], data=b"made")
        if step == 7:
            governors.pop().leave()
            client.unkeep(*made[1:8])
    world.governor(3)
    return world


def _sweep(client: FakeClient) -> None:
    """The client of a durable session, which goes at once."""
    draft = client.session("sweep", OnFailure.CONTINUE, durable=True)
    _, made = draft.task(config=b"first", keep=True)
    draft.task(*made, config=b"second", keep=True)
    client.submit(draft)
    client.leave()


def known(state: State) -> dict[str, Any]:
    """What a server must know."""
    graph, tasks = state.graph, state.graph.tasks.values()
    return {
        "sessions": {str(one.id): one.name for one in graph.sessions.values()},
        "tasks": {str(one.id): one.row.value for one in tasks},
        "runs": {str(one.id): len(one.runs) for one in tasks},
        "inputs": {str(one.id): [made.id for made in one.inputs] for one in tasks},
        "objects": {str(one.id): one.state.value for one in graph.objects.values()},
        "sizes": sum(one.size for one in graph.objects.values()),
        "governors": {one.address: len(one.objects) for one in graph.governors.values()},
        "clients": list(graph.clients),
        "waits": sorted(state.waits),
        "durable": {name: len(one.tasks) for name, one in state.durable.by_name.items()},
        "numbers": [
            graph.last_session,
            state.succession.last_client,
            state.succession.last_request,
        ],
        "cluster": state.succession.cluster.hex(),
    }


def write(path: Path) -> None:
    """Writes a file of turns, the snapshot of it, and a file with the other turns."""
    world = life()
    records = [frame(record) for record in world.journal if record is not None]
    middle = len(records) // 2
    folder = JournalFolder.open(path)
    for number, begin, end in ((1, 0, middle), (2, middle, len(records))):
        header = MAGIC + frame(encode_header(Header(begin + 1, SETTINGS, cluster=CLUSTER)))
        folder.file(number).write_bytes(header + b"".join(records[begin:end]))
    compact(folder, 1)
    folder.leases().rmdir()
    state = world.state  # in the journal of a living server numbers are counted by its border
    state.succession.last_client, state.succession.last_request = (
        world.last_client,
        world.last_request,
    )
    text = json.dumps(known(state), indent=1)
    (path / KNOWN).write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Writes that of this release, in the place of an earlier one."""
    path = FOLDER / rain.__version__
    shutil.rmtree(path, ignore_errors=True)
    write(path)
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
