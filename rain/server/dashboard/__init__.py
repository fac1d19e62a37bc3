"""What the dashboard shows: the event log and the present state as values that are ready to draw.

`digest` gathers what the log says about one session, `shape`, `progress`, `timeline` and `rows`
make answers of it; all of them are plain functions. `reading` gets rows from the file, `present`
looks at the living graph. Every answer is bounded, however large the session is. The pages that
draw the answers are in `pages`.
"""
