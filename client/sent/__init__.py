"""What a call becomes on its way: its function and its arguments, as tasks read them."""
