"""Makes the Kubernetes manifests of a governor's pod and of the secret that it reads. No I/O.

A pod shares no folder with the machine of the server. So files that the governor's options refer to
are put into a Kubernetes secret, and the governor writes its data and logs to a folder of the pod.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from rain.launchers.interface import Job, JobState, Standing
from rain.launchers.surroundings import IN_CONTAINER

Manifest: TypeAlias = dict[str, Any]

LABEL = "app.kubernetes.io/name"
APPLICATION = "rain-governor"
CONTAINER = "governor"
PORT = 7211
_FILES = "/etc/rain"
_OWN = "/run/rain"
_DATA = "/var/lib/rain"
_READY = f"{_DATA}/ready"
_NAMED = ("--secret-file", "--tls", "--config")
_DROPPED = ("--logdir", "--listen", "--workdir", "--cpus")
_GRACE = 30  # Kubernetes' own default: a governor drains for 25 seconds


def files_of(job: Job) -> dict[str, str]:
    """The files that options of the governor of a job name, by option."""
    told = _options(job.governor)
    return {name: told[name] for name in _NAMED if told.get(name, "none") != "none"}


def secret(name: str, content: Mapping[str, bytes]) -> Manifest:
    """A secret with the content of these files, by option."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {LABEL: APPLICATION}},
        "data": {_key(option): base64.b64encode(text).decode() for option, text in content.items()},
    }


def pod(job: Job, name: str, image: str, template: Mapping[str, Any]) -> Manifest:
    """The pod of a job. What the template says stays, unless Rain has to say it."""
    made: Manifest = deepcopy(dict(template))
    made.update(apiVersion="v1", kind="Pod")
    metadata = made.setdefault("metadata", {})
    metadata["name"] = name
    metadata.setdefault("labels", {})[LABEL] = APPLICATION
    spec = made.setdefault("spec", {})
    spec["restartPolicy"] = "Never"  # a governor that ends has lost its server, or was stopped
    spec.setdefault("terminationGracePeriodSeconds", _GRACE)
    if job.seconds is not None:
        spec["activeDeadlineSeconds"] = job.seconds
    volumes = spec.setdefault("volumes", [])
    volumes.append({"name": "rain-data", "emptyDir": {}})
    mounts: list[Manifest] = [{"name": "rain-data", "mountPath": _DATA}]
    if files_of(job):
        volumes.append({"name": "rain-files", "secret": {"secretName": name}})
        volumes.append({"name": "rain-own", "emptyDir": {"medium": "Memory"}})
        mounts.append({"name": "rain-files", "mountPath": _FILES, "readOnly": True})
        mounts.append({"name": "rain-own", "mountPath": _OWN})
    containers = spec.setdefault("containers", [])
    ours: Manifest | None = next((one for one in containers if one.get("name") == CONTAINER), None)
    if ours is None:
        ours = Manifest(name=CONTAINER)
        containers.insert(0, ours)
    ours.update(
        image=image,
        command=["/bin/sh", "-c", _script(job)],
        ports=[{"containerPort": PORT}],
        readinessProbe={
            "exec": {"command": ["grep", "-q", "ready", _READY]},
            "periodSeconds": 2,
        },
        terminationMessagePolicy="FallbackToLogsOnError",
    )
    environment = [{"name": key, "value": value} for key, value in job.around.environment]
    ours["env"] = [*ours.get("env", []), *environment]
    ours["volumeMounts"] = [*ours.get("volumeMounts", []), *mounts]
    amounts = _amounts(job)
    if amounts:
        ours["resources"] = {"requests": amounts, "limits": amounts}
    return made


def read_pod(told: Mapping[str, Any]) -> Standing:
    """How far a pod is, from its status as JSON."""
    status = _part(told, "status")
    phase = status.get("phase", "Pending")
    if "deletionTimestamp" in _part(told, "metadata"):
        return Standing(JobState.RUNNING, "it is being ended")
    ours = _first(status, "containerStatuses", "name", CONTAINER)
    state = _part(ours, "state")
    if phase == "Pending":
        refused = _first(status, "conditions", "status", "False")
        return Standing(JobState.QUEUED, _words(_part(state, "waiting")) or _words(refused))
    if phase == "Running":
        address = f"{status.get('podIP')}:{PORT}" if ours.get("ready") else ""
        return Standing(JobState.RUNNING, address=address)
    ended = _part(state, "terminated")
    code = ended.get("exitCode")
    why = [str(status.get("reason") or ended.get("reason") or "")]
    if code:
        why.append(f"status {code}")
    said = str(status.get("message") or ended.get("message") or "").strip().splitlines()
    return Standing(JobState.ENDED, ", ".join(filter(None, [*why, *said[-1:]])))


def _part(told: Mapping[str, Any], name: str) -> Manifest:
    """A part of an answer of Kubernetes; {} if it is missing."""
    found: Manifest | None = told.get(name)
    return found or {}


def _first(told: Mapping[str, Any], name: str, key: str, value: str) -> Manifest:
    """The first of a list with this value; {} if there is none."""
    several: list[Manifest] = told.get(name) or []
    return next((one for one in several if one.get(key) == value), Manifest())


def _words(told: Mapping[str, Any]) -> str:
    return ": ".join(str(told[key]) for key in ("reason", "message") if told.get(key))


def _options(arguments: Sequence[str]) -> dict[str, str]:
    """The options of `rain governor` with their values. `--name=value` is one word there."""
    found: dict[str, str] = {}
    words = iter(arguments[2:])  # after `governor SERVER`
    for word in words:
        name, equals, value = word.partition("=")
        flag = name == "--insecure"
        found[name] = value if equals or flag else next(words)
    return found


def _script(job: Job) -> str:
    told = _options(job.governor)
    words = [*IN_CONTAINER, "governor", job.governor[1], "--listen", f"0.0.0.0:{PORT}"]
    for name, value in told.items():
        if name in _DROPPED:
            continue
        if name in files_of(job):
            words += [name, str(PurePosixPath(_OWN, _key(name)))]
        else:
            words += [name, value] if value else [name]
    words += ["--workdir", f"{_DATA}/work", "--logdir", f"{_DATA}/logs", "--ready-file", _READY]
    if job.cpus is not None:
        words += ["--cpus", str(job.cpus)]
    if job.seconds is not None:
        words += ["--time-limit", f"{job.seconds}s"]
    # A governor reads no secret that others may read, and those of volumes are such.
    first = [f"(umask 077; cp {_FILES}/* {_OWN}/) || exit 1"] if files_of(job) else []
    first += [job.around.before] if job.around.before else []
    if not job.around.after:
        return "\n".join([*first, f"exec {shlex.join(words)}"])
    # The first process of a container is told alone that it ends, so it tells the governor.
    return "\n".join(
        [
            *first,
            f"{shlex.join(words)} & governor=$!",
            "trap 'kill -TERM $governor' TERM",
            "wait $governor; status=$?",
            "trap - TERM",
            "wait $governor 2>/dev/null && status=$?",
            job.around.after,
            "exit $status",
        ]
    )


def _amounts(job: Job) -> dict[str, str]:
    found: dict[str, str] = {}
    if job.cpus is not None:
        found["cpu"] = str(job.cpus)
    if job.memory is not None:
        found["memory"] = str(job.memory)
    if job.gpus is not None:
        found["nvidia.com/gpu"] = str(job.gpus)
    return found


def _key(option: str) -> str:
    return option.removeprefix("--")
