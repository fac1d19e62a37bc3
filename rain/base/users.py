"""The users of a cluster: their rights, weights and limits.

A cluster has an owner, who needs no name: the programs that have the secret of the cluster, or a
certificate that names no user. All others have a name, and keys of their own (`rain keys user`).
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

OWNER = ""
"""The name of the owner, which is in no key."""

OWNER_IN_TABLES = "(owner)"
"""How tables call the owner; no name of a user has these signs."""

DEFAULT = "*"
"""The name of the rule for users that have none of their own."""

LONGEST_NAME = 64


def check_user(name: str) -> str:
    """The name of a user; ValueError if nobody can be called so."""
    if not 0 < len(name) <= LONGEST_NAME or name.startswith("."):
        raise ValueError(f"the name of a user has 1 to {LONGEST_NAME} letters, not {name!r}")
    if not all(letter.isascii() and (letter.isalnum() or letter in "-_.@") for letter in name):
        raise ValueError(f"the name {name!r} may have letters, digits and the signs - _ . @ only")
    return name


def spell_user(name: str) -> str:
    """The name of a user in texts."""
    return name or "the owner of the cluster"


@frozen
class UserRule:
    """The rights and limits of one user."""

    name: str
    admin: bool = False  # sees and ends the work of all users, as the owner does
    locked: bool = False  # is let in no more
    weight: float = 1.0  # of the share of the cpus, beside those of others
    sessions: int = 0  # how many may be open at a time; 0 for any number
    tasks: int = 0  # and how many tasks may be unfinished
    cpus: int = 0  # how many cpus the tasks may take at a time; 0 for any number
    bytes: int = 0  # and how many bytes may be stored before no more are begun

    @property
    def is_metered(self) -> bool:
        """Whether tasks may have to wait for others of the same user."""
        return bool(self.cpus or self.bytes)


_NO_RULE = UserRule("")


def rule_of(rules: Mapping[str, UserRule], user: str) -> UserRule:
    """What a user may do."""
    if not rules:
        return _NO_RULE
    rule = rules.get(user)
    if rule is None and user != OWNER:
        rule = rules.get(DEFAULT)
    return _NO_RULE if rule is None else rule
