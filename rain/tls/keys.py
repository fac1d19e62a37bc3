"""The credentials of a member of a cluster, to prove its identity and to check its peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from rain.base.admission import Secret

if TYPE_CHECKING:
    from rain.tls.identity import Identity


@frozen
class Keys:
    """The secret of the cluster, and our certificate."""

    secret: Secret | None = None  # None: the other side must not need one
    identity: Identity | None = None  # None: nothing is encrypted

    @property
    def user(self) -> str:
        """The user of the cluster for whom these are; "" is the owner."""
        if self.secret is not None and self.secret.user:
            return self.secret.user
        return "" if self.identity is None else self.identity.who.user


NO_KEYS = Keys()
