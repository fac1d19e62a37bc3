"""The machine below the governor: memory, processes, load, and what of it is offered."""
