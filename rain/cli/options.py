"""Helpers for the options of several commands, so that each option is one line.

`seconds`, `file`, `address` and others make an option of that type. `daemon_options` are those of
both daemons, and `server_options` those of the commands that ask a server.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from attrs import fields, frozen

from rain.base.admission import TLS_FILE, MemberKind, Secret
from rain.base.errors import StartError
from rain.base.silence import check_limit
from rain.base.sizes import parse_size
from rain.daemon.readiness import Readiness

if TYPE_CHECKING:
    from rain.tls.identity import Identity

NONE = Path("none")
F = TypeVar("F", bound=Callable[..., object])
PATH = click.Path(path_type=Path)
LEVELS = click.Choice(["debug", "info", "warning", "error"])


def parsed(parse: Callable[[str], object]) -> Callable[..., Any]:
    """A callback of an option whose texts are parsed by a function; the text of its ValueError
    becomes the error message.

    An option that may be repeated gets a tuple.
    """

    def read(_: click.Context, option: click.Parameter, said: Any) -> object:
        try:
            if option.multiple:
                return tuple(parse(text) for text in said)
            return None if said is None else parse(said)
        except ValueError as error:
            raise StartError(f"{option.opts[-1]} {error}") from None

    return read


def words(text: str) -> tuple[str, ...]:
    """The words of a command."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"{text!r} is not a command: {error}") from None


class Option(Protocol):
    """Adds an option to the function of a command."""

    def __call__(self, command: F, /) -> F: ...


def seconds(name: str, default: float, text: str, least: float = 0.0) -> Option:
    """An option that is a duration."""
    return click.option(
        name,
        type=click.FloatRange(min=least),
        default=default,
        show_default=True,
        metavar="SECONDS",
        help=text,
    )


def silence(name: str, default: float, text: str) -> Option:
    """An option for the allowed silence of a peer: 0 becomes None, which means unlimited."""

    def check(_: click.Context, __: click.Parameter, value: float) -> float | None:
        try:
            return check_limit(value, name)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return click.option(
        name,
        type=click.FloatRange(min=0.0),
        default=default,
        show_default=True,
        metavar="SECONDS",
        callback=check,
        help=text,
    )


def number(name: str, default: float, text: str) -> Option:
    """An option that is a factor of at least 1."""
    return click.option(
        name,
        type=click.FloatRange(min=1.0),
        default=default,
        show_default=True,
        metavar="TIMES",
        help=text,
    )


def count(name: str, default: int, text: str) -> Option:
    """An option that is a whole number of at least 1."""
    return click.option(
        name,
        type=click.IntRange(min=1),
        default=default,
        show_default=True,
        metavar="COUNT",
        help=text,
    )


def switch(name: str, text: str) -> Option:
    """An option that is on by default: --NAME, --no-NAME."""
    return click.option(f"--{name}/--no-{name}", default=True, show_default=True, help=text)


def amount(name: str, default: str, metavar: str, text: str) -> Option:
    """An option whose text is parsed later, because it may be a number or a word."""
    return click.option(name, default=default, show_default=True, metavar=metavar, help=text)


def file(name: str, text: str) -> Option:
    """An option that is the path of a file."""
    return click.option(name, type=PATH, metavar="FILE", help=text)


def repeated(name: str, parameter: str, metavar: str, text: str) -> Option:
    """An option that may be given several times."""
    return click.option(name, parameter, multiple=True, metavar=metavar, help=text)


