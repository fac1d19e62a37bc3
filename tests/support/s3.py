"""A real S3 server for tests: SeaweedFS, on loopback only, with its data below a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.server.lease.real_stores import free_ports
from tests.support.waiting import until_now

KEY = "reader-of-the-tests"
SECRET = "the-secret-of-the-tests"


@frozen
class S3:
    """A server that runs, with one bucket."""

    endpoint: str
    bucket: str = "bucket"

    def options(self, **changes: object) -> dict[str, Any]:
        """What users give as `storage_options`."""
        client = {"endpoint_url": self.endpoint, "region_name": "us-east-1"}
        return {"key": KEY, "secret": SECRET, "client_kwargs": client, **changes}

    def environment(self) -> dict[str, str]:
        """The same for processes."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
        }


@contextmanager
def s3_server(folder: Path, host: str = "127.0.0.1") -> Generator[S3, None, None]:
    """Runs one; nobody without the key may do anything."""
    actions = ["Admin", "Read", "Write", "List"]
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": actions,
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
    ports = free_ports(8)
    data = folder / "weed"
    data.mkdir()
    command = [str(Path(sys.executable).with_name("weed")), "-logtostderr", "server"]
    settings = {
        "dir": data,
        "ip": host,
        "ip.bind": host,
        "master.port": ports[0],
        "master.port.grpc": ports[1],
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": 64,
        "volume.port": ports[2],
        "volume.port.grpc": ports[3],
        "volume.max": 10,
        "filer": "true",
        "filer.port": ports[4],
        "filer.port.grpc": ports[5],
        "filer.localSocket": folder / "filer.sock",
        "s3": "true",
        "s3.port": ports[6],
        "s3.port.grpc": ports[7],
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.localSocket": folder / "s3.sock",
        "s3.config": folder / "s3.json",
        "s3.autoCreateBucket": "false",
    }
    command += [f"-{name}={value}" for name, value in settings.items()]
    log = folder / "weed.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
    made = S3(f"http://{host}:{ports[6]}")
    try:
        until_now(lambda: process.poll() is not None or _makes_bucket(made))
        assert process.poll() is None, log.read_text(encoding="utf-8")[-2000:]
        yield made
    finally:
        process.kill()
        process.wait()


def _makes_bucket(server: S3) -> bool:
    """Whether it has the bucket now; it says no until all of its parts have found each other."""
    host, _, port = server.endpoint.removeprefix("http://").rpartition(":")
    connection = HTTPConnection(host, int(port), timeout=5.0)
    try:
        connection.request("GET", "/healthz")
        if connection.getresponse().status != 200:
            return False
    except OSError:
        return False
    finally:
        connection.close()
    # In a process of its own, so that no connection of it is left in that of the tests.
    program = (
        "import json, sys, s3fs\ns3fs.S3FileSystem(**json.loads(sys.argv[1])).mkdir(sys.argv[2])\n"
    )
    arguments = [json.dumps(server.options()), server.bucket]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, check=False
    )
    return done.returncode == 0
