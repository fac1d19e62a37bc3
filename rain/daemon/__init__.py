"""Code that both daemons, server and governor, share: folders, logs, readiness, shutdown."""
