"""Error messages that help: where in the program it happened, what was meant, what to do."""
