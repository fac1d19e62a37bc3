"""Asks every governor for its report, and answers when all have answered or left."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import Factory, define

from rain.base.failures import SessionFailure
from rain.base.wire.answers import GovernorReport
from rain.rpc.handlers import GovernorLink, Reply


def gather_reports(
    governors: Sequence[GovernorLink], reply: Reply[Sequence[GovernorReport]]
) -> None:
    """Answers with the reports in the order of the governors; one that leaves is left out."""
    if not governors:
        reply.answer([])
        return
    gathering = _Gathering(reply, len(governors))
    for position, governor in enumerate(governors):
        governor.report(_Part(gathering, position))


@define(eq=False)
class _Gathering:
    reply: Reply[Sequence[GovernorReport]]
    missing: int
    reports: dict[int, GovernorReport] = Factory(dict)

    def part(self) -> None:
        self.missing -= 1
        if not self.missing:
            self.reply.answer([self.reports[position] for position in sorted(self.reports)])


@define(eq=False)
class _Part:
    """The reply of one governor."""

    gathering: _Gathering
    position: int

    def answer(self, value: GovernorReport, /) -> None:
        self.gathering.reports[self.position] = value
        self.gathering.part()

    def refuse(self, reason: str | SessionFailure, /) -> None:
        del reason  # it has gone, or goes: then it is not one of the governors
        self.gathering.part()
