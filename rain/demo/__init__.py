"""A demonstration with a sweep and a pipeline: `python -m rain.demo`."""
