"""The values that travel between client, server and governor, before and after encoding.

Many are columns: parallel lists instead of lists of records, because a message carries up to tens
of thousands of tasks, and a list of numbers costs a twentieth of a list of structures to encode
and to read. Where a submission is made its numbers are lists; where it was received they are arrays
(`array.array`), because a million tasks may wait there to be read. `check()` of each value says in
one line what is wrong with what a peer sent; the border calls it before anybody reads the columns.
Nobody changes a value after it was handed over.

| module | what it has |
|---|---|
| `requests` | what a client asks of the server, and what it says |
| `submission` | what a client adds to its session |
| `orders` | what the server tells a governor at the end of a turn |
| `update` | what a governor tells the server |
| `printed` | lines that tasks print, and whose lines are watched |
| `answers` | what the server answers its clients |
| `demand` | what tasks need that could run, for those who start governors |
| `columns`, `grace` | checks of columns, and of seconds to clean up |
"""

CLIENT_VERSION = 20
GOVERNOR_VERSION = 22

INLINE_LIMIT = 16 * 1024
"""Data objects up to this many bytes travel inside the messages that mention them."""
