"""A day's life in a few minutes: clients and governors come and go, and nothing may grow.

`command` has the whole course, `visits` is the program of the clients, `samples` looks at the
daemons while they work, and `slope` says whether what it has seen grows.
"""
