"""Starts a whole cluster: plans it (`plan.py`), launches it (`launch.py`) and records it."""

from __future__ import annotations

import shlex
import socket
from contextlib import ExitStack
from pathlib import Path

from attrs import evolve, frozen

from rain.base import admission
from rain.base.address import spell_address
from rain.base.errors import StartError
from rain.common.secret_file import make_secret_file, read_secret
from rain.daemon.folders import make_folder
from rain.daemon.user_key import user_key
from rain.start import processes
from rain.start.children import Child
from rain.start.choice import is_address_of
from rain.start.clusters import Cluster, Index, Member, read_cluster, write_cluster
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors
from rain.start.interrupts import interrupts
from rain.start.jobs import Submission
from rain.start.launch import Launch
from rain.start.plan import (
    LOOPBACK,
    Settings,
    is_encrypted,
    may_return,
    needs_secret,
    plan_governors,
    plan_server,
    plan_template,
    seen_from_governors,
)
from rain.start.processes import is_running
from rain.start.remote import RemoteAccess
from rain.tls.identity import Identity


@frozen
class StartedCluster:
    """A running cluster, why it could not be put on the user's list, if so, and what is to say."""

    cluster: Cluster
    unlisted: str = ""
    note: str = ""  # of the server


def start_cluster(
    settings: Settings, access: RemoteAccess, timeout: float, index: Index
) -> StartedCluster:
    """Starts all daemons, or ends all of them and raises StartError."""
    refuse_left_behind(settings, index)
    settings = evolve(settings, log_folder=_prepare_log_folder(settings.log_folder))
    settings, secret = _with_secret(settings)
    handing = evolve(access, secret=secret, certificate=_for_governors(settings))
    with (
        interrupts() as signals,
        Submission() as submission,
        Launch(signals, timeout) as launch,
    ):
        planned_server = plan_server(settings)
        server = launch.local(planned_server)
        planned = plan_template(settings)
        template = None if planned is None else launch.template(planned)
        launch.wait_until_ready([server])
        own_host = _own_host(settings)
        address = seen_from_governors(server.address, own_host)
        daemons = plan_governors(settings, address)
        governors: list[Child] = []
        if isinstance(settings.governors, BatchGovernors):
            submission.submit(daemons, settings.governors, access.folder)
            submission.wait(settings.governors.wait, settings.log_folder, launch)
        elif template is not None:
            governors = launch.copies(template, daemons)
        else:
            here = processes.boot()
            governors = [
                launch.remote(daemon, handing, here) if daemon.host else launch.local(daemon)
                for daemon in daemons
            ]
        launch.wait_until_ready(governors)
        cluster = Cluster(
            settings.log_folder,
            socket.gethostname(),
            address,
            seen_from_governors(server.http, own_host) if server.http else "",
            tuple(_member(child) for child in (server, *governors)),
            access,
            "" if settings.secret_file is None else str(settings.secret_file),
            str(settings.tls) if is_encrypted(settings) else "",
            _launcher_of(settings),
            tuple(submission.entries),
            planned_server.command if may_return(settings) else (),
        )
        write_cluster(cluster)
        submission.keep()
        launch.settle()
    try:
        index.add(cluster)
    except OSError as error:
        return StartedCluster(
            cluster, f"{index.folder} cannot be written: {error.strerror}", server.said
        )
    return StartedCluster(cluster, note=server.said)


def refuse_left_behind(settings: Settings, index: Index) -> None:
    """Refuses a second cluster at an address for whose server governors wait.

    They would join its server, and share the machine with its own governors.
    """
    if not settings.listen_port:
        return
    wanted = spell_address(settings.listen_host or LOOPBACK, settings.listen_port)
    for cluster in index.look()[0]:
        if is_address_of(cluster.address, wanted) and not is_running(cluster.server.mark):
            folder = shlex.quote(str(cluster.log_folder))
            way = f"go on with 'rain restart {folder}', or " if cluster.server_command else ""
            raise StartError(
                f"the server of the cluster at {cluster.address} has died, and its governors still"
                f" run: {way}end them with 'rain stop {folder}'"
            )


def _with_secret(settings: Settings) -> tuple[Settings, str]:
    """Returns the settings with the secret file, and the secret, which is created if needed."""
    if settings.insecure:
        return evolve(settings, secret_file=None), ""
    if settings.secret_file is not None:
        return settings, read_secret(settings.secret_file).key.decode("utf-8")
    if is_encrypted(settings):
        return settings, ""
    if not needs_secret(settings):
        key, path = user_key()
        return evolve(settings, secret_file=path), key.key.decode("utf-8")
    path = settings.log_folder / "secret"
    return evolve(settings, secret_file=path), make_secret_file(path).key.decode("utf-8")


def _for_governors(settings: Settings) -> str:
    """What governors on other hosts are given to be let in."""
    if settings.tls is None or not is_encrypted(settings):
        return ""
    Identity.read(settings.tls, admission.Member.SERVER)
    ours = Identity.read(settings.tls, admission.Member.GOVERNOR)
    return ours.path.read_text()


def _prepare_log_folder(folder: Path) -> Path:
    made = make_folder(folder, "log folder")
    earlier = read_cluster(made)
    if earlier is not None and earlier.machine == socket.gethostname() and earlier.is_running():
        raise StartError(
            f"a cluster with its logs in {made} still runs: end it with 'rain stop {made}',"
            " or choose another --logdir"
        )
    return made


def _member(child: Child) -> Member:
    if child.mark is None:
        raise StartError(f"{child.daemon.name} is ready, but its process is not known")
    return Member(child.daemon.name, child.address, child.mark, child.daemon.host)


def _launcher_of(settings: Settings) -> str:
    governors = settings.governors
    return governors.launcher if isinstance(governors, BatchGovernors) else ""


def _own_host(settings: Settings) -> str:
    """The address under which governors reach a server that listens on all addresses here."""
    if settings.advertise:
        return settings.advertise
    if isinstance(settings.governors, LocalGovernors):
        return LOOPBACK
    name = socket.gethostname()
    with ExitStack() as stack:
        try:
            found = socket.gethostbyname(name)
        except OSError:
            found = LOOPBACK
        if not found.startswith("127."):
            return name
        # On many machines their own name resolves to loopback, which others cannot use.
        # Connecting a datagram socket sends nothing: it only selects the route, and so our address.
        probe = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for host in _hosts_of(settings):
            try:
                probe.connect((host.rpartition("@")[2], 9))
            except OSError:
                continue
            way: str = probe.getsockname()[0]
            if not way.startswith("127."):
                return way
    return name


def _hosts_of(settings: Settings) -> tuple[str, ...]:
    governors = settings.governors
    return governors.hosts if isinstance(governors, RemoteGovernors) else ()
