"""Stores data objects: files, copies from other governors, the far store, and the cache."""
