"""The journal: what a server writes down so that it can come back with all that it knew."""
