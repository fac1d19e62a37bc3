"""The values that travel between client, server and governor, before and after encoding.

Many are columns: parallel lists instead of lists of records, because a message carries up to tens
of thousands of tasks, and a list of numbers costs a twentieth of a list of structures to encode and
to read. The numbers of a new submission are lists; those of a received one are arrays
(`array.array`), because a million tasks may wait there to be read. The method `check()` of a value
says in one line what is wrong with it; it is called for received values before their columns are
read. A value is never changed after it was passed on.

| module | what it has | |---|---| | `requests` | the requests and statements of a client to the
server | | `submission` | what a client adds to its session | | `orders` | the orders of the server
to a governor, at the end of a turn | | `update` | the reports of a governor to the server | |
`printed` | lines that tasks print, and whose lines are watched | | `answers` | the answers of the
server to its clients | | `demand` | the needs of tasks that could run, for programs that start
governors | | `columns`, `grace` | checks of columns, and of seconds to clean up |
"""

CLIENT_VERSION = 20
GOVERNOR_VERSION = 22

INLINE_LIMIT = 16 * 1024
"""Data objects up to this many bytes travel inside the messages that mention them."""
