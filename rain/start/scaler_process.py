"""The main loop of the scaler process: it waits, asks the server, and records what it has done."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from attrs import asdict

from rain.base.admission import MemberKind
from rain.base.errors import ConnectionLostError
from rain.base.leading import Servers
from rain.base.wire.requests import DemandOf, Promise
from rain.common.secret_file import read_secret
from rain.daemon.readiness import Readiness
from rain.launchers.interface import Launcher
from rain.launchers.registry import find_launcher
from rain.rpc.client_endpoint import ClientConnection
from rain.start.ending import wait_readable
from rain.start.interrupts import InterruptedStartError, SignalDescriptor, interrupts
from rain.start.scaler import LOOK_AGAIN, Scaler
from rain.start.scaling_files import (
    ScalerOrder,
    ScalingState,
    order_stamp,
    read_order,
    read_state,
    write_state,
)
from rain.tls.identity import Identity
from rain.tls.keys import Keys

_ANSWER = 3.0
"""Seconds that the server has for an answer; it may be on its way back."""


def run_scaler(
    log_folder: Path, address: str, secret_file: str, tls: str, readiness: Readiness
) -> int:
    """Runs until the server has ended, or a signal comes; the exit status."""
    stamp = order_stamp(log_folder)  # before it is read: a later one is read again
    order = read_order(log_folder)
    state = read_state(log_folder) or ScalingState()
    scaler = Scaler(order, log_folder, state, _launchers(order))
    write_state(log_folder, state)
    with interrupts() as signals:
        connection = _connect(address, secret_file, tls)
        try:
            readiness.announce(address)
            _scale(scaler, stamp, connection, signals)
        except InterruptedStartError:
            pass  # its governors go on
        except ConnectionLostError:
            scaler.cancel_all()
        finally:
            connection.close()
    return 0


def _scale(
    scaler: Scaler, stamp: tuple[int, int], connection: ClientConnection, signals: SignalDescriptor
) -> None:
    told: Promise | None = None
    written = asdict(scaler.state)
    while True:
        if (newer := order_stamp(scaler.log_folder)) != stamp:
            stamp, order = newer, read_order(scaler.log_folder)
            scaler.take(order, _launchers(order))
        with suppress(TimeoutError):  # it is away, and may come back
            demand = connection.ask(DemandOf(scaler.sight), _ANSWER)
            scaler.look(demand, time.time())
            if scaler.promise != told:
                connection.ask(scaler.promise, _ANSWER)
                told = scaler.promise
        now = asdict(scaler.state)
        if now != written:
            write_state(scaler.log_folder, scaler.state)
            written = now
        wait_readable([signals.fileno()], LOOK_AGAIN)
        signals.check()


def _launchers(order: ScalerOrder) -> dict[str, Launcher]:
    """The launcher of each kind, by the name of the kind."""
    return {one.kind.name: find_launcher(one.launcher) for one in order.kinds}


def _connect(address: str, secret_file: str, tls: str) -> ClientConnection:
    (host, port), *standbys = Servers.of(address).addresses
    identity = Identity.read(Path(tls), MemberKind.CLIENT) if tls else None
    secret = read_secret(Path(secret_file)) if secret_file and identity is None else None
    return ClientConnection(host, port, keys=Keys(secret, identity), standbys=standbys)
