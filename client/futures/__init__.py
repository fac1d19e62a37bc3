"""Futures: Python functions called on the cluster, without sessions.

`Client.submit`, `map` and `put` give futures. They belong to one session of the client, which goes
on after failures. Each future is a task of this session with one kept output, a pickle.

* `rain.client.future` is what users hold, and `futures` is what all futures of a client share.
* `sending` sends calls, and `ends` receives their ends.
* `plain` makes the task of a call; `rain.client.options` says what a call needs besides its
  arguments.
* `waiting` waits for several futures.
* `submitting` has the public methods for calls, `methods` those for what comes of them, and
  `executor` is the executor of `concurrent.futures`.
"""
