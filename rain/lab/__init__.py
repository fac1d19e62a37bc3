"""The lab: what would a scheduler do with this graph on that cluster?

The server's real reactor, its throttle, real scheduler plugins and the governors' real state
machines run here in virtual time, between simulated executors and a simulated network. Nothing is
waited for: a night's run takes seconds, and the same seed gives the same run to the last event.
"""
