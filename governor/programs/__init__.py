"""Runs external programs and the built-in tasks."""
