"""What the server tells over HTTP: the event log, the state of things, a page for a browser."""
