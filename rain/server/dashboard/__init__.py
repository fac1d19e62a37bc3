"""The data of the dashboard: the event log and the present state as values that are ready to draw.

`digest` collects the events of one session; `shape`, `progress`, `timeline` and `rows` make answers
from it with plain functions. `reading` reads rows from the file, `present` reads the live graph.
Every answer is bounded, regardless of the size of the session. `pages` contains the browser code.
"""
