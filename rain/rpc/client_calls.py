"""The client's end of its connection, and what can come back from a call over it."""

import asyncio
from collections.abc import Callable
from typing import Any

import capnp

from rain.base.address import spell_address
from rain.base.admission import Role, Secret
from rain.base.errors import (
    ConnectionLostError,
    ProtocolError,
    RefusedError,
    SessionFailedError,
    StartError,
)
from rain.rpc import schema
from rain.rpc.codec.answers import read_refusal
from rain.rpc.codec.border import Capability, Reader, reading
from rain.rpc.connection import Connection, NotLetInError, dial, reason_of
from rain.rpc.running import Promise
from rain.stream.errors import UnreachableError
from rain.stream.protocol import NOBODY


class Calls:
    """A registered connection. All of its methods belong to the loop of the connection."""

    def __init__(
        self,
        connection: Connection,
        service: Capability,
        where: str,
        key: bytes = NOBODY,
        why_lost: Callable[[], str] | None = None,
    ) -> None:
        self.where = where
        self.key = key  # goes with uploads
        self._service: Capability | None = service
        self.connection = connection
        connection.tell_close(self._drop)
        self._reason = ""  # why the server closed the connection, if it said so
        self._closed_here = False
        self._why_lost = why_lost  # what somebody else knows of it, "" for nothing

    @property
    def service(self) -> Capability:
        """What the server offers to its clients; `ConnectionLostError` when it has gone."""
        if self._service is None or not self.connection.is_open:
            raise self.lost()
        return self._service

    async def answer(self, call: Promise) -> Reader:
        """The results of a call that was sent.

        Raises `RefusedError`, `SessionFailedError` or `ConnectionLostError`.
        """
        try:
            results = await call
        except capnp.KjException as error:
            if error.type != "DISCONNECTED" and not self._reason:
                self._reason = reason_of(error)
            raise self.lost() from None
        if results._has("refusal"):
            with reading("a refusal"):
                refusal = read_refusal(results.refusal)
            if isinstance(refusal, str):
                raise RefusedError(refusal)
            raise SessionFailedError(refusal)
        return results

    def lost(self) -> ConnectionLostError:
        """The one error for a connection that has ended."""
        if self._closed_here:
            return ConnectionLostError(f"the connection to the server at {self.where} was closed")
        if self.connection.silence:
            return ConnectionLostError(
                f"the server at {self.where} has been silent for {self.connection.silence:.0f}"
                " seconds: it hangs, or the link to it is cut"
            )
        known = self._why_lost() if self._why_lost is not None else ""
        if known:
            return ConnectionLostError(known)
        told = self._reason or self.connection.farewell
        reason = f": {told}" if told else ""
        return ConnectionLostError(f"the server at {self.where} closed the connection{reason}")

    def announce_close(self) -> None:
        """From the thread that closes: whoever asks from now on is told that."""
        if self.connection.is_open:
            self._closed_here = True

    def give_up(self) -> None:
        self.connection.end("the client has given the server up")

    def close(self) -> None:
        self.announce_close()
        self.connection.end("closed by the client")

    def _drop(self) -> None:
        self._service = None  # in the thread of the connection, whoever else holds this object


async def connect_client(
    host: str,
    port: int,
    version: int,
    timeout: float,
    secret: Secret | None = None,
    why_lost: Callable[[], str] | None = None,
) -> Calls:
    """Registers as a client; `StartError` says why that does not work."""
    where = spell_address(host, port)
    try:
        connection = await dial(host, port, timeout, Role.CLIENT, secret)
    except NotLetInError as error:
        raise StartError(
            f"the server at {where} and this client do not trust each other: {error}"
        ) from None
    except UnreachableError as error:
        raise StartError(f"cannot reach the server at {error}") from None
    except ProtocolError as error:
        raise StartError(f"what listens at {where} is not a Rain server: {error}") from None
    try:
        async with asyncio.timeout(timeout):
            bootstrap = connection.call(schema.server.ServerBootstrap)
            answer: Any = await bootstrap.registerClient(version=version)
            with reading("the answer to the registration"):
                return Calls(connection, answer.service, where, answer.key, why_lost)
    except TimeoutError:
        connection.end("no answer")
        reason = f"it does not answer within {timeout:g} seconds"
        raise StartError(f"cannot reach the server at {where}: {reason}") from None
    except ProtocolError as error:
        connection.end("no Rain server")
        raise StartError(f"what listens at {where} is not a Rain server: {error}") from None
    except capnp.KjException as error:
        connection.end("refused")
        reason = reason_of(error)
        if error.type == "FAILED":
            raise StartError(f"the server at {where} refuses this client: {reason}") from None
        raise StartError(f"what listens at {where} is not a Rain server: {reason}") from None
    except asyncio.CancelledError:
        connection.end("given up")
        raise
