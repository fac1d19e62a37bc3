"""The options of a session, which were chosen when it was opened."""

from __future__ import annotations

from attrs import frozen

from rain.base.failures import OnFailure
from rain.client.numbers import SharedNumbers


@frozen
class SessionOptions:
    """The choices, which hold as long as the session is open."""

    name: str = ""
    on_failure: OnFailure = OnFailure.STOP
    numbers: SharedNumbers | None = None
    """Where ids come from in a session that another client has opened."""
    fuse: bool = False
    """Whether submits fuse chains that do not say it themselves."""
    is_durable: bool = False
    """Its results stay under its name."""
    idempotent: bool = False
    """Whether tasks that do not say it themselves may run twice at a time."""
