"""Many zero governors in one process: `python -m bench.zeros PORT HOW_MANY`.

Each has its own connection to the server and answers "finished" at once.
"""

from functools import partial

import click
import structlog
import trio

from rain.base.ids import GovernorId
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.daemon import lifetime, program
from rain.daemon.exposure import or_user_key
from rain.daemon.readiness import Readiness
from rain.governor.uplink import Uplink
from rain.governor.zero import ZeroService
from rain.rpc.background import Background
from rain.rpc.governor_endpoint import connect_governor
from rain.rpc.handlers import ControlHandler, GovernorHello, Resumes, ServerLink
from rain.tls.keys import Keys

HOST = "127.0.0.1"
CPUS = 2


async def serve(port: int, count: int, ready: Readiness) -> int:
    """Registers all governors and answers until the process is told to end."""
    resources = Resources(CPUS)
    async with trio.open_nursery() as nursery:
        for number in range(count):
            # An address where nobody reads, because nothing is stored.
            hello = GovernorHello(GovernorId(number + 1), f"{HOST}:{number + 1}", resources)
            uplink = Uplink(partial(_connect, nursery, port, hello), structlog.get_logger())
            service = ZeroService(resources, Background(nursery), uplink)
            await uplink.register(service, 0.0)
            service.start()
        ready.announce(f"{HOST}:{port}")
        await lifetime.end(None)
        nursery.cancel_scope.cancel()
    return 0


async def _connect(
    nursery: trio.Nursery,
    port: int,
    hello: GovernorHello,
    handler: ControlHandler,
    resumes: Resumes | None,
) -> ServerLink:
    del resumes  # they are never away
    keys = Keys(or_user_key(None, HOST))
    return await connect_governor(nursery, Servers([(HOST, port)]), handler, hello, keys=keys)


@click.command()
@click.argument("port", type=int)
@click.argument("count", type=int)
@click.option("--ready-fd", type=int, required=True)
def main(port: int, count: int, ready_fd: int) -> None:
    async def serving() -> int:
        return await serve(port, count, Readiness(fd=ready_fd))

    program.run(serving)


if __name__ == "__main__":
    main()
