"""The reactor of the governor and all that it decides with. It knows no clock, socket or file."""
