"""The command `rain remove`."""

from __future__ import annotations

import click


@click.command()
@click.argument("kind", metavar="KIND")
@click.argument("which", metavar="[LOGDIR|ADDRESS]", default="")
def remove(kind: str, which: str) -> int:
    """Remove a kind of governors from a cluster that scales.

    KIND is its name, as in 'rain status'. Its governors drain, its jobs that wait in a queue are
    cancelled, and no others are started. The second argument says which cluster is meant, if there
    are several.
    """
    from rain.start.add import remove_kind
    from rain.start.choice import find_cluster
    from rain.start.clusters import user_index

    cluster = find_cluster(user_index(), which)
    count = remove_kind(cluster, kind)
    leave = f"; {count} of them leave{'s' if count == 1 else ''}" if count else ""
    click.echo(f"{cluster.address} starts no {kind} governors any more{leave}.")
    return 0
