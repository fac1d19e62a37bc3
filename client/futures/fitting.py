"""Says at once that a call has to wait, because no governor has what it needs.

The server waits for such a governor for a while, since one may be about to join. Somebody who has
mistyped a number would see nothing until then.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from rain.base.errors import RainError
from rain.base.resources import CPUS
from rain.base.wire.answers import GovernorReport
from rain.client.warn import warn_user

Needs: TypeAlias = tuple[tuple[str, int], ...]


class Fitting:
    """The needs of the calls of one client; each new one is compared with the governors."""

    def __init__(self, ask: Callable[[], Sequence[GovernorReport]]) -> None:
        self._ask = ask
        self._known: set[Needs] = {((CPUS, 1),)}  # every governor has that

    def check(self, name: str, needs: Needs) -> None:
        """Warns if no governor of the cluster can run a call that needs this."""
        if needs in self._known:
            return
        self._known.add(needs)
        try:
            offers = [dict(report.resources) for report in self._ask()]
        except RainError:
            return  # the server is lost, which the call itself will say
        if offers and not any(_fits(needs, offer) for offer in offers):
            told = ", ".join(_lack(need, offers) for need in needs if not _is_there(need, offers))
            told = told or "no governor has all of it together"
            wanted = " and ".join(f"{amount} {what}" for what, amount in needs)
            warn_user(
                f"{name} needs {wanted}, and {told}: it waits for such a governor, and fails if"
                " none joins"
            )


def _fits(needs: Needs, offer: dict[str, int]) -> bool:
    return all(offer.get(what, 0) >= amount for what, amount in needs)


def _is_there(need: tuple[str, int], offers: Sequence[dict[str, int]]) -> bool:
    return any(_fits((need,), offer) for offer in offers)


def _lack(need: tuple[str, int], offers: Sequence[dict[str, int]]) -> str:
    what, _ = need
    most = max(offer.get(what, 0) for offer in offers)
    return f"the largest governor has {most} {what}" if most else f"no governor has {what}"
