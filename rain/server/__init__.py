"""The server: a pure reactor that decides, and the border that listens, sends and keeps time."""
