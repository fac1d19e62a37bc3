"""Suggestions for unknown options and commands, also for those of Dask, Ray and Slurm.

People who come from Dask, Ray or Slurm guess `--port` or `--nworkers`. The error names the option
of Rain that does the same, and the command that has it. `client/explaining/misspelled.py` does this
for methods.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

import click
from attrs import frozen

from rain.cli.governor_command import governor
from rain.cli.handed_on import HANDED_ON
from rain.cli.server_command import server

ADDRESS = "an address stands without an option: rain governor HOST:PORT, rain status HOST:PORT"
DETECTED = "governors detect what there is; 'rain governor {0}' says otherwise"
BEHIND = "batch systems get it after '--': rain start slurm --governors 4 -- {0}=VALUE"


@frozen
class Here:
    """The options of Rain that replace options of other systems."""

    theirs: frozenset[str]
    write: str = ""
    """The option of Rain with its argument."""
    otherwise: str = ""
    """The advice where no related command has that option."""


def _here(theirs: str, write: str = "", otherwise: str = "") -> Here:
    return Here(frozenset(theirs.split()), write, otherwise)


_OPTIONS = (
    _here("--port --host --bind --bind-address --scheduler-port", "--listen HOST:PORT", ADDRESS),
    _here("--address --redis-address --scheduler-file --scheduler-address", otherwise=ADDRESS),
    _here("--head", otherwise="'rain start' starts the server here, and 'rain server' it alone"),
    _here(
        "--nworkers --n-workers --num-workers --workers --nodes --num-nodes --ntasks --nprocs"
        " --n-jobs --jobs --replicas -n -N",
        "--governors N",
        "there is one governor on a machine; for others, see 'rain start --help'",
    ),
    _here(
        "--num-cpus --ncpus --nthreads --n-threads --threads --threads-per-worker --cores"
        " --cpus-per-task --cpus-per-node --cpus-per-worker -c",
        "--cpus N",
        DETECTED.format("--cpus N"),
    ),
    _here(
        "--memory-limit --mem --mem-per-cpu --memory-per-worker --worker-memory",
        "--memory SIZE",
        DETECTED.format("--memory SIZE"),
    ),
    _here(
        "--num-gpus --ngpus --gres --gpus-per-node --gpus-per-task",
        "--gpus N",
        DETECTED.format("--gpus N"),
    ),
    _here("--resources", "--resource NAME=AMOUNT"),
    _here("--max-workers --maximum --max-nodes --autoscale --adapt", "--max N"),
    _here("--min-workers --minimum --min-nodes", "--min N"),
    _here(
        "--walltime -t",
        "--time TIME",
        "a job has a limit, as in rain start slurm --governors 4 --time 1:00:00",
    ),
    _here(
        "--partition --account --queue --qos --project --reservation --constraint",
        otherwise=BEHIND,
    ),
    _here("--hosts --hostfile --hostlist --nodelist", otherwise="write rain start ssh HOST..."),
    _here(
        "--dashboard-address --dashboard-port --dashboard-host --include-dashboard",
        "--http-listen ADDRESS",
    ),
    _here("--local-directory --temp-dir --tmpdir", "--workdir FOLDER"),
    _here("--log-dir --log-directory --log-path", "--logdir FOLDER"),
    _here("--verbose --debug -v", "--log-level debug"),
    _here("--death-timeout", "--server-timeout SECONDS"),
    _here("--password --token --redis-password --key", "--secret-file FILE"),
    _here("--tls-ca-file --tls-cert --tls-key --cert", "--tls FOLDER"),
)

_COMMANDS = {
    "agent": "rain governor HOST:PORT",
    "cancel": "future.cancel() in the program, or rain stop for the whole cluster",
    "dashboard": "rain status, which shows the URL of the dashboard",
    "down": "rain stop",
    "exec": "python PROGRAM, in which Client() connects to the cluster",
    "head": "rain start",
    "help": "rain --help",
    "info": "rain status",
    "kill": "rain stop",
    "list": "rain status",
    "nodes": "rain status",
    "ps": "rain status",
    "run": "python PROGRAM, in which Client() connects to the cluster",
    "scale": "rain add, or rain start LAUNCHER --max N",
    "scheduler": "rain server",
    "shutdown": "rain stop",
    "submit": "python PROGRAM, in which Client() connects to the cluster",
    "up": "rain start",
    "version": "rain --version",
    "worker": "rain governor HOST:PORT",
    "workers": "rain status",
}
"""The commands of Rain that replace commands of other systems."""

_LAUNCHERS = {
    "gridengine": "sge",
    "k8s": "kubernetes",
    "kube": "kubernetes",
    "pbspro": "pbs",
    "sbatch": "slurm",
    "srun": "slurm",
    "torque": "pbs",
}


def unknown_option(error: click.NoSuchOption) -> click.UsageError:
    """The same error, with a suggestion."""
    context = error.ctx
    if context is None:
        return error
    command, option = context.command, error.option_name
    local = command.get_command(context, "local") if isinstance(command, click.Group) else None
    of_local = [] if local is None else _options(local)
    said = advice(option, context.command_path, _options(command), of_local)
    return click.UsageError(f"No such option {option!r}{said}", context)


def advice(option: str, path: str, known: Collection[str], of_local: Collection[str] = ()) -> str:
    """What follows the name of an unknown option in the message about it.

    `known` are the options of the command `path`, and `of_local` those of its launcher `local`.
    """
    here = next((one for one in _OPTIONS if option in one.theirs), _here(option, option))
    name = here.write.partition(" ")[0]
    if name and name in known:
        return f": write {here.write}"
    if name and name in of_local:
        return f": write {path} local {here.write}"
    if here.otherwise:
        return f": {here.otherwise.format(option)}"
    if path.startswith(("rain start", "rain add")) and option in _options(server):
        return ": only 'rain server' has it"
    if path.startswith(("rain start", "rain add")) and option in _options(governor):
        return ": only 'rain governor' has it"
    return did_you_mean(option, known)


def unknown_command(name: str, path: str, known: Collection[str]) -> str:
    """The message about an unknown command; `path` is what stands before it."""
    said = f"No such command {name!r}"
    if path == "rain" and name in _COMMANDS:
        return f"{said}: write {_COMMANDS[name]}"
    if _LAUNCHERS.get(name) in known:
        return f"{said}: write {path} {_LAUNCHERS[name]}"
    if "ssh" in known and name.endswith((".yaml", ".yml", ".json")):
        return f"{said}: the file of a cluster is a .toml"
    if "ssh" in known and "." in name:  # a host, or the file of some
        return f"{said}: write {path} ssh {name}"
    return said + did_you_mean(name, known)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The most similar name, as the end of a message."""
    begun = [each for each in known if len(name) > 1 and each.startswith(name)]
    alike = begun[:1] if len(begun) == 1 else get_close_matches(name, known, 1)
    return f": did you mean {alike[0]}?" if alike else ""


class NamesCommands(click.Group):
    """A group that suggests another name for an unknown command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = [
                each
                for each in self.list_commands(ctx)
                if (command := self.get_command(ctx, each)) and not command.hidden
            ]
            raise click.UsageError(unknown_command(name, ctx.command_path, known), ctx)
        return super().resolve_command(ctx, args)


def _options(command: click.Command) -> list[str]:
    return [
        name
        for option in command.params
        if isinstance(option, click.Option) and (not option.hidden or option.name in HANDED_ON)
        for name in (*option.opts, *option.secondary_opts)
    ]
