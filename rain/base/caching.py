"""The cache plan in the config of a task, and the report whether the cache had the results.

A kind of tasks has the folder of its cache. The config of each of its tasks has, under
`CONFIG_KEY`, the client's part of the cache key: a table with these entries.

* "name": the name of the function or program. Entries of one name are compared to explain why a
  task runs.
* "run": identifies the session. Entries of the same session are not used for such explanations.
* "parts": pairs of the name of a part of the key, for people, and the digest of that part.
* "inputs": pairs of such a name and the index of an input, whose content is a part of the key.
"""

from typing import Final

from attrs import frozen

CONFIG_KEY: Final = "cache"

OWN_FOLDER: Final = "own"
"""Means the folder of the user who runs the governor; any other value is an absolute path."""

CHANGES: Final = ("function", "command", "environment", "cache_key", "outputs", "Python")
"""The parts of keys that are the same in all calls of a function or program. Where such a part is
different it was changed. Another argument, or another input, may just be another call."""

TAKEN: Final = "taken from the cache"
"""The report for a task that did not have to run."""

Parts = tuple[tuple[str, str], ...]
"""The names of the parts of a key, each with its digest."""


@frozen
class Key:
    """Where the results of a task are kept, and what they depend on."""

    name: str
    run: str
    parts: Parts
    digest: str
