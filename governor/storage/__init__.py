"""The stored objects: files, copies from elsewhere, the far store, and the cache."""
