"""A pipeline to look at: `python -m rain.demo`."""
