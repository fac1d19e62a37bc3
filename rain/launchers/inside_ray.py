"""Starts governors inside a Ray cluster: each in an actor, which reserves the cpus in a placement
group.

The actors are detached, so they stay when the command that has started them ends.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rain.base.errors import StartError
from rain.launchers import holding
from rain.launchers.extras import load
from rain.launchers.interface import Job, JobState, Standing

_NAMESPACE = "rain"
_SECONDS = 10.0
_GRACE = 40.0  # more than a governor has to drain
_NODE = "node:"
_ANY = "auto"  # the Ray cluster of this machine


class GovernorActor:
    """The actor. Its governor ends with it."""

    def __init__(self, script: str, output: str, cpus: int) -> None:
        self._held = holding.begin(script, output, cpus)

    def look(self) -> tuple[str, str]:
        """The state of its governor, and why."""
        told = holding.look(self._held) or Standing(JobState.ENDED)
        return told.state.value, told.why

    def end(self) -> None:
        """Ends its governor, and says so when it has ended."""
        holding.end(self._held, waits=True)


class InRay:
    """The launcher `ray`. Its option is the address of the Ray cluster; "auto" is that of here.

    The number of a job is ACTOR@ADDRESS. The placement group has the name of the actor.
    """

    name = "ray"
    cpus_variable = holding.CPUS

    def room(self, options: Sequence[str]) -> int:
        with _cluster(_address(options)) as ray:
            return len(_nodes(ray))

    def submit(self, job: Job) -> str:
        address = _address(job.options)
        with _cluster(address) as ray:
            nodes = _nodes(ray)
            if not nodes:
                raise StartError(f"the Ray cluster at {address} has no nodes")
            taken = _names(ray)
            node = min(nodes, key=lambda one: sum(_short(one) in name for name in taken))
            cpus = job.cpus or max(1, int(node["Resources"].get("CPU", 1)))
            serial = len(taken)
            while (name := f"{job.name}-{serial}-{_short(node)}") in taken:
                serial += 1
            # The resource that each node has of its own keeps the group, and so the actor, there.
            bundle = {"CPU": cpus, f"{_NODE}{node['NodeManagerAddress']}": 0.001}
            if job.gpus:
                bundle["GPU"] = job.gpus
            if job.memory:
                bundle["memory"] = job.memory
            group = ray.util.placement_group([bundle], name=name, lifetime="detached")
            strategies = load("ray.util.scheduling_strategies", "ray")
            ray.remote(GovernorActor).options(
                name=name,
                namespace=_NAMESPACE,
                lifetime="detached",
                num_cpus=cpus,
                num_gpus=job.gpus or 0,
                scheduling_strategy=strategies.PlacementGroupSchedulingStrategy(group),
                max_concurrency=2,  # it can be looked at while it ends
            ).remote(job.script, str(job.output), cpus)
        return f"{name}@{address}"

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        found: dict[str, Standing] = {}
        for address, names in _by_address(numbers).items():
            with _cluster(address) as ray:
                for name in names:
                    found[f"{name}@{address}"] = _look(ray, name)
        return found

    def cancel(self, numbers: Sequence[str]) -> None:
        for address, names in _by_address(numbers).items():
            try:
                with _cluster(address) as ray:
                    _end(ray, names)
            except StartError:
                continue  # the governors have ended with their actors


def _look(ray: Any, name: str) -> Standing:
    try:
        actor = ray.get_actor(name, namespace=_NAMESPACE)
    except ValueError:
        return Standing(JobState.ENDED, "its actor has gone")
    group = ray.util.get_placement_group(name)
    if ray.util.placement_group_table(group).get("state") == "PENDING":
        asked = ", ".join(
            f"{amount:g} {what}"
            for what, amount in group.bundle_specs[0].items()
            if not what.startswith(_NODE)
        )
        return Standing(JobState.QUEUED, f"its node does not have {asked} free")
    try:
        state, why = ray.get(actor.look.remote(), timeout=_SECONDS)
    except ray.exceptions.GetTimeoutError:
        return Standing(JobState.QUEUED, "its actor begins")
    except ray.exceptions.RayActorError as error:
        said = str(error).strip().splitlines()
        return Standing(JobState.ENDED, ": ".join(["its actor has died", *said[-1:]]))
    return Standing(JobState(state), why)


def _end(ray: Any, names: Sequence[str]) -> None:
    """Lets the governors drain, all at the same time, and gives up actors and cpus then."""
    endings: list[Any] = []
    actors: list[Any] = []
    for name in names:
        with suppress(ValueError):  # it has gone
            actors.append(ray.get_actor(name, namespace=_NAMESPACE))
            if _look(ray, name).state is JobState.RUNNING:
                endings.append(actors[-1].end.remote())
    if endings:
        ray.wait(endings, num_returns=len(endings), timeout=_GRACE)
    for actor in actors:
        ray.kill(actor)
    for name in names:
        with suppress(ValueError):
            ray.util.remove_placement_group(ray.util.get_placement_group(name))


def _address(options: Sequence[str]) -> str:
    if len(options) > 1 or (options and options[0].startswith("-")):
        raise StartError("name the head of the Ray cluster: rain start ray HOST:PORT, or auto")
    return options[0] if options else _ANY


def _by_address(numbers: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number in numbers:
        name, _, address = number.rpartition("@")
        found.setdefault(address, []).append(name)
    return found


@contextmanager
def _cluster(address: str) -> Generator[Any]:
    """Ray, connected to a cluster. If this program is connected to it already, it stays so."""
    ray = load("ray", "ray")
    connected = ray.is_initialized()
    try:
        if not connected:
            ray.init(address, namespace=_NAMESPACE, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise StartError(f"no Ray cluster answers at {address}: {error}") from error
    try:
        yield ray
    finally:
        if not connected:
            ray.shutdown()


def _nodes(ray: Any) -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _short(node: Mapping[str, Any]) -> str:
    """The beginning of the name of a node, which tells it apart well enough."""
    return str(node["NodeID"])[:8]


def _names(ray: Any) -> list[str]:
    """The actors that hold governors."""
    return [
        one["name"]
        for one in ray.util.list_named_actors(all_namespaces=True)
        if one["namespace"] == _NAMESPACE
    ]
