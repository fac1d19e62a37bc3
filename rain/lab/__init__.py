"""The lab: simulates what a scheduler would do with a graph on a cluster.

The server's real reactor, its throttle, real scheduler plugins and the governors' real state
machines run in virtual time, with simulated executors and a simulated network. Nothing really
waits, so a run of a whole night takes seconds. The same seed gives exactly the same run.
"""
