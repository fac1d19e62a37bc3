"""The governor: runs the tasks that the server assigns to its node, and holds their data.

It is the same kind of house as the server. `messages` are what it hears and orders; `state`, its
tables and its pool decide, purely; `reactor` is one turn; `links`, `store`, `fetch`, `builtin` and
`service` carry the effects out.
"""
