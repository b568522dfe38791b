"""The public functions, one page each: what a user calls."""
