"""External programs, and the tasks that the governor does itself."""
