"""Pickles the function and the arguments of a call, as tasks read them."""
