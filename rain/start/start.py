"""Starts a whole cluster: plans it (`plan.py`), launches it (`launch.py`) and records it."""

from __future__ import annotations

import shlex
import socket
from contextlib import ExitStack
from pathlib import Path

from attrs import evolve, frozen

from rain.base import admission
from rain.base.address import LOOPBACK, is_unspecified, spell_address
from rain.base.errors import StartError
from rain.common.secret_file import make_secret_file, read_secret
from rain.daemon.folders import make_folder
from rain.daemon.user_key import user_key
from rain.launchers.registry import find_launcher
from rain.start import processes
from rain.start.children import Child
from rain.start.choice import is_address_of, left_behind
from rain.start.clusters import (
    ClusterDescription,
    GovernorOptions,
    Index,
    StartedDaemon,
    read_cluster,
    write_cluster,
)
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors
from rain.start.interrupts import interrupts
from rain.start.jobs import JobSubmission
from rain.start.launch import Launch
from rain.start.plan import (
    Settings,
    is_encrypted,
    may_return,
    needs_secret,
    plan_governors,
    plan_server,
    plan_template,
    seen_from_governors,
)
from rain.start.remote import RemoteAccess
from rain.start.scaling_files import STATE_FILE, ScalerOrder, write_order
from rain.start.scaling_plan import check_kind_name, launcher_name, plan_kind, plan_scaler
from rain.start.standbys import again, start_standby, with_journal
from rain.start.template_child import TemplateChild
from rain.tls.identity import Identity


@frozen
class StartedCluster:
    """A running cluster, why it could not be put on the user's list, if so, and what is to say."""

    cluster: ClusterDescription
    unlisted: str = ""
    note: str = ""  # of the server


def start_cluster(
    settings: Settings, access: RemoteAccess, timeout: float, index: Index
) -> StartedCluster:
    """Starts all daemons, or ends all of them and raises StartError."""
    refuse_second(settings, index)
    settings = evolve(with_journal(settings), log_folder=_prepare_log_folder(settings.log_folder))
    settings, secret = _with_secret(settings)
    with (
        interrupts() as signals,
        JobSubmission() as submission,
        Launch(signals, timeout) as launch,
    ):
        server = launch.local(plan_server(settings))
        template = order_template(launch, settings)
        launch.wait_until_ready([server])
        own_host = own_address(settings)
        address = seen_from_governors(server.address, own_host)
        standby = start_standby(launch, settings, access, address)
        addresses = address if standby is None else f"{address},{standby.address}"
        governors = launch_governors(
            launch, submission, settings, addresses, handing(access, settings, secret), template
        )
        scaler = start_scaler(launch, settings, addresses, access)
        cluster = ClusterDescription(
            settings.log_folder,
            socket.gethostname(),
            address,
            seen_from_governors(server.http, own_host) if server.http else "",
            tuple(member_of(child) for child in (server, *governors)),
            access,
            "" if settings.secret_file is None else str(settings.secret_file),
            str(settings.tls) if is_encrypted(settings) else "",
            tuple(submission.entries),
            again(settings, server.address) if may_return(settings) else (),
            GovernorOptions(
                _text(settings.governor_config),
                settings.cache_limit or "",
                _text(settings.work_folder),
            ),
            None if scaler is None else member_of(scaler),
            None if standby is None else evolve(member_of(standby.child), address=standby.address),
            () if standby is None else standby.command,
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


def start_scaler(
    launch: Launch, settings: Settings, address: str, access: RemoteAccess
) -> Child | None:
    """Starts what starts the governors, in a cluster whose number of governors follows the work."""
    if settings.scale is None:
        return None
    if settings.scale.kind:
        check_kind_name(settings.scale.kind)
    launcher = find_launcher(launcher_name(settings))
    kind = plan_kind(settings, settings.scale, address, access, launcher)
    write_order(settings.log_folder, ScalerOrder((kind,)))
    (settings.log_folder / STATE_FILE).unlink(missing_ok=True)  # of an earlier cluster
    scaler = launch.local(plan_scaler(settings, address))
    launch.wait_until_ready([scaler])
    return scaler


def order_template(launch: Launch, settings: Settings) -> TemplateChild | None:
    """Starts the template of the governors of this machine, if they are copies of one."""
    planned = plan_template(settings)
    return None if planned is None else launch.template(planned)


def launch_governors(
    launch: Launch,
    submission: JobSubmission,
    settings: Settings,
    address: str,
    access: RemoteAccess,
    template: TemplateChild | None,
) -> list[Child]:
    """Starts governors for the server at an address; those that are no jobs are ready then."""
    daemons, asked = plan_governors(settings, address), settings.governors
    if isinstance(asked, BatchGovernors):
        submission.submit(daemons, asked, access.folder)
        submission.wait(asked.wait, launch)
        return []
    if template is not None:
        governors = launch.copies(template, daemons)
    else:
        here = processes.boot()
        governors = [
            launch.remote(daemon, access, here) if daemon.host else launch.local(daemon)
            for daemon in daemons
        ]
    launch.wait_until_ready(governors)
    return governors


def handing(access: RemoteAccess, settings: Settings, secret: str) -> RemoteAccess:
    """Access to other hosts that also carries the secret or certificate for governors there."""
    return evolve(access, secret=secret, certificate=_for_governors(settings))


def refuse_second(settings: Settings, index: Index) -> None:
    """Refuses a second cluster of the user at one address.

    If the server of the first one has died, its governors would join the new one, and share the
    machine with its own governors.
    """
    if not settings.listen_port:
        return
    host = settings.listen_host or LOOPBACK
    wanted = spell_address(host, settings.listen_port)
    if is_unspecified(host):  # whose port is taken on every address
        wanted = str(settings.listen_port)
    for cluster in index.look()[0]:
        if not is_address_of(cluster.address, wanted):
            continue
        folder = shlex.quote(str(cluster.log_folder))
        if cluster.has_server:
            raise StartError(
                f"a cluster of yours runs at {cluster.address} already: end it with"
                f" 'rain stop {folder}', or choose another port with --listen"
            )
        raise StartError(left_behind(cluster))


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
    """The certificate that governors on other hosts get, to be admitted."""
    if settings.tls is None or not is_encrypted(settings):
        return ""
    Identity.read(settings.tls, admission.MemberKind.SERVER)
    ours = Identity.read(settings.tls, admission.MemberKind.GOVERNOR)
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


def member_of(child: Child) -> StartedDaemon:
    if child.mark is None:
        raise StartError(f"{child.daemon.name} is ready, but its process is not known")
    return StartedDaemon(child.daemon.name, child.address, child.mark, child.daemon.host)


def _text(path: Path | None) -> str:
    return "" if path is None else str(path)


def own_address(settings: Settings) -> str:
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
