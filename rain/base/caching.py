"""What is said of results that are kept for other runs of a program.

A kind of tasks names the folder of its cache. The config of each of its tasks has, under
`CONFIG_KEY`, what its client knows of the key of its results: a table with these entries.

* "name": what is called, for people; entries of one name are compared to say why a task runs.
* "run": names the session. What one session has added says nothing about changes to itself.
* "parts": pairs of what a part of the key is, in words, and the digest of that part.
* "inputs": pairs of such words and the index of an input, whose content is a part of the key.
"""

from typing import Final

from attrs import frozen

CONFIG_KEY: Final = "cache"

OWN_FOLDER: Final = "own"
"""Stands for the folder of the user who runs the governor; any other one is an absolute path."""

CHANGES: Final = ("function", "command", "environment", "cache_key", "outputs", "Python")
"""The parts of keys that are the same in all calls of a function or program. Where such a part is
different it was changed. Another argument, or another input, may just be another call."""

TAKEN: Final = "taken from the cache"
"""What is said of a task that did not have to run."""

Parts = tuple[tuple[str, str], ...]
"""What the parts of a key are, in words, each with its digest."""


@frozen
class Key:
    """Where the results of a task are kept, and what they depend on."""

    name: str
    run: str
    parts: Parts
    digest: str
