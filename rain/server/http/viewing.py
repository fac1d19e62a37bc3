"""Decides what a user sees over HTTP: their own sessions, and the whole of sessions that others
share.

The owner and admins see everything. Only the event log has the user of an ended session; such a
session is shown to that user alone.
"""

from __future__ import annotations

from attrs import frozen

from rain.base.ids import SessionId
from rain.base.users import OWNER
from rain.server.core import rights
from rain.server.core.state import State
from rain.server.dashboard import reading
from rain.server.dashboard.library import Library
from rain.server.http.status import Status


@frozen
class Viewer:
    """A user that looks at a cluster."""

    state: State
    user: str = OWNER

    @property
    def sees_all(self) -> bool:
        return rights.is_admin(self.state, self.user)

    @property
    def only(self) -> str | None:
        """Whose sessions of the event log are shown; None for those of all."""
        return None if self.sees_all else self.user

    def open_sessions(self) -> set[int]:
        """The open sessions that are shown."""
        found = self.state.graph.sessions.values()
        return {one.id for one in found if rights.user_sees(self.state, self.user, one)}

    async def why_not(self, library: Library | None, number: int) -> str:
        """Why a session is not shown; "" if it is."""
        if self.sees_all:
            return ""
        session = self.state.graph.sessions.get(SessionId(number))
        if session is not None:
            seen = rights.user_sees(self.state, self.user, session)
        elif library is None:
            seen = False
        else:
            path = library.path
            seen = await library.read(lambda: reading.user_of(path, number)) == self.user
        return "" if seen else f"{self.user} may not see the session {number}"

    def shown(self, status: Status) -> Status:
        """The part of a status that is shown: without sessions of others, and without texts of
        failures.
        """
        if self.sees_all:
            return status
        seen = self.open_sessions()
        return {
            **status,
            "scheduler": {**status["scheduler"], "last_fault": ""},
            "governors": [{**one, "rests_why": ""} for one in status["governors"]],
            "sessions": [one for one in status["sessions"] if one["session"] in seen],
        }
