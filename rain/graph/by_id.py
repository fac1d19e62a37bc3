"""Finds tasks and data objects of all sessions by id.

Each session has its own tables, from its first submission to its end. These mappings look into all
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, ValuesView
from typing import TypeVar, overload

from rain.base.ids import NUMBER_BITS, SessionId
from rain.graph.session import Session

K = TypeVar("K", bound=int)
N = TypeVar("N")
D = TypeVar("D")


class ById(Mapping[K, N]):
    """The nodes of one sort: session by session, and within a session in the order of arrival."""

    def __init__(
        self, sessions: Mapping[SessionId, Session], table: Callable[[Session], Mapping[K, N]]
    ) -> None:
        self._sessions = sessions
        self._table = table

    def __getitem__(self, packed: K) -> N:
        return self._table(self._sessions[SessionId(packed >> NUMBER_BITS)])[packed]

    @overload
    def get(self, packed: K, /) -> N | None: ...

    @overload
    def get(self, packed: K, /, default: N | D) -> N | D: ...

    # The base class would catch an exception here for each unknown id.
    def get(self, packed: K, /, default: object = None) -> object:
        """The node with this id, if there is one."""
        session = self._sessions.get(SessionId(packed >> NUMBER_BITS))
        return default if session is None else self._table(session).get(packed, default)

    def __iter__(self) -> Iterator[K]:
        for session in self._sessions.values():
            yield from self._table(session)

    def __len__(self) -> int:
        return sum(len(self._table(session)) for session in self._sessions.values())

    def values(self) -> ValuesView[N]:
        """All nodes, without look-ups by id."""
        return _Nodes(self)

    def tables(self) -> Iterator[Mapping[K, N]]:
        """The table of each session."""
        return map(self._table, self._sessions.values())


class _Nodes(ValuesView[N]):
    _mapping: ById[int, N]

    def __iter__(self) -> Iterator[N]:
        for table in self._mapping.tables():
            yield from table.values()
