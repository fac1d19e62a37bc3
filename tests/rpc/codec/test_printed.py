"""What is printed arrives as it was printed, and for whom it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rain.base.wire.printed import PrintedLines, Watch
from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec.printed import (
    Watched,
    WatchLines,
    read_lines,
    read_watch,
    read_watch_lines,
    read_watched,
    write_lines,
    write_watch,
    write_watch_lines,
    write_watched,
)
from tests.rpc.values import sessions, task_ids, texts

CLIENT = schema.client.ClientService.schema.methods
CONTROL = schema.governor.GovernorControl.schema.methods
UPSTREAM = schema.governor.GovernorUpstream.schema.methods

watches = st.none() | st.builds(Watch, st.frozensets(sessions), st.frozensets(task_ids))
counts = st.integers(0, 2**62)
lines = st.lists(
    st.builds(PrintedLines, task_ids, texts, st.booleans(), texts, counts, texts), max_size=3
)


@given(watches)
def test_what_a_client_watches_arrives(watch: Watch | None) -> None:
    layout = Layout.of(CLIENT["watch"].param_type)
    assert read_watch(layout.read(layout.write(write_watch(watch)))) == watch


@given(watches, counts)
def test_what_a_governor_shall_tell_arrives(watch: Watch | None, number: int) -> None:
    layout, watched = Layout.of(CONTROL["watch"].param_type), Watched(watch, number)
    assert read_watched(layout.read(layout.write(write_watched(watched)))) == watched


@given(lines, counts)
def test_lines_arrive_at_the_server(told: list[PrintedLines], number: int) -> None:
    layout, value = Layout.of(UPSTREAM["printed"].param_type), WatchLines(number, told)
    assert read_watch_lines(layout.read(layout.write(write_watch_lines(value)))) == value


@given(lines)
def test_lines_arrive_at_the_client(told: list[PrintedLines]) -> None:
    layout = Layout.of(CLIENT["printed"].result_type)
    assert read_lines(layout.read(layout.write(write_lines(told)))) == told
