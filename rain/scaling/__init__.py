"""How many governors a cluster should have: what waits, what is there, and what to do about it.

`picture` is what is known of a cluster at one moment, `policy` decides, and `memory` is what the
policy has to remember from one decision to the next. None of them knows a clock, a batch system or
a connection: `rain.start.scaler` acts, and the lab plays the same policy in virtual time.
"""
