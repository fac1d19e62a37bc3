"""Governors as pods of Kubernetes: the official client talks to a fake of ours."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.cluster import Cluster
from rain.launchers.interface import Job, JobState
from rain.launchers.kubernetes import Kubernetes, read_options
from rain.launchers.pods import pod, read_pod, secret
from rain.launchers.surroundings import Surroundings
from tests.launchers.fake_kubernetes import Fake, fake_kubernetes

kubernetes: Any = import_module("kubernetes")
yaml: Any = import_module("yaml")
EXAMPLE = Path(__file__).parents[2] / "examples" / "kubernetes"


def job(*options: str, **more: Any) -> Job:
    return evolve(
        Job(
            "rain-governor-0",
            "",
            Path("/here"),
            Path("/here/out"),
            options=options,
            governor=(
                *("governor", "head:7300", "--listen", "0.0.0.0:0"),
                *("--logdir", "/logs/governor-0"),
            ),
        ),
        **more,
    )


def as_the_client_reads(manifest: dict[str, Any], kind: str) -> Any:
    """The object of the official client, which checks it."""
    with kubernetes.client.ApiClient() as client:
        return client.deserialize(SimpleNamespace(data=json.dumps(manifest)), kind)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Fake]:
    made = Fake()
    with fake_kubernetes(made, tmp_path) as settings:
        monkeypatch.setenv("KUBECONFIG", str(settings))
        yield made


def test_a_pod_is_what_the_official_client_takes_for_one() -> None:
    secret_file = ("--secret-file", "/logs/secret")
    asked = job(
        cpus=4,
        memory=2**30,
        gpus=1,
        seconds=3600,
        governor=(*job().governor, *secret_file, "--cpus=4", "--memory=1073741824"),
        around=Surroundings(before="ulimit -n 65536", environment=(("A", "it's"),)),
    )

    made = pod(asked, "rain-governor-0-ab", "rain:1", {})
    read = as_the_client_reads(made, "V1Pod")

    (container,) = read.spec.containers
    assert container.image == "rain:1"
    assert container.resources.limits == {
        "cpu": "4",
        "memory": "1073741824",
        "nvidia.com/gpu": "1",
    }
    assert [(one.name, one.value) for one in container.env] == [("A", "it's")]
    assert (read.spec.active_deadline_seconds, read.spec.restart_policy) == (3600, "Never")
    assert container.command[2] == (
        "(umask 077; cp /etc/rain/* /run/rain/) || exit 1\n"
        "ulimit -n 65536\n"
        "exec python3 -m rain governor head:7300 --listen 0.0.0.0:7211"
        " --secret-file /run/rain/secret-file --memory 1073741824"
        " --workdir /var/lib/rain/work --logdir /var/lib/rain/logs"
        " --ready-file /var/lib/rain/ready --cpus 4 --time-limit 3600s"
    )
    kept = as_the_client_reads(secret("rain-governor-0-ab", {"--secret-file": b"x"}), "V1Secret")
    assert kept.data == {"secret-file": "eA=="}


def test_what_a_template_says_stays() -> None:
    template: dict[str, Any] = {
        "metadata": {"labels": {"team": "mine"}},
        "spec": {
            "nodeSelector": {"disk": "ssd"},
            "containers": [
                {"name": "governor", "env": [{"name": "B", "value": "2"}]},
                {"name": "beside", "image": "other"},
            ],
        },
    }

    read = as_the_client_reads(pod(job(), "p", "rain:1", template), "V1Pod")

    assert read.metadata.labels["team"] == "mine"
    assert read.spec.node_selector == {"disk": "ssd"}
    assert [one.image for one in read.spec.containers] == ["rain:1", "other"]
    assert read.spec.containers[0].env[0].name == "B"
    assert template["spec"]["containers"][0].keys() == {"name", "env"}


@pytest.mark.parametrize(
    ("status", "state", "why"),
    [
        ({}, JobState.QUEUED, ""),
        (
            {
                "phase": "Pending",
                "conditions": [
                    {
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes are available",
                    }
                ],
            },
            JobState.QUEUED,
            "Unschedulable: 0/3 nodes are available",
        ),
        (
            {
                "phase": "Pending",
                "containerStatuses": [
                    {
                        "name": "governor",
                        "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}},
                    }
                ],
            },
            JobState.QUEUED,
            "ErrImagePull: not found",
        ),
        ({"phase": "Running", "podIP": "10.0.0.7"}, JobState.RUNNING, ""),
        (
            {
                "phase": "Failed",
                "containerStatuses": [
                    {
                        "name": "governor",
                        "state": {
                            "terminated": {
                                "exitCode": 1,
                                "reason": "Error",
                                "message": "joining\nrain: no server\n",
                            }
                        },
                    }
                ],
            },
            JobState.ENDED,
            "Error, status 1, rain: no server",
        ),
        ({"phase": "Failed", "reason": "DeadlineExceeded"}, JobState.ENDED, "DeadlineExceeded"),
        (
            {"phase": "Failed", "reason": "Evicted", "message": "disk"},
            JobState.ENDED,
            "Evicted, disk",
        ),
    ],
)
def test_a_pod_says_how_far_it_is(status: dict[str, Any], state: JobState, why: str) -> None:
    standing = read_pod({"metadata": {}, "status": status})

    assert (standing.state, standing.why, standing.address) == (state, why, "")


def test_a_pod_that_is_ready_has_an_address() -> None:
    ready: dict[str, Any] = {"phase": "Running", "podIP": "10.0.0.7"}
    ready["containerStatuses"] = [{"name": "governor", "ready": True}]

    assert read_pod({"metadata": {}, "status": ready}).address == "10.0.0.7:7211"


def test_a_job_is_a_pod_with_its_secret_and_both_go(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("correct horse battery")
    governor = (*job().governor, "--secret-file", str(tmp_path / "secret"))

    launcher = Kubernetes()
    number = launcher.submit(job("rain:1", governor=governor))
    name = number.rpartition("/")[2]
    owner = fake.secrets[name]["metadata"]["ownerReferences"]
    standing = launcher.look([number, "/science/unknown"])
    launcher.cancel([number, "/science/unknown"])

    assert number == f"/science/{name}"
    assert [(one["kind"], one["name"], one["uid"]) for one in owner] == [("Pod", name, "uid-0")]
    assert "battery" not in json.dumps([*fake.pods.values()])
    assert standing.keys() == {number}
    assert standing[number].state is JobState.QUEUED
    assert (fake.pods, fake.secrets) == ({}, {})


def test_what_kubernetes_refuses_is_told_in_its_words(fake: Fake) -> None:
    fake.refuses = "pods is forbidden: exceeded quota"

    with pytest.raises(StartError, match="Kubernetes answers 403: pods is forbidden: exceeded"):
        Kubernetes().submit(job("rain:1"))


def test_without_a_cluster_it_is_said_that_none_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")

    with pytest.raises(StartError, match="no Kubernetes cluster is known here"):
        Kubernetes().submit(job("rain:1"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "name a container image"),
        (["rain:1", "rain:2"], "is given twice"),
        (["rain:1", "--namespace"], "has no value"),
        (["rain:1", "--image-pull-policy=Always"], "put it into a --template"),
    ],
)
def test_options_that_are_wrong_are_refused(options: list[str], words: str) -> None:
    with pytest.raises(StartError, match=words):
        read_options(options)


@pytest.mark.whole
def test_tasks_run_in_pods_and_none_outlives_the_cluster(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    fake.folder = tmp_path / "nodes"

    with Cluster.kubernetes(
        "rain:1",
        governors=1,
        cpus=1,
        wait=1,
        env={"WHERE": "pod"},
        listen="0.0.0.0:0",
        http_listen="0",
        advertise="127.0.0.1",
    ) as cluster:
        (line,) = cluster.jobs()
        with cluster.client() as client:
            assert client.submit(os.getenv, "WHERE").result() == "pod"

    assert (line.state, line.address) == ("running", "10.1.2.3:7211")
    assert (fake.pods, fake.secrets) == ({}, {})


def test_the_manifests_of_the_guide_are_what_the_official_client_takes() -> None:
    found = list(yaml.safe_load_all((EXAMPLE / "cluster.yaml").read_text()))

    for manifest in found:
        as_the_client_reads(manifest, f"V1{manifest['kind']}")
    assert [manifest["kind"] for manifest in found] == ["Service", "Deployment", "Deployment"]
