"""CPU time is shared out among rooms as the samples say."""

import pytest

from bench.profiled import Clocks, profile_sheet, room_of, shared_out


@pytest.mark.parametrize(
    ("stack", "room"),
    [
        ("__main__.main;rain.server.main.run;rain.graph.growth.grow", "rain.graph"),
        ("rain.daemon.program.run;trio._core._run.unrolled_run", "loops"),
        ("rain.executor.executor.Executor.run;bench.functions.inc", "bench.functions"),
        ("rain.graph.task.Task.move;rain.daemon.sampling.stack_of", "rain.graph"),
        ("rain.client.task.call;attr._make.init", "rain.client"),
        ("threading.run", "elsewhere"),
    ],
)
def test_a_sample_belongs_to_the_room_of_its_innermost_function(stack: str, room: str) -> None:
    assert room_of(stack) == room


def test_the_time_of_a_process_is_shared_out_by_its_samples(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    file = tmp_path_factory.mktemp("stacks") / "server-7.stacks"
    early = "rain.rpc.link.Link._send\n"
    file.write_text(early + "rain.graph.task.move\n" * 3 + "rain.rpc.link.Link._send\n")
    before = Clocks({("server", ""): 1.0, ("client", "rain.client"): 0.5}, {file: len(early)})
    after = Clocks(
        {("server", ""): 1.4, ("client", "rain.client"): 0.6, ("executor", ""): 0.1},
        {file: file.stat().st_size},
    )

    rows = {(role, room): used for role, room, used in shared_out(before, after, tasks=1000)}

    assert rows == {
        ("server", "rain.graph"): pytest.approx(300.0),
        ("server", "rain.rpc"): pytest.approx(100.0),
        ("client", "rain.client"): pytest.approx(100.0),
        ("executor", "not sampled"): pytest.approx(100.0),
    }


def test_the_table_begins_with_the_most_expensive_process() -> None:
    rows = [("client", "rain.client", 10.0), ("server", "rain.rpc", 10.0)]
    rows += [("server", "rain.graph", 79.9), ("server", "rain.base", 0.1)]

    sheet = profile_sheet("chain", rows)

    assert sheet.rows == (
        ("server", "all of it", "90.0", "90%"),
        ("", "rain.graph", "79.9", "80%"),
        ("", "rain.rpc", "10.0", "10%"),
        ("client", "all of it", "10.0", "10%"),
        ("", "rain.client", "10.0", "10%"),
        ("together", "", "100.0", "100%"),
    )
