"""The command `rain cache`: which results are kept, how much that is, and what they depend on."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rain.cli.options import PATH, size

if TYPE_CHECKING:
    from rain.cache.listing import ListedEntry


@click.command()
@click.argument("what", type=click.Choice(["list", "size", "trim", "clear"]), default="list")
@click.option("--folder", type=PATH, help="The folder of the cache.  [default: your own cache]")
@click.option(
    "--name", default="", metavar="NAME", help="Only the results of this function or program."
)
@click.option("--why", is_flag=True, help="For list: show what each result depends on, too.")
@click.option(
    "--limit", metavar="SIZE", help="For trim: how many bytes may stay, for example 20GiB."
)
def cache(what: str, folder: Path | None, name: str, why: bool, limit: str | None) -> int:
    """Show or remove results that were kept with cache=True.

    'list' shows each result, the most recently used first: when it was used, its size, how many
    seconds its run took, and what was called. 'size' shows the sum for each name. 'trim' removes
    the least recently used results until no more than LIMIT is left, and 'clear' removes
    everything. It is safe to remove results while tasks run.
    """
    from rain.base.caching import OWN_FOLDER
    from rain.base.sizes import spell_size
    from rain.cache.errors import CacheError
    from rain.cache.listing import clear, listed, sums, trim
    from rain.cache.places import TAG, open_place, own_folder

    if (what == "trim") != (limit is not None):
        raise click.UsageError("'trim' needs --limit SIZE, and nothing else takes it")
    path = own_folder() if folder is None else folder.expanduser().absolute()
    if not (path / TAG).is_file():
        if folder is not None:
            raise CacheError(f"{path} is not a cache")
        click.echo(f"nothing is kept in {path}")
        return 0
    place = open_place(OWN_FOLDER if folder is None else str(path))
    if what in ("trim", "clear"):
        most = 0 if limit is None else size("--limit", limit)
        gone = trim(place, most, name) if what == "trim" else clear(place, name)
        click.echo(f"removed {gone.count} results, {spell_size(gone.size)}, from {path}")
        return 0
    found = listed(place, name)
    if what == "list":
        for one in found:
            _show(one, why=why)
    else:
        for each, count, taken in sums(found):
            click.echo(f"{spell_size(taken):>10} {count:>7}  {each}")
    total = spell_size(sum(one.size for one in found))
    click.echo(f"{len(found)} results, {total}, in {path}")
    return 0


def _show(one: ListedEntry, *, why: bool) -> None:
    from rain.base.sizes import spell_size

    used = datetime.fromtimestamp(one.used).astimezone().strftime("%Y-%m-%d %H:%M")
    click.echo(f"{used} {spell_size(one.size):>10} {one.seconds:>10.3f}  {one.name}")
    if why:
        for words, digest in one.parts:
            click.echo(f"{'':>40}{words} {digest[:12]}")
