"""Kubernetes: a pod for each governor, through the official client."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from attrs import frozen

from rain.base.errors import StartError
from rain.launchers import pods
from rain.launchers.extras import load
from rain.launchers.interface import Job, Standing

_SECONDS = 30
_TAKEN = ("--namespace", "--context", "--template")


@frozen
class KubernetesOptions:
    """The arguments of the launcher: the image, and how to reach the cluster."""

    image: str
    namespace: str = ""
    context: str = ""
    template: str = ""


class Kubernetes:
    """The launcher `kubernetes`. The number of a job is CONTEXT/NAMESPACE/POD."""

    name = "kubernetes"
    cpus_variable = ""

    def submit(self, job: Job) -> str:
        asked = read_options(job.options)
        if job.around.container:
            raise StartError("a pod is a container already: name its image, without --container")
        files = {option: _content(Path(path)) for option, path in pods.files_of(job).items()}
        name = f"{job.name}-{secrets.token_hex(4)}"
        made = pods.pod(job, name, asked.image, _template(asked.template))
        with _reached(asked.context) as (core, own):
            namespace = asked.namespace or own
            created = core.create_namespaced_pod(namespace, made, _request_timeout=_SECONDS)
            if files:
                # It belongs to the pod, which waits for it, and goes with it.
                owned = pods.secret(name, files)
                owner = {"apiVersion": "v1", "kind": "Pod", "name": name}
                owned["metadata"]["ownerReferences"] = [{**owner, "uid": created.metadata.uid}]
                core.create_namespaced_secret(namespace, owned, _request_timeout=_SECONDS)
        return f"{asked.context}/{namespace}/{name}"

    def look(self, numbers: Sequence[str]) -> Mapping[str, Standing]:
        found: dict[str, Standing] = {}
        for (context, namespace), jobs in _by_place(numbers).items():
            with _reached(context) as (core, _):
                listed = core.list_namespaced_pod(
                    namespace,
                    label_selector=f"{pods.LABEL}={pods.APPLICATION}",
                    _request_timeout=_SECONDS,
                )
                for told in core.api_client.sanitize_for_serialization(listed)["items"]:
                    number = jobs.get(told["metadata"]["name"])
                    if number is not None:
                        found[number] = pods.read_pod(told)
        return found

    def cancel(self, numbers: Sequence[str]) -> None:
        gone = load("kubernetes.client.exceptions", "kubernetes").ApiException
        for (context, namespace), jobs in _by_place(numbers).items():
            with _reached(context) as (core, _):
                for name in jobs:
                    try:
                        core.delete_namespaced_pod(name, namespace, _request_timeout=_SECONDS)
                    except gone as error:
                        if error.status != 404:  # it has ended, and somebody has removed it
                            raise


def read_options(options: Sequence[str]) -> KubernetesOptions:
    """The image and options of the launcher."""
    said: dict[str, str] = {}
    words = iter(options)
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            name, value = "image", word
        elif name not in _TAKEN:
            raise StartError(f"{name} is none of {', '.join(_TAKEN)}: put it into a --template")
        elif not equals:
            value = next(words, "")
        key = name.removeprefix("--")
        if key in said or not value:
            raise StartError(f"{name} of Kubernetes is given twice, or has no value")
        said[key] = value
    if "image" not in said:
        raise StartError("name a container image with Rain in it: rain start kubernetes IMAGE ...")
    return KubernetesOptions(**said)


def _by_place(numbers: Sequence[str]) -> dict[tuple[str, str], dict[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for number in numbers:
        context, namespace, name = number.rsplit("/", 2)  # the name of a context may have slashes
        found.setdefault((context, namespace), {})[name] = number
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}") from error


def _template(file: str) -> Mapping[str, Any]:
    if not file:
        return {}
    text = _content(Path(file)).decode("utf-8", "replace")
    yaml = load("yaml", "kubernetes")
    try:
        found: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise StartError(f"the template {file} is not YAML: {error}") from error
    pod = cast("dict[str, Any]", found) if isinstance(found, dict) else {"kind": "nothing"}
    if pod.get("kind", "Pod") != "Pod":
        raise StartError(f"the template {file} is not a pod")
    return pod


@contextmanager
def _reached(context: str) -> Generator[tuple[Any, str]]:
    """The API of a cluster, and the namespace of the context. StartError has its words."""
    kubernetes = load("kubernetes", "kubernetes")
    urllib3 = load("urllib3", "kubernetes")
    config, file = kubernetes.config, os.environ.get("KUBECONFIG")
    try:
        try:
            client = config.new_client_from_config(file, context or None)
            known, active = config.list_kube_config_contexts(file)
            chosen = next((one for one in known if one["name"] == context), active)
            namespace = chosen.get("context", {}).get("namespace", "default")
        except config.ConfigException:
            if context:
                raise
            config.load_incluster_config()  # in a pod
            client = kubernetes.client.ApiClient()
            namespace = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read_text()
        with client:
            yield kubernetes.client.CoreV1Api(client), namespace
    except config.ConfigException as error:
        raise StartError(f"no Kubernetes cluster is known here: {error}") from error
    except kubernetes.client.exceptions.ApiException as error:
        raise StartError(f"Kubernetes answers {error.status}: {_said(error)}") from error
    except urllib3.exceptions.HTTPError as error:
        raise StartError(f"Kubernetes cannot be reached: {error}") from error


def _said(error: Any) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.reason)
