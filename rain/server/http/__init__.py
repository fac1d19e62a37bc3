"""The HTTP side of the server: event log, status, and pages for a browser."""
