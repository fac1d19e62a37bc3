"""What the server and the governor do alike as programs: folders, logs, readiness, their end."""
