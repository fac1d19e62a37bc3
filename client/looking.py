"""The methods of a client that show its cluster: dashboard, output, governors, durable sessions."""

from functools import partial
from typing import Any

from rain.base.address import seen_by_peer
from rain.base.admission import http_url
from rain.base.failures import SessionFailure
from rain.base.wire.answers import DurableReport
from rain.base.wire.requests import (
    DurableSessions,
    OpenDashboard,
    OverviewOf,
    RemoveDurable,
    ServerInfo,
    ShareDurable,
    Terminate,
)
from rain.client.connection import Asking
from rain.client.display.pictures import asked, client_picture, dashboard
from rain.client.display.showing import LINES_PER_SECOND, Showing
from rain.client.explaining.misspelled import SaysWhatIsMeant
from rain.client.futures.methods import FutureMethods
from rain.client.housekeeper import Housekeeper
from rain.client.reaching.cluster import Reached
from rain.client.reports import governor_info
from rain.common.errors import RainException, SessionException


class Looking(FutureMethods, SaysWhatIsMeant):
    """The methods of `Client` that show the cluster and its sessions."""

    def __init__(self, reached: Reached) -> None:
        super().__init__()
        self.connection = reached.connection
        self.housekeeper = Housekeeper(reached.connection, reached.cluster)
        self.showing = Showing(reached.connection, self.housekeeper.open_sessions)
        self.housekeeper.at_close.append(self.showing.stop)
        self._secret = reached.secret
        self._is_encrypted = reached.is_encrypted
        self._http = ""  # the address of the dashboard, once it was asked for

    @property
    def address(self) -> str:
        """Of the server, "host:port"; after a standby has taken over, of that one.

        >>> Client(local=True).address
        'local'
        """
        return self.connection.address

    @property
    def dashboard_url(self) -> str:
        """The URL of the dashboard, for a browser on this machine.

        The URL has the password in it: others who have it may look, too. Where links are encrypted
        the browser asks for the password, which `rain token` prints. The dashboard of a cluster
        that this client has started begins with the first look at this. It shows the sessions that
        are open, with their tasks, and everything that happens from then on.

        >>> client.dashboard_url.startswith("http://rain:")
        True
        """
        with Asking(nameless_failure):
            self._http = self.connection.ask(OpenDashboard())
        where = seen_by_peer(self._http, self.address)
        return f"https://{where}/" if self._is_encrypted else http_url(self._secret, where)

    def show_output(self, on: bool = True, *, lines_per_second: float = LINES_PER_SECOND) -> None:
        """Shows here what the tasks of all sessions print, while they run.

        Each line begins with the task and the governor that runs it. Output of stdout goes to
        `sys.stdout`, that of stderr to `sys.stderr`.

        >>> client.show_output()
        >>> client.submit(print, "hello").result()  # doctest: +SKIP
        [print 1/2 127.0.0.1:38571] hello
        >>> client.show_output(False)

        Args:
            on: False ends it.
            lines_per_second: what tasks print faster for long is left out, with a line that says
                how many lines those are; `Task.logs` has them.
        """
        with Asking(nameless_failure):
            self.showing.show_all(on, lines_per_second)

    def sessions(self) -> list[DurableReport]:
        """The durable sessions of the cluster.

        >>> with client.session("sweep", durable=True) as session:
        ...     futures = session.map(abs, range(3))
        >>> [(one.name, one.tasks, one.failed) for one in client.sessions()]
        [('sweep', 3, 0)]
        >>> client.remove_session("sweep")
        """
        with Asking(nameless_failure):
            return list(self.connection.ask(DurableSessions()).sessions)

    def remove_session(self, name: str) -> None:
        """Removes a durable session: its calls are cancelled, and its results are deleted.

        >>> client.session("sweep", durable=True).close()
        >>> client.remove_session("sweep")
        >>> client.sessions()
        []
        """
        with Asking(nameless_failure):
            self.connection.ask(RemoveDurable(name))

    def share_session(self, name: str, *users: str) -> None:
        """Lets other users of the cluster open a durable session.

        >>> client.session("sweep", durable=True).close()
        >>> client.share_session("sweep", "ada", "bob")
        >>> client.sessions()[0].shared_with
        ('ada', 'bob')
        >>> client.remove_session("sweep")

        Args:
            name: that of the session.
            users: who may open it from now on, besides its own user; "*" is all users, and without
                any nobody else may.
        """
        with Asking(nameless_failure):
            self.connection.ask(ShareDurable(name, users))

    def get_server_info(self) -> dict[str, Any]:
        """The governors of the cluster, with their resources and what they hold now.

        >>> [governor["resources"]["cpus"] for governor in client.get_server_info()["governors"]]
        [2]
        """
        self.housekeeper.flush()
        with Asking(nameless_failure):
            governors = self.connection.ask(ServerInfo())
        return {"governors": [governor_info(report) for report in governors]}

    def terminate_server(self) -> None:
        """Ends the server and its governors, as `rain stop` does, and closes the client.

        All sessions of all clients end, too.

        >>> other = Client(cpus=1)
        >>> other.terminate_server()
        >>> repr(other).endswith("closed>")
        True
        """
        with Asking(nameless_failure):
            self.connection.ask(Terminate())
        self.housekeeper.close()

    def __repr__(self) -> str:
        own = "" if self.housekeeper.cluster is None else " with a cluster of its own"
        if self.housekeeper.closed:
            return f"<Client {self.address}{own} closed>"
        where = dashboard(self._http, self.address, encrypted=self._is_encrypted)
        return f"<Client {self.address}{own}{f', dashboard {where}' if where else ''}>"

    def _repr_html_(self) -> str:
        """The picture of it in notebooks."""
        closed = self.housekeeper.closed
        overview = None if closed else asked(partial(self.connection.ask, OverviewOf()))
        owns = self.housekeeper.cluster is not None
        encrypted = self._is_encrypted
        return client_picture(self.address, overview, owns=owns, closed=closed, encrypted=encrypted)


def nameless_failure(failure: SessionFailure) -> RainException:
    return SessionException(f"Message: {failure.message}")
