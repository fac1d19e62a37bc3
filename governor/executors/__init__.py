"""Executor processes: how they start, and the frames between them and the governor."""
