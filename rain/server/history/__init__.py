"""The event log: happenings as SQLite rows of JSON, written by another process, and queries."""
