"""Creates the environments part of a governor when a task first needs it: most governors never
do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import define, field
from structlog.typing import FilteringBoundLogger

from rain.base.environment import Environment
from rain.governor.core.results import Content
from rain.governor.machine.warden import Warden
from rain.governor.storage.store import Store

if TYPE_CHECKING:
    from rain.governor.environments.folder import MadeEnvironment
    from rain.governor.environments.making import Environments


@define
class LazyEnvironments:
    """Makes environments for executors and for programs, which share them."""

    _store: Store
    _warden: Warden
    _log: FilteringBoundLogger
    _limit: int | None = None  # bytes of all environments; None for the usual limit
    _conda: str | None = None  # the program that makes conda environments; None to look for one
    _environments: Environments | None = field(default=None, init=False)

    async def made(self, environment: Environment, contents: Iterable[Content]) -> MadeEnvironment:
        """The environment, as soon as it is there; NotMadeError if it cannot be made.

        Its folders are given as the tasks that need it read them.
        """
        folders = [one if isinstance(one, bytes) else self._store.path(one) for one in contents]
        return await self._get().made(environment, folders)

    def close(self) -> None:
        """The governor ends, and uses none any more."""
        if self._environments is not None:
            self._environments.close()

    def _get(self) -> Environments:
        if self._environments is None:
            # See the top.
            from rain.governor.environments.folder import LIMIT, own_environments  # noqa: PLC0415
            from rain.governor.environments.making import Environments  # noqa: PLC0415

            limit = LIMIT if self._limit is None else self._limit
            self._environments = Environments(
                own_environments(), limit, self._warden, self._log, self._conda
            )
        return self._environments