def together(
    name: str, make: type, *options: Option
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Options that are one noun: the command gets them as an object of this attrs class."""
    names = [field.name for field in fields(make)]

    def add(run: Callable[..., int]) -> Callable[..., int]:
        @wraps(run)
        def command(*arguments: object, **given: object) -> int:
            made = make(**{one: given.pop(one) for one in names})
            return run(*arguments, **{name: made}, **given)

        for option in reversed(options):
            command = option(command)
        return command

    return add


def listen(default: str, text: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """The options for the address where a daemon listens: -l, --listen, and --interface."""

    def add(run: Callable[..., int]) -> Callable[..., int]:
        @click.option(
            "-l",
            "--listen",
            "listen_at",
            metavar="ADDRESS",
            help=f"{text}  [default: {default}]",
        )
        @click.option(
            "--interface",
            metavar="NAME",
            help="The network interface to listen on, such as eth1, instead of a host in --listen.",
        )
        @wraps(run)
        def command(
            *arguments: object, listen_at: str | None, interface: str | None, **own: object
        ) -> int:
            if interface is not None:
                listen_at = _at_interface(interface, listen_at or "")
            return run(*arguments, listen_at=listen_at or default, **own)

        return command

    return add


def _at_interface(interface: str, listen_at: str) -> str:
    """The address of an interface, with the port that was named, if one was."""
    from rain.base.address import spell_address
    from rain.daemon.addresses import parse_address
    from rain.daemon.interfaces import address_of_interface

    host, port = parse_address(listen_at, "", 0)
    if host:
        raise click.UsageError(f"--listen {listen_at} names a host, and --interface another one")
    found = address_of_interface(interface)
    return spell_address(found, port) if listen_at else found


def size(name: str, text: str) -> int:
    """Parses a number of bytes given as an option."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=name) from None


def secret_file(text: str) -> Option:
    """The option that names the secret of the cluster."""
    return click.option(
        "--secret-file",
        type=PATH,
        metavar="FILE",
        envvar="RAIN_SECRET_FILE",
        help=f"{text}  [env: RAIN_SECRET_FILE]",
    )


def tls(text: str) -> Option:
    """The option that names a certificate, or the folder of 'rain keys'."""
    return click.option(
        "--tls", type=PATH, metavar="PATH", envvar=TLS_FILE, help=f"{text}  [env: {TLS_FILE}]"
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def server_options(http: str = "") -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Adds the options for the address and the credentials of a server; the command gets them as
    `server`.

    `http` is the help of its option; without it there is none.
    """

    def add(run: Callable[..., int]) -> Callable[..., int]:
        @wraps(run)
        def command(
            which: str,
            secret_file: Path | None,
            tls: Path | None,
            insecure: bool,
            http: str = "",
            **own: object,
        ) -> int:
            from rain.start.clusters import user_index
            from rain.start.reaching import reach

            sources = map(click.get_current_context().get_parameter_source, ("secret_file", "tls"))
            server = reach(
                user_index(),
                which,
                http,
                secret_file,
                tls,
                insecure=insecure,
                is_own_key=click.core.ParameterSource.COMMANDLINE in sources,
            )
            return run(server=server, **own)

        unless = "if not that of a cluster which 'rain start' has started here."
        for option in (
            click.option(
                "--insecure", is_flag=True, help="The server was started with --insecure."
            ),
            tls(f"The certificate of a client, or the folder of 'rain keys', {unless}"),
            secret_file(f"The secret of the cluster, {unless}"),
            *([click.option("--http", metavar="ADDRESS", default="", help=http)] if http else []),
            click.argument("which", metavar="[LOGDIR|ADDRESS]", default=""),
        ):
            command = option(command)
        return command

    return add


@frozen
class DaemonOptions:
    """The settings that both daemons have."""

    secret_file: Path | None
    secret_fd: int | None
    tls: Path | None
    tls_fd: int | None
    insecure: bool
    log_folder: Path | None
    log_level: str
    readiness: Readiness
    parent_fd: int | None

    def secret(self) -> Secret | None:
        """The secret that peers must know, or None."""
        from rain.common.secret_file import read_secret, read_secret_from

        if self.insecure:
            return None
        if self.secret_fd is not None:
            return read_secret_from(self.secret_fd)
        return None if self.secret_file is None else read_secret(self.secret_file)

    def identity(self, member: MemberKind) -> Identity | None:
        """The certificate of this daemon, or None if it encrypts nothing."""
        if self.insecure or (self.tls is None and self.tls_fd is None) or self.tls == NONE:
            return None
        from rain.tls.identity import Identity

        if self.tls_fd is not None:
            return Identity.read_from(self.tls_fd, member)
        assert self.tls is not None
        return Identity.read(self.tls, member)


def daemon_options(run: Callable[..., int]) -> Callable[..., int]:
    """Adds the options of all daemons, which the command gets as `daemon`."""

    @wraps(run)
    def command(
        secret_file: Path | None,
        secret_fd: int | None,
        tls: Path | None,
        tls_fd: int | None,
        insecure: bool,
        logdir: Path | None,
        log_level: str,
        ready_file: Path | None,
        ready_fd: int | None,
        parent_fd: int | None,
        **own: object,
    ) -> int:
        readiness = Readiness(ready_file, ready_fd)
        daemon = DaemonOptions(
            secret_file,
            secret_fd,
            tls,
            tls_fd,
            insecure,
            logdir,
            log_level,
            readiness,
            parent_fd,
        )
        return run(daemon=daemon, **own)

    for option in (
        click.option("--logdir", type=PATH, help="Folder of the logs."),
        click.option(
            "--log-level", type=LEVELS, default="info", show_default=True, help="What is logged."
        ),
        click.option("--ready-file", type=PATH, help='Write "ready" into this file when ready.'),
        click.option(
            "--ready-fd", type=int, hidden=True, help='Write "ready ADDRESS" to this descriptor.'
        ),
        click.option(
            "--parent-fd", type=int, hidden=True, help="End when this descriptor reports its end."
        ),
        secret_file("The secret of the cluster, which all its members must have."),
        click.option("--secret-fd", type=int, hidden=True, help="Read it from this descriptor."),
        tls(
            "Encrypt all links with this certificate, or with that in a folder of 'rain keys';"
            " 'none' for no encryption."
        ),
        click.option("--tls-fd", type=int, hidden=True, help="Read it from this descriptor."),
        click.option(
            "--insecure",
            is_flag=True,
            help="Use no secret and no encryption, even if other machines can reach this one.",
        ),
    ):
        command = option(command)
    return command
