"""The template process, of which the governors of this machine are copies, during a start."""

from __future__ import annotations

import os

from attrs import define, field

from rain.base.errors import StartError
from rain.daemon.template import Template
from rain.start import processes
from rain.start.children import Child, end_status, how_ended, log_end, open_log
from rain.start.local_child import LocalChild, make_work_root
from rain.start.plan import PlannedDaemon
from rain.start.remote import Report


@define(eq=False)
class TemplateChild(Child):
    """The template; it is ready when all copies run. `release` lets them continue."""

    template: Template = field(kw_only=True)
    _copies: list[tuple[PlannedDaemon, int]] = field(factory=list, init=False)  # with report fds

    @property
    def ready(self) -> bool:
        return self.template.complete

    def hear(self) -> bool:
        return self.template.hear()

    def note(self, report: Report | None) -> None:
        raise AssertionError("it reports pids, which are read elsewhere")

    def why_ended(self) -> str:
        how, log = how_ended(end_status(self)), self.daemon.errors
        return f"{self.daemon.name} {how} before any was started; the log {log} {log_end(log)}"

    def why_silent(self) -> str:
        log = self.daemon.errors
        return f"their log, {log}, {log_end(log)}"

    def order(self, daemon: PlannedDaemon) -> None:
        """Orders one governor."""
        reports, ready = os.pipe()
        os.set_blocking(reports, False)
        self._copies.append((daemon, reports))
        try:
            make_work_root(daemon)
            with open_log(daemon.output) as output, open_log(daemon.errors) as errors:
                options = {"--ready-fd": ready}
                self.template.order(daemon.name, daemon.arguments, output, errors, options)
        except OSError as error:
            raise StartError(f"{daemon.name} cannot be started: {error}") from error
        finally:
            os.close(ready)

    def children(self) -> list[LocalChild]:
        """The copies in the order in which they were ordered. They still wait."""
        asked, self._copies = self._copies, []
        return [
            LocalChild(daemon, copy, reports, processes.mark(copy.pid))
            for (daemon, reports), copy in zip(asked, self.template.copies(), strict=True)
        ]

    def release(self) -> None:
        """Lets the copies continue; the template ends."""
        self.template.release()

    def abandon(self) -> None:
        """Ends the template and the waiting copies."""
        self.template.abandon()
        for _, reports in self._copies:
            os.close(reports)


def spawn_template(daemon: PlannedDaemon) -> TemplateChild:
    """Starts the template. It imports while other daemons start."""
    try:
        with open_log(daemon.output) as output, open_log(daemon.errors) as errors:
            template = Template(daemon.command, output, errors, new_session=True)
    except OSError as error:
        raise StartError(f"{daemon.name} cannot be started: {error}") from error
    return TemplateChild(daemon, template.process, os.dup(template.fileno()), template=template)
