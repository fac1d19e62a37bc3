"""The records of a journal: one for each turn that changed something.

A record has the input of the turn, and the decisions that do not follow from it: the plans of
schedulers, and which governors were silent for too long. With these a turn can be repeated exactly
(`Reactor.turn_again`), whatever a scheduler would plan today.

The first record of a file is its header. It lists the fields of the classes of all later records,
so that a later version of Rain can read them. Fields that come later need a default.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgpack
from attrs import Factory, define, evolve, frozen

import rain
from rain.base.errors import RainError
from rain.server import migrations
from rain.server.core.messages import (
    Asked,
    ClientEvent,
    ClientJoined,
    GovernorEvent,
    GovernorUpdated,
    Said,
    Silent,
    TurnInput,
)
from rain.server.core.noted_plans import Step
from rain.server.core.reactor import Reactor, TurnOutput
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.migrations import LaterFormatError
from rain.server.plain import Forms, layout_of, to_plain

V = TypeVar("V")


class JournalError(RainError):
    """A journal cannot be read, or does not fit together."""


@frozen
class Header:
    """The beginning of a file of the journal."""

    first: int  # the number of its first turn
    settings: ReactorSettings  # of its turns
    last_session: int = 0  # the last number of a session before it
    cluster: bytes = b""  # the id of the cluster
    generation: int = 0  # of the lease of the server that has begun the file

    @staticmethod
    def of(first: int, state: State) -> Header:
        """That of a file that begins with this turn of a server with this state."""
        return Header(
            first,
            state.settings,
            state.graph.last_session,
            state.succession.cluster,
            state.succession.generation,
        )


@define
class Came:
    """The input of a turn. Turns are numbered from 1, and without gaps."""

    number: int
    now: float
    from_governors: list[GovernorEvent] = Factory(list)
    from_clients: list[ClientEvent] = Factory(list)


@define
class Decided:
    """The decisions of a turn that do not follow from the state and its input."""

    silent: list[Silent] = Factory(list)
    plans: list[list[Step]] | None = None  # None if no scheduler ran


@define
class TurnRecord:
    """A turn: all that it takes to make it again."""

    came: Came
    decided: Decided


def encode_came(number: int, given: TurnInput) -> bytes:
    """Encodes what comes into a turn, before the turn is made: the graph keeps parts of it."""
    events = given.from_governors
    if any(isinstance(event, GovernorUpdated) and event.update.monitoring for event in events):
        events = [_without_samples(event) for event in events]
    return _packed(Came, Came(number, given.now, events, given.from_clients))


def _without_samples(event: GovernorEvent) -> GovernorEvent:
    """Samples of machines are for the event log."""
    if isinstance(event, GovernorUpdated) and event.update.monitoring:
        return GovernorUpdated(event.governor, evolve(event.update, monitoring=[]))
    return event


def encode_turn(came: bytes, output: TurnOutput) -> bytes:
    """Encodes the record of a turn, without its frame."""
    plans = None if output.plans is None else [[*steps] for steps in output.plans]
    return _PAIR + came + _packed(Decided, Decided([*output.silent], plans))


_PAIR = b"\x92"
"""The beginning of a list of two in msgpack."""


def _packed(kind: type[V], value: V) -> bytes:
    packed: bytes = msgpack.packb(to_plain(kind, value), unicode_errors="surrogatepass")
    return packed


def make_again(reactor: Reactor, record: TurnRecord) -> TurnOutput:
    """Makes the turn of a record again, and notes which numbers are used."""
    came, decided = record.came, record.decided
    given = TurnInput(came.now, came.from_governors, came.from_clients)
    state = reactor.state
    for event in came.from_clients:
        match event:
            case ClientJoined(client):
                state.succession.last_client = max(state.succession.last_client, client)
            case Asked(_, request) | Said(_, _, int(request)):
                state.succession.last_request = max(state.succession.last_request, request)
            case _:
                pass
    output = reactor.turn_again(given, decided.silent, decided.plans)
    reactor.settle()
    return output


def encode_header(header: Header) -> bytes:
    """Encodes the first record of a file."""
    said = {
        "version": migrations.version(),
        "rain": rain.__version__,
        "layout": layout_of(Header, TurnRecord),
        "header": to_plain(Header, header),
    }
    packed: bytes = msgpack.packb(said)
    return packed


@define
class Decoder:
    """Reads the records of one file by the layout that its header tells."""

    header: Header
    _forms: Forms

    @staticmethod
    def of(record: bytes) -> Decoder:
        """Reads the header; raises `JournalError` if this version cannot read the file."""
        try:
            said: dict[str, Any] = msgpack.unpackb(record)
            written_by = said["rain"]
            forms = Forms(said["layout"], migrations.missing(said["version"], written_by))
        except LaterFormatError as error:
            raise JournalError(str(error)) from error
        except (TypeError, ValueError, KeyError, msgpack.UnpackException) as error:
            raise JournalError(f"its header cannot be read: {error}") from error
        try:
            return Decoder(forms.back(Header, said["header"]), forms)
        except (TypeError, ValueError, KeyError) as error:
            raise JournalError(_not_known(error, written_by)) from error

    def turn(self, record: bytes) -> TurnRecord:
        """Reads the record of a turn."""
        try:
            plain = msgpack.unpackb(record, unicode_errors="surrogatepass")
            return self._forms.back(TurnRecord, plain)
        except (TypeError, ValueError, KeyError, msgpack.UnpackException) as error:
            raise JournalError(_not_known(error, "of another version")) from error


def _not_known(error: Exception, written_by: str) -> str:
    return (
        f"a record cannot be read by Rain {rain.__version__}: {error}; it was written by Rain"
        f" {written_by}"
    )
