"""The embedded cluster of a client that has one governor: it and the server are one process."""
