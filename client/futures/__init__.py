"""Futures: Python functions called on the cluster, without sessions.

`Client.submit`, `map` and `put` give futures. Behind them stands one session of the client, which
goes on after failures; each future is a task of it with one kept output, which is a pickle.

* `rain.client.future` is what users hold, and `futures` is what all futures of a client share.
* `sending` sends calls, and `ends` hears what becomes of them.
* `plain` makes the task of a call, `options` says what a call needs besides its arguments.
* `waiting` waits for several futures.
* `methods` is what a client offers of all this, `executor` the same as `concurrent.futures` has it.
"""
