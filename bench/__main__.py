"""The commands of the benchmarks. Each is a module with a click command named `command`."""

from importlib import import_module

import click

MODULES = {
    "overhead": "bench.overhead",
    "latency": "bench.latency",
    "call": "bench.call",
    "way": "bench.way",
    "frontdoor": "bench.frontdoor",
    "nested": "bench.nested",
    "programs": "bench.programs",
    "granularity": "bench.granularity",
    "scale": "bench.scale",
    "governors": "bench.governors",
    "server": "bench.server_alone",
    "scheduling": "bench.scheduling",
    "feel": "bench.feel",
    "transfer": "bench.transfer",
    "broadcast": "bench.broadcast",
    "cache": "bench.cache",
    "prediction": "bench.prediction",
    "soak": "bench.soak.command",
    "standby": "bench.standby",
    "pauses": "bench.pauses",
    "life": "bench.life.command",
    "memory": "bench.memory.command",
    "shuffle": "bench.shuffling",
    "wan": "bench.wan",
    "compression": "bench.compression",
}
"""The module of each command, which is imported only when the command is used."""


class Benchmarks(click.Group):
    """The commands by name, in the order of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        command: click.Command = import_module(MODULES[cmd_name]).command
        return command


@click.group(cls=Benchmarks)
def main() -> None:
    """Measure Rain: compared with its peers, or alone."""


if __name__ == "__main__":
    main(prog_name="python -m bench")
