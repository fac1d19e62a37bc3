"""The tables of `rain status`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rain.base.durations import say_duration
from rain.base.resources import spell_amount
from rain.base.sizes import spell_size
from rain.base.users import OWNER_IN_TABLES
from rain.start.jobs import JobLine
from rain.start.status import ClusterStatus, GovernorLine, SessionLine

USES = ("tasks have", "data")
"""The columns of the memory in use; the name is that of the tasks with most of it."""

DATA = ("stored", "held", "arriving")


def print_status(status: ClusterStatus, console: Console) -> None:
    """Prints the status of a cluster."""
    console.print(Text(f"Server {status.address}"))
    for address, does in status.servers.items():
        if address != status.address:
            console.print(Text(f"Standby {address} {does}"), soft_wrap=True)
    if status.dashboard:
        console.print(Text(f"Dashboard {status.dashboard}"), soft_wrap=True)
    if status.governors:
        console.print(_governors(status.governors))
        for line in status.governors:
            _print_troubles(line, console)
    else:
        console.print("No governors.")
    _print_jobs(status, console)
    if status.sessions is None:
        console.print(Text(f"Sessions are not shown: {status.sessions_unknown}."))
    elif status.sessions:
        console.print(_sessions(status.sessions))
    else:
        console.print("No sessions.")


def _print_troubles(line: GovernorLine, console: Console) -> None:
    """Prints the troubles of a governor that people can mend."""
    if line.away_why:
        console.print(
            Text(f"{line.address} has been away for {line.away:.0f} s: {line.away_why}"),
            soft_wrap=True,
        )
    for other, why in line.out_of_reach.items():
        console.print(
            Text(
                f"{line.address} cannot connect to {other}: {why}; data of that governor"
                " comes through the server"
            ),
            soft_wrap=True,
        )
    for link in line.links:
        if link.compressed:
            console.print(
                Text(
                    f"{line.address} has sent {spell_size(link.bytes)} to {link.host} as"
                    f" {spell_size(link.sent)}, compressed for a link of"
                    f" {spell_size(link.rate)} per second"
                ),
                soft_wrap=True,
            )
    if line.state == "drains":
        console.print(
            Text(f"{line.address} drains: it gets no tasks, and leaves when it can"),
            soft_wrap=True,
        )
    elif line.rests:
        console.print(
            Text(f"{line.address} gets no tasks for {line.rests:.0f} s: {line.rests_why}"),
            soft_wrap=True,
        )
    if line.holds_back:
        console.print(Text(f"Tasks wait at {line.address}: {line.holds_back}"), soft_wrap=True)


def _print_jobs(status: ClusterStatus, console: Console) -> None:
    for kind, why in status.scaling.items():
        console.print(Text(f"Scaling {kind}: {why}."), soft_wrap=True)
    if status.scaler_ended:
        console.print(Text("The scaler has ended: 'rain restart' starts it again."))
    if status.jobs:
        console.print(_jobs(status.jobs))
    for name, why in status.ended.items():
        console.print(Text(f"Ended: {name}: {why}"), soft_wrap=True)
    if status.jobs_unknown:
        console.print(Text(f"Jobs are not shown: {status.jobs_unknown}."))


def _governors(lines: tuple[GovernorLine, ...]) -> Table:
    table = Table(title="Governors", title_justify="left")
    table.add_column("address")
    for name in ("cpus", "tasks", "objects"):
        table.add_column(name, justify="right")
    names = sorted({name for line in lines for name in line.other_resources})
    for name in names:
        table.add_column(Text(name), justify="right")
    shows_use = any("tasks" in line.memory for line in lines)
    for name in USES if shows_use else ():
        table.add_column(Text(name), justify="right")
    shows_ends = any(line.time_left is not None for line in lines)
    if shows_ends:
        table.add_column("time left", justify="right")
    for line in lines:
        numbers = [str(number) for number in (line.cpus, line.tasks, line.objects)]
        numbers += [spell_amount(name, line.other_resources.get(name, 0)) for name in names]
        if shows_use:
            used, data = line.memory.get("tasks", 0), sum(line.memory.get(n, 0) for n in DATA)
            most = f" ({next(iter(line.running))})" if line.running else ""
            numbers += [f"{spell_size(used)}{most}", spell_size(data)]
        if shows_ends:
            numbers.append("" if line.time_left is None else say_duration(line.time_left))
        table.add_row(Text(line.address), *numbers)
    return table


def _jobs(lines: tuple[JobLine, ...]) -> Table:
    table = Table(title="Jobs", title_justify="left")
    for name in ("job", "name", "state", "address", "why"):
        table.add_column(name, justify="right" if name == "job" else "left")
    for line in lines:
        table.add_row(
            Text(line.number), Text(line.name), line.state, Text(line.address), Text(line.why)
        )
    return table


def _sessions(lines: tuple[SessionLine, ...]) -> Table:
    table = Table(title="Sessions", title_justify="left")
    table.add_column("id", justify="right")
    has_users = any(line.user for line in lines)
    if has_users:
        table.add_column("user")
    table.add_column("name")
    for name in ("finished", "tasks", "objects"):
        table.add_column(name, justify="right")
    table.add_column("state")
    for line in lines:
        failure = line.failure.strip().partition("\n")[0]
        state = f"failed: {failure}" if failure else "open"
        if line.durable:
            count = line.clients
            state = f"durable, {count} client{'' if count == 1 else 's'}"
        if line.held_up:
            state = f"held up: {line.held_up}"
        table.add_row(
            str(line.id),
            *([Text(line.user or OWNER_IN_TABLES)] if has_users else []),
            Text(line.name),
            str(line.tasks - line.unfinished),
            str(line.tasks),
            "" if line.objects is None else str(line.objects),
            Text(state),
        )
    return table
