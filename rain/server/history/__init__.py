"""The event log: what happened, as SQLite rows of JSON, written beside the turns and queried."""
